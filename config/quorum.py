"""What this process is in its cluster, and who the controllers are.

Owns the reading of `process.roles` and the `controller.*` keys that say who decides. A controller here is the only
voter of its quorum, so a file that names others is refused: starting on it would make a second cluster beside the one
it means. A process that is a broker only joins the controllers that it is pointed at. Source:
Kafka 4.3's KafkaConfig and QuorumConfig.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.config.errors import ConfigError, SeveralConfigErrors
from odradek.config.listeners import Text
from odradek.config.reading import BrokerConfigReader

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
DEFAULT_ROLES = (BROKER, CONTROLLER)

_MAX_PORT = 65535
_VOTERS, _SERVERS, _NAMES = (
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "controller.listener.names",
)


class QuorumVoter(NamedTuple):
    """One of controller.quorum.voters."""

    node_id: int
    host: str
    port: int


class QuorumSettings(NamedTuple):
    """Which roles this process has, and where the controllers are."""

    process_roles: frozenset[str] = frozenset(DEFAULT_ROLES)
    controller_listener_names: tuple[str, ...] = ()
    """In upper case; the first is the one that brokers connect to."""
    voters: tuple[QuorumVoter, ...] = ()
    bootstrap_servers: tuple[tuple[str, int], ...] = ()
    """Host and port of each."""

    @property
    def is_broker(self) -> bool:
        """Whether clients are served."""
        return BROKER in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this process decides about the metadata."""
        return CONTROLLER in self.process_roles


def read_quorum(read: BrokerConfigReader, node_id: int) -> QuorumSettings:
    """Return who decides in the cluster of this node; ConfigError where that cannot be this version of odradek."""
    roles = read.elements("process.roles") if read.given("process.roles") else DEFAULT_ROLES
    quorum = QuorumSettings(
        process_roles=frozenset(roles),
        controller_listener_names=_listener_names(read),
        voters=_voters(read),
        bootstrap_servers=_bootstrap_servers(read),
    )
    wrong = list((_of_controller if quorum.is_controller else _of_broker)(read, quorum, node_id))
    if wrong:
        raise wrong[0] if len(wrong) == 1 else SeveralConfigErrors(wrong)
    return quorum


def _of_controller(read: BrokerConfigReader, quorum: QuorumSettings, node_id: int) -> Iterator[ConfigError]:
    """Yield what is wrong with a process that is a controller."""
    if not quorum.is_broker and not quorum.controller_listener_names:
        yield ConfigError(
            "a controller needs it: the name of the listener that brokers connect to", key=_NAMES, value=None
        )
    for key, named in ((_VOTERS, len(quorum.voters)), (_SERVERS, len(quorum.bootstrap_servers))):
        if named > 1:
            yield read.error(
                key,
                f"names {named} controllers; a controller of odradek is the only one of its cluster: expected one, or"
                " process.roles=broker beside controllers of Apache Kafka",
            )
    if quorum.voters and quorum.voters[0].node_id != node_id:
        yield read.error(_VOTERS, f"the one voter is node {quorum.voters[0].node_id}, but this is node {node_id}")


def _of_broker(read: BrokerConfigReader, quorum: QuorumSettings, node_id: int) -> Iterator[ConfigError]:
    """Yield what is wrong with a process that is a broker only."""
    if not quorum.voters and not quorum.bootstrap_servers:
        yield ConfigError(
            "process.roles=broker needs it: the addresses of the controllers, host:port separated by commas",
            key=_SERVERS,
            value=None,
        )
    if not quorum.controller_listener_names:
        yield ConfigError(
            "process.roles=broker needs it: the name of the listener of the controllers", key=_NAMES, value=None
        )
    if any(voter.node_id == node_id for voter in quorum.voters):
        yield read.error(
            _VOTERS, f"names node {node_id} as a controller, and this node.id is a broker only (process.roles)"
        )


def _listener_names(read: BrokerConfigReader) -> tuple[str, ...]:
    return tuple(name.upper() for name in read.elements(_NAMES)) if read.given(_NAMES) else ()


def _voters(read: BrokerConfigReader) -> tuple[QuorumVoter, ...]:
    given = read.given(_VOTERS)
    return () if given is None else tuple(_voter(given, element) for element in read.elements(_VOTERS))


def _voter(given: Text, element: str) -> QuorumVoter:
    number, at, address = element.partition("@")
    found = _address(address)
    if not at or found is None or not number.isascii() or not number.isdigit() or len(number) > 10:
        raise given.error(f"cannot read {element!r}: expected id@host:port")
    return QuorumVoter(int(number), *found)


def _bootstrap_servers(read: BrokerConfigReader) -> tuple[tuple[str, int], ...]:
    given = read.given(_SERVERS)
    if given is None:
        return ()
    servers = []
    for element in read.elements(_SERVERS):
        found = _address(element)
        if found is None:
            raise given.error(f"cannot read {element!r}: expected host:port")
        servers.append(found)
    return tuple(servers)


def _address(text: str) -> tuple[str, int] | None:
    """Return host and port of host:port, an IPv6 host in brackets; None where that cannot be read."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > _MAX_PORT:
        return None
    return host, int(port)
