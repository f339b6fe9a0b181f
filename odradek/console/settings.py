"""What a console is started with."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from odradek.terminal.errors import WrongUsageError

LEAST_TOKEN_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How the console reaches its cluster, where it listens, and who may do what."""

    bootstrap: str
    client_settings: Mapping[str, str] = field(default_factory=dict)
    """By librdkafka's names."""
    host: str = "127.0.0.1"
    port: int = 8090
    token: str | None = None
    """What a person logs in with; None: nobody has to."""
    read_only: bool = False
    allowed_hosts: Sequence[str] = ()
    """Names, beside addresses and those of this machine, under which a browser may reach the console."""
    log_dirs: Sequence[Path] = ()
    """Log directories on this machine that may be looked into."""
    metrics_url: str | None = None
    """Where a broker tells its metrics."""


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches what listens on this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_metrics_url(url: str) -> str:
    """Return the address of a page of metrics; WrongUsageError where it cannot be one."""
    try:
        split = urlsplit(url)
        is_one = split.scheme in ("http", "https") and bool(split.hostname) and split.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise WrongUsageError(
            f"--metrics: {url!r} is no address of a page; expected one as http://127.0.0.1:9404/metrics"
        )
    return url
