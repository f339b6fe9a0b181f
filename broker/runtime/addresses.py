"""Names of hosts and addresses as Kafka reads them (Java's `InetAddress.getByName`)."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

MAX_PARTS = 4
"""Of an IPv4 address with dots."""


def plain_host(host: str) -> str:
    """Return an address in its usual form: IPv4 that came in over an IPv6 socket without its prefix, no scope."""
    host = host.partition("%")[0]
    return host.removeprefix("::ffff:") if "." in host else host


def literal_address(text: str) -> str | None:
    """Return the address that a text is without asking anybody, in its usual form; None if it is a name or nothing.

    As in Java, brackets may stand around it, and an IPv4 address may have fewer parts, all of them decimal: `127.1`.
    """
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
        if ":" not in text:
            return None
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return _lenient_ipv4(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _lenient_ipv4(text: str) -> str | None:
    parts = text.split(".")
    if len(parts) > MAX_PARTS or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
        return None
    *before, last = map(int, parts)
    if any(part > 255 for part in before) or last >= 256 ** (MAX_PARTS - len(before)):
        return None
    return str(IPv4Address(sum(part << 8 * (3 - at) for at, part in enumerate(before)) + last))


def look_up(text: str) -> str | None:
    """Return the first address of a host by name or address, None if there is none; may wait for a name server."""
    literal = literal_address(text)
    if literal is not None:
        return literal
    if not text or text != text.strip() or "\0" in text:
        return None
    try:
        found = socket.getaddrinfo(text, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    # Java prefers IPv4 where a host has both
    found.sort(key=lambda one: one[0] != socket.AF_INET)
    return plain_host(str(found[0][4][0])) if found else None
