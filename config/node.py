"""Which node this is, alone with its controller, and where its data lies.

Owns the reading of `process.roles`, `node.id`, the `controller.*` keys of a single node, `log.dirs` and
`metadata.log.dir`. A file that describes more than one node, or a controller elsewhere, is refused: starting on it
would make a second cluster beside the one it means. So is one whose data is in tiered storage, too. Source: Kafka 4.3's
KafkaConfig and QuorumConfig.
"""

import os

from odradek.config.listeners import Text
from odradek.config.reading import BrokerConfigReader

DEFAULT_NODE_ID = 1
DEFAULT_ROLES = ("broker", "controller")


def read_node_id(read: BrokerConfigReader) -> int:
    """Return node.id, or broker.id where only that is given, else 1; ConfigError when the two differ."""
    node, broker = read.given("node.id"), read.given("broker.id")
    if broker is None or read.integer("broker.id") < 0:
        return DEFAULT_NODE_ID if node is None else read.integer("node.id")
    if node is not None and read.integer("node.id") != read.integer("broker.id"):
        raise read.error("broker.id", f"node.id is {node.value}; give one of the two, or the same number")
    return read.integer("broker.id")


def read_controllers(read: BrokerConfigReader, node_id: int) -> frozenset[str]:
    """Return the names of the controller's listeners, in upper case; ConfigError when the file needs other nodes."""
    roles = read.elements("process.roles") if read.given("process.roles") else DEFAULT_ROLES
    if "broker" not in roles:
        raise read.error("process.roles", "odradek is a broker with its controller inside; expected broker in it")
    voters, servers = read.given("controller.quorum.voters"), read.given("controller.quorum.bootstrap.servers")
    for quorum in (voters, servers):
        elements = read.elements(quorum.key) if quorum else ()
        if quorum and elements and "controller" not in roles:
            raise quorum.error(
                "names a controller elsewhere; odradek is a single node: add controller to process.roles"
            )
        if quorum and len(elements) > 1:
            raise quorum.error(f"names {len(elements)} controllers; odradek is a single node: expected one")
    if voters and read.elements(voters.key):
        _check_voter(voters, read.elements(voters.key)[0], node_id)
    given = read.given("controller.listener.names")
    return frozenset(name.upper() for name in read.elements("controller.listener.names")) if given else frozenset()


def _check_voter(voters: Text, voter: str, node_id: int) -> None:
    number, at, address = voter.partition("@")
    if not at or ":" not in address or not number.isascii() or not number.isdigit() or len(number) > 10:
        raise voters.error(f"cannot read {voter!r}: expected id@host:port")
    if int(number) != node_id:
        raise voters.error(f"the one voter is node {number}, but this is node {node_id} (node.id)")


def check_storage(read: BrokerConfigReader) -> None:
    """Raise ConfigError where the file wants tiered storage: what was moved there would be missing."""
    key = "remote.log.storage.system.enable"
    if read.given(key) and read.boolean(key):
        raise read.error(
            key,
            "odradek has no tiered storage, so what Kafka moved there could not be read; bring it back with Apache"
            " Kafka (remote.storage.enable=false on every topic), then set this to false",
        )


def read_log_dirs(read: BrokerConfigReader) -> tuple[str, ...]:
    """Return the data directories, absolute, each once: log.dirs, else log.dir."""
    key = "log.dirs" if read.given("log.dirs") else "log.dir"
    return tuple(dict.fromkeys(_absolute(read, key, path) for path in read.elements(key)))


def _absolute(read: BrokerConfigReader, key: str, path: str) -> str:
    if "\0" in path:
        raise read.error(key, "expected the path of a directory")
    return os.path.abspath(path)


def read_metadata_dir(read: BrokerConfigReader, log_dirs: tuple[str, ...]) -> str:
    """Return the directory of the metadata log, absolute: metadata.log.dir, else the first data directory."""
    path = read.text("metadata.log.dir")
    return _absolute(read, "metadata.log.dir", path) if path else log_dirs[0]
