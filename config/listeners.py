"""Where the broker listens and which address it tells its clients.

Owns the meaning of `listeners`, `listener.security.protocol.map`, `advertised.listeners`, `inter.broker.listener.name`
and `controller.listener.names`. Opens nothing and resolves no host name.

The rules are Kafka's (SocketServerConfigs, KIP-103), with one difference by intent. Without `advertised.listeners`
Kafka advertises the listener's own address, or the machine's host name when that is empty; here a client is told the
address that it connected to, which it can reach by definition.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from odradek.config.errors import ConfigError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PROTOCOL_MAP = {name: name for name in PROTOCOLS}
NO_LIMIT = 2**31 - 1

_HOST_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%._:-")
_WILDCARDS = ("0.0.0.0", "::", "0:0:0:0:0:0:0:0")  # noqa: S104 - known, so that it is not advertised
_MAX_PORT = 65535
_MAPPED_PREFIX = "::ffff:"

FIXED_AT_START = frozenset({"listeners", "listener.security.protocol.map"})
"""Dynamic in Kafka, but odradek opens its listeners once: they change with the file and a restart."""


class Text(NamedTuple):
    """The value of a key as it was given, with where it came from, for error messages."""

    key: str
    value: str
    origin: str | None

    def error(self, reason: str) -> ConfigError:
        """Return the error that says what is wrong with this value."""
        return ConfigError(reason, key=self.key, value=self.value, origin=self.origin)


class Endpoint(NamedTuple):
    """NAME://host:port as written; host "" is every interface, port 0 any free port."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{host_text(self.host)}:{self.port}"


class Listener(NamedTuple):
    """One socket to open: host "" is every interface (IPv4 and IPv6), port 0 picks a free one."""

    name: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"
    max_connections: int = NO_LIMIT
    max_connection_creation_rate: int = NO_LIMIT

    @property
    def uses_tls(self) -> bool:
        """Whether what is said on it is encrypted."""
        return uses_tls(self.protocol)

    @property
    def uses_sasl(self) -> bool:
        """Whether clients log in before they ask anything."""
        return uses_sasl(self.protocol)

    def __str__(self) -> str:
        return f"{self.name}://{host_text(self.host)}:{self.port}"


def uses_tls(protocol: str) -> bool:
    """Whether a security protocol is one of those over TLS."""
    return protocol in ("SSL", "SASL_SSL")


def uses_sasl(protocol: str) -> bool:
    """Whether a security protocol is one of those in which clients log in."""
    return protocol in ("SASL_PLAINTEXT", "SASL_SSL")


def host_text(host: str) -> str:
    """Return the host as it stands before a port: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def is_wildcard(host: str) -> bool:
    """Whether a host to listen on means every interface, so that it names nothing to connect to."""
    return not host or host in _WILDCARDS


def parse_endpoints(given: Text, elements: Sequence[str]) -> tuple[Endpoint, ...]:
    """Return the endpoints of a list; names in upper case. ConfigError for what cannot be read or stands twice."""
    endpoints = []
    for element in elements:
        name, _, address = element.partition("://")
        host, _, port = address.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        if "/" in name or not _HOST_CHARACTERS.issuperset(host) or not (port.isascii() and port.isdigit()):
            raise given.error(f"cannot read {element!r}: expected NAME://host:port, an IPv6 host in [brackets]")
        if not name:
            raise given.error(f"{element!r} has no name before ://")
        if len(port) > 5 or int(port) > _MAX_PORT:
            raise given.error(f"the port of {element!r} is beyond {_MAX_PORT}")
        endpoints.append(Endpoint(name.upper(), host, int(port)))
    names = [endpoint.name for endpoint in endpoints]
    for name in names:
        if names.count(name) > 1:
            raise given.error(f"the listener name {name} stands twice; each listener needs a name of its own")
    return tuple(endpoints)


def check_ports(given: Text, endpoints: Sequence[Endpoint]) -> None:
    """Refuse two endpoints on one port, unless one is an IPv4 and the other an IPv6 address; port 0 never clashes."""
    seen: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.port:
            seen.setdefault(endpoint.port, []).append(endpoint)
    for port, same in seen.items():
        families = sorted("6" if ":" in one.host else "4" if _is_ipv4(one.host) else "?" for one in same)
        if len(same) > 1 and families != ["4", "6"]:
            names = " and ".join(one.name for one in same)
            raise given.error(f"listeners {names} are both on port {port}; each listener needs a port of its own")


def _is_ipv4(host: str) -> bool:
    parts = host.split(".")
    return len(parts) == 4 and all(part.isascii() and part.isdigit() and int(part) < 256 for part in parts)


def parse_protocol_map(given: Text) -> dict[str, str]:
    """Return listener name -> security protocol, both in upper case."""
    protocols: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in given.value.split(","))):
        name, colon, protocol = pair.rpartition(":")
        name, protocol = name.strip().upper(), protocol.strip().upper()
        if not colon or not name:
            raise given.error(f"cannot read {pair!r}: expected NAME:PROTOCOL")
        if protocol not in PROTOCOLS:
            raise given.error(f"{protocol} of listener {name} is no security protocol; expected {', '.join(PROTOCOLS)}")
        protocols[name] = protocol
    return protocols


def protocol_of(endpoint: Endpoint, protocols: Mapping[str, str], given: Text, map_given: Text | None) -> str:
    """Return the protocol that the listener speaks; ConfigError when it has none."""
    protocol = protocols.get(endpoint.name)
    if protocol is None:
        raise (map_given or given).error(
            f"listener {endpoint.name} has no security protocol; "
            f"add {endpoint.name}:PLAINTEXT to listener.security.protocol.map"
        )
    return protocol


def check_advertised(given: Text, advertised: Sequence[Endpoint], known: Collection[str]) -> None:
    """Refuse an advertised address that no client can use or that belongs to no listener."""
    for endpoint in advertised:
        if endpoint.host in _WILDCARDS:
            raise given.error(
                f"{endpoint.host} is every address of this machine and none that a client can connect to; "
                f"name the host or address that clients use"
            )
        if endpoint.name not in known:
            raise given.error(f"{endpoint.name} is no listener; listeners has {', '.join(sorted(known))}")


def advertised_address(
    explicit: Endpoint | None, connected_host: str, connected_port: int, bound_port: int
) -> tuple[str, int]:
    """Return the host and port to tell a client that reached us at connected_host:connected_port.

    `explicit` is the listener's entry in advertised.listeners, if there is one: it wins, its port 0 means the port that
    was really bound, its empty host the address that the client connected to.
    """
    host = connected_host
    if host.lower().startswith(_MAPPED_PREFIX) and "." in host:
        host = host[len(_MAPPED_PREFIX) :]
    if host in _WILDCARDS or not host:
        host = "::1" if ":" in host else "127.0.0.1"
    if explicit is None:
        return host, connected_port or bound_port
    return explicit.host or host, explicit.port or bound_port
