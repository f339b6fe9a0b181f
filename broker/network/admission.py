"""Which new connections are let in: so many in all and on one listener, so many from one address, so many in a second.

As in Kafka (KIP-402, KIP-612) a connection that is too much for its address is closed, and one that is too much for its
listener or for the broker waits in the listener's queue until another one ends. The listener between brokers, where
there are others, is spared the limits of the broker: over them, another listener's connection has to go. Pure state;
time is passed in. Limits may change while the broker runs: they concern new connections only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import NamedTuple, Protocol

WINDOW_S = 1.0
"""The creation rate is counted in windows of this length: what one window has too many waits for the next."""

UNTIL_ONE_ENDS = inf
"""How long a connection waits for which there is no place."""


class ListenerLimits(NamedTuple):
    """Limits of one listener, or of the whole broker; names are Kafka's configs."""

    max_connections: int
    max_connection_creation_rate: int
    """New connections in a second."""


class ConnectionLimits(NamedTuple):
    """Names are Kafka's configs."""

    broker: ListenerLimits
    max_connections_per_ip: int
    max_connections_per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    """By address."""
    listeners: Mapping[str, ListenerLimits] = MappingProxyType({})
    """By name (listener.name.<name>.max.connections and so on)."""
    inter_broker_listener: str | None = None
    """The listener that is spared the limits of the broker; None where it is the only one."""


class ConnectionThrottle(Protocol):
    """How fast connections may come from an address (connection_creation_rate)."""

    def throttle_ms(self, address: str) -> int:
        """Note a connection; return for how many ms it is kept and not let in, 0 if it is let in."""


class _Count:
    """The connections of one listener, or of the whole broker."""

    __slots__ = ("created", "ever", "open", "window_start")

    def __init__(self) -> None:
        self.open = 0
        self.ever = 0
        """Connections that were let in since the start."""
        self.created = 0
        """In the window that began at `window_start`."""
        self.window_start = 0.0

    def entered(self, now: float) -> None:
        self.open += 1
        self.ever += 1
        if now - self.window_start >= WINDOW_S:
            self.window_start, self.created = now, 0
        self.created += 1

    def wait_s(self, limits: ListenerLimits, now: float) -> float:
        if self.open >= limits.max_connections:
            return UNTIL_ONE_ENDS
        if self.created < limits.max_connection_creation_rate:
            return 0.0
        return max(self.window_start + WINDOW_S - now, 0.0)


class Admission:
    """Counts the connections that are open and the ones that come."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._all = _Count()
        self._by_listener: dict[str, _Count] = {}
        self._per_ip: Counter[str] = Counter()

    def wait_s(self, listener: str, now: float) -> float:
        """How long the next connection of a listener must wait, in seconds; 0 if it need not, UNTIL_ONE_ENDS where
        there is no place. `now` is in monotonic seconds."""
        limits = self.limits
        wait_s = 0.0 if listener == limits.inter_broker_listener else self._all.wait_s(limits.broker, now)
        own = limits.listeners.get(listener)
        if own is not None:
            wait_s = max(wait_s, self._count(listener).wait_s(own, now))
        return wait_s

    def what_is_full(self, listener: str) -> str:
        """The limit because of which the next connection of a listener waits until another one ends."""
        own = self.limits.listeners.get(listener)
        if own is not None and self._count(listener).open >= own.max_connections:
            return f"listener.name.{listener.lower()}.max.connections={own.max_connections}"
        return f"max.connections={self.limits.broker.max_connections}"

    def refusal(self, host: str) -> str | None:
        """Why a connection from `host` is closed at once, None if it is not."""
        limits = self.limits
        of_host = limits.max_connections_per_ip_overrides.get(host)
        if of_host is not None and self._per_ip[host] >= of_host:
            return f"max.connections.per.ip.overrides allows {of_host} from {host}, which are open"
        if of_host is None and self._per_ip[host] >= limits.max_connections_per_ip:
            return f"max.connections.per.ip={limits.max_connections_per_ip} are open from {host}"
        return None

    def entered(self, listener: str, host: str, now: float) -> None:
        """A connection was let in at `now` (monotonic seconds)."""
        self._all.entered(now)
        self._count(listener).entered(now)
        self._per_ip[host] += 1

    @property
    def counts(self) -> Mapping[str, tuple[int, int]]:
        """How many connections each listener has, and has let in since the start."""
        return {name: (count.open, count.ever) for name, count in self._by_listener.items()}

    def left(self, listener: str, host: str) -> None:
        """A connection is gone."""
        self._all.open -= 1
        self._count(listener).open -= 1
        self._per_ip[host] -= 1
        if self._per_ip[host] <= 0:
            del self._per_ip[host]

    @property
    def is_exceeded(self) -> bool:
        """Whether there are more connections than the broker may have, so that one of a listener that is not spared has
        to go."""
        return self._all.open > self.limits.broker.max_connections

    def _count(self, listener: str) -> _Count:
        return self._by_listener.setdefault(listener, _Count())
