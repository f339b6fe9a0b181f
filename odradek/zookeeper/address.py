"""Where a ZooKeeper is, as one URL: `zookeeper://[user:password@]host[:port][,host[:port]...][/chroot]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

SCHEME: Final = "zookeeper"
EXAMPLE: Final = "zookeeper://127.0.0.1:2181/kafka"
_DEFAULT_PORT: Final = 2181
_SERVER: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_CHROOT: Final = re.compile(r"(?:/[^/\x00-\x20\x7f]+)*")


@dataclass(frozen=True, slots=True)
class ZooKeeperAddress:
    """The servers of an ensemble, the node below which everything is, and an account."""

    servers: tuple[str, ...]
    """Each as `host:port`."""
    chroot: str = ""
    account: str | None = field(default=None, repr=False)
    """For the scheme `digest`, as `user:password`."""

    def __str__(self) -> str:
        return f"{','.join(self.servers)}{self.chroot}"


def parse_address(url: str) -> ZooKeeperAddress:
    """Return the address that a URL means. Raises ValueError with a sentence that does not have the password."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != SCHEME:
        raise ValueError(f"the address of a ZooKeeper is like {EXAMPLE}")
    account, at, place = rest.rpartition("@")
    if at and ":" not in account:
        raise ValueError(f"an account is user:password, as in {SCHEME}://user:password@127.0.0.1:2181")
    hosts, slash, path = place.partition("/")
    chroot = f"/{path}".rstrip("/") if slash else ""
    if not _CHROOT.fullmatch(chroot):
        raise ValueError(f"{chroot} is no path of a ZooKeeper; an address is like {EXAMPLE}")
    return ZooKeeperAddress(tuple(map(_server, hosts.split(","))), chroot, unquote(account) if at else None)


def _server(text: str) -> str:
    found = _SERVER.fullmatch(text.strip())
    port = int(found[2] or _DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 65536:
        raise ValueError(f"{text!r} is no server of a ZooKeeper; an address is like {EXAMPLE}")
    return f"{found[1]}:{port}"
