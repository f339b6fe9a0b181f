"""Is anything there? Asked with a plain connection first, since librdkafka tries for as long as it is let."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from odradek.terminal.errors import CommandError, WrongUsageError

CONNECT_TIMEOUT_S = 3.0
DEFAULT_PORT = 9092


def parse_addresses(bootstrap: str) -> list[tuple[str, int]]:
    """Return hosts and ports of `host:port,[::1]:port,host`; WrongUsageError for what is none."""
    addresses = [_parse_address(each.strip()) for each in bootstrap.split(",") if each.strip()]
    if not addresses:
        raise WrongUsageError("--bootstrap-server is empty; give it as HOST:PORT")
    return addresses


def check_reachable(addresses: Sequence[tuple[str, int]], timeout_s: float = CONNECT_TIMEOUT_S) -> None:
    """Return when one of the addresses takes a connection in time; CommandError says why none does."""
    reasons = []
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout_s).close()
        except OSError as failed:
            reasons.append(_in_words(host, port, failed, timeout_s))
        else:
            return
    raise CommandError("; ".join(reasons))


def _parse_address(text: str) -> tuple[str, int]:
    text = text.rpartition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise WrongUsageError(f"{text!r} is no address to connect to; give it as HOST:PORT")
    return host.strip("[]"), int(port)


def _in_words(host: str, port: int, failed: OSError, timeout_s: float) -> str:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(failed, ConnectionRefusedError):
        return f"nothing listens on {address}; start one with `odradek serve`"
    if isinstance(failed, socket.gaierror):
        return f"the name {host} leads to no address; is it spelled right in --bootstrap-server?"
    if isinstance(failed, TimeoutError):
        return f"{address} does not answer within {timeout_s:g} seconds; is it the right address?"
    return f"{address} cannot be reached: {failed.strerror or failed}"
