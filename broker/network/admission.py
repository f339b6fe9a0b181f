"""Which new connections are let in: so many in all, so many from one address, so many in a second.

Pure state; time is passed in. Limits may change while the broker runs (KIP-402, KIP-612): they concern new connections
only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW_S = 1.0
"""The creation rate is counted in windows of this length: what one window has too many waits for the next."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Names are Kafka's configs."""

    max_connections: int
    max_connections_per_ip: int
    max_connection_creation_rate: int
    """New connections in a second."""
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """By address."""


class Admission:
    """Counts the connections that are open and the ones that come."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open = 0
        self._per_ip: Counter[str] = Counter()
        self._window_start = 0.0
        self._created = 0

    def refusal(self, host: str) -> str | None:
        """Why a connection from `host` is not let in, None if it is."""
        limits = self.limits
        if self._open >= limits.max_connections:
            return f"max.connections={limits.max_connections} are open"
        of_host = limits.max_connections_per_ip_overrides.get(host)
        if of_host is not None and self._per_ip[host] >= of_host:
            return f"max.connections.per.ip.overrides allows {of_host} from {host}, which are open"
        if of_host is None and self._per_ip[host] >= limits.max_connections_per_ip:
            return f"max.connections.per.ip={limits.max_connections_per_ip} are open from {host}"
        return None

    def entered(self, host: str, now: float) -> None:
        """A connection was let in at `now` (monotonic seconds)."""
        self._open += 1
        self._per_ip[host] += 1
        if now - self._window_start >= WINDOW_S:
            self._window_start, self._created = now, 0
        self._created += 1

    def left(self, host: str) -> None:
        """A connection is gone."""
        self._open -= 1
        self._per_ip[host] -= 1
        if self._per_ip[host] <= 0:
            del self._per_ip[host]

    def pause_s(self, now: float) -> float:
        """How long the next connection must wait so that the creation rate holds; 0 if it need not."""
        if self._created < self.limits.max_connection_creation_rate:
            return 0.0
        return max(self._window_start + WINDOW_S - now, 0.0)
