"""The two ends of a request: who asks, what he may do, and which node is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple, Protocol


class KafkaPrincipal(NamedTuple):
    """Who a client is."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


ANONYMOUS = KafkaPrincipal("User", "ANONYMOUS")
"""A client that has not said who it is, on a listener that does not ask."""


class ClientAccess(Protocol):
    """What one client may do, by the ACLs of the moment; see `authorization.access`."""

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Return whether the client may do this."""

    def operations(self, resource_type: int, name: str) -> int:
        """Return what the client may do with a resource, as a set of bits (KIP-430)."""


class Countdown:
    """Something of which so much may be taken before somebody has to look: whoever takes something subtracts it."""

    __slots__ = ("left",)

    left: float

    def __init__(self, left: float) -> None:
        self.left = left


UNLIMITED: Final = Countdown(inf)
"""Of what has no limit: as much as one likes may be taken from it."""


class RateLimits:
    """What a client may take of what is limited; `broker.quotas` knows what else is in it."""

    __slots__ = ("generation", "produced", "worked")

    generation: object
    """What was set when it was found out."""
    produced: Countdown
    """Bytes of Produce requests."""
    worked: Countdown
    """Percent of the event loop's time."""


@dataclass(slots=True)
class RequestContext:
    """What is known of a client, as in Kafka's class of this name. The same object serves all requests of a connection,
    one at a time."""

    peer: str
    """Address of the client, ``host:port``, for logs."""
    client_host: str
    """Host part of the client's address."""
    listener: str
    """Name of the listener that accepted the connection."""
    local_host: str
    """Address the client connected to: what it is told where nothing else is advertised."""
    local_port: int
    api_version: int = 0
    client_id: str | None = None
    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    principal: KafkaPrincipal = ANONYMOUS
    """Who the connection has authenticated as; dispatch decides by it, handlers do not."""
    by_token: bool = False
    """Whether that was with a delegation token (KIP-48)."""
    access: ClientAccess | None = None
    """What the client may do, as the gate found at its last request; None where there is no authorizer."""
    raw_client_id: bytes = b""
    """The client id as it came in the last header."""
    allowance: RateLimits | None = None
    """What the client may take, once that was found out; None where there are no quotas."""

    def set_client_id(self, raw: bytes) -> None:
        """Take over the client id of a header; what is not UTF-8 in it is replaced, since it is only for people."""
        self.raw_client_id = raw
        self.allowance = None
        self.client_id = raw.decode("utf-8", "replace") if raw else None


class ThisNode(NamedTuple):
    """What the answers say of this node, the only broker of its cluster."""

    node_id: int
    cluster_id: str
    rack: str | None
    advertised_for: Callable[[RequestContext], tuple[str, int]]
    """Host and port to give to a client that came in this way (listener, address)."""


OPERATIONS_NOT_ASKED: Final = -(1 << 31)
"""Stands in the field where the client did not ask what it may do."""
TOPIC_OPERATIONS: Final = 3576  # read, write, create, delete, alter, describe, describe configs, alter configs
CLUSTER_OPERATIONS: Final = 8096  # create, alter, describe, cluster action, configs, idempotent write, tokens
GROUP_OPERATIONS: Final = 3400  # read, delete, describe, describe configs, alter configs


def topic_operations(asked: bool) -> int:
    """Return topic_authorized_operations: what the client may do with a topic, as a set of bits (KIP-430).

    Without an authorizer everybody may do everything that makes sense for the kind of resource; where there is one, the
    gate puts what this client may in its place (`authorization.rules_of_topics`, `rules_of_groups`).
    """
    return TOPIC_OPERATIONS if asked else OPERATIONS_NOT_ASKED


def cluster_operations(asked: bool) -> int:
    """Return cluster_authorized_operations, likewise."""
    return CLUSTER_OPERATIONS if asked else OPERATIONS_NOT_ASKED


def group_operations(asked: bool) -> int:
    """Return authorized_operations of a group, likewise."""
    return GROUP_OPERATIONS if asked else OPERATIONS_NOT_ASKED
