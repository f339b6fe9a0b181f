"""Who asks: what a handler may know of the connection and the request header. Kafka's RequestContext."""

from dataclasses import dataclass
from typing import NamedTuple


class KafkaPrincipal(NamedTuple):
    """Who a client is."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


ANONYMOUS = KafkaPrincipal("User", "ANONYMOUS")
"""A client that has not said who it is, on a listener that does not ask."""


@dataclass(slots=True)
class RequestContext:
    """The same object serves all requests of a connection, one at a time."""

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
    throttle_time_ms: int = 0
    """How long the client is to wait before its next request; decided by dispatch, told in the response (KIP-219)."""
    raw_client_id: bytes = b""
    """The client id as it came in the last header."""

    def set_client_id(self, raw: bytes) -> None:
        """Take over the client id of a header; what is not UTF-8 in it is replaced, since it is only for people."""
        self.raw_client_id = raw
        self.client_id = raw.decode("utf-8", "replace") if raw else None
