"""The states of a broker in a cluster, and what it asks the controller in each.

Pure: what the controller answered and what the broker has got done goes in; the next request and how long to wait
before it comes out. Source: KIP-631, `BrokerLifecycleManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from odradek.protocol.errors import ErrorCode

CATCHING_UP_S: Final = 0.01
"""Between two heartbeats while it is known to be a matter of milliseconds, as in Kafka."""
FIRST_BACKOFF_S: Final = 0.1
LEAVING_S: Final = 0.1
"""Between the first heartbeats of a broker that leaves; later ones are further apart."""


class LifecycleState(Enum):
    """Where a broker is in its life, with the numbers of Kafka's metric BrokerState."""

    NOT_RUNNING = 0
    STARTING = 1
    """Registers, and takes over the metadata up to its registration."""
    RECOVERY = 2
    """Has the metadata, and opens its logs."""
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    """Has asked the controller to move its leaderships."""
    SHUTTING_DOWN = 7


class LifecycleTimes(NamedTuple):
    """In seconds."""

    heartbeat_interval_s: float = 2.0
    session_timeout_s: float = 9.0
    registration_timeout_s: float = 60.0
    shutdown_timeout_s: float = 300.0


class HeartbeatFlags(NamedTuple):
    """What a heartbeat asks for."""

    want_fence: bool
    want_shut_down: bool


_NEVER_ACCEPTED: Final = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "the directories of this node belong to another cluster than its controllers:"
    " correct controller.quorum.voters or controller.quorum.bootstrap.servers, or choose another directory in log.dirs",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster has a feature at a level that this version of odradek does not know, or"
    " does not know any more: choose a version of odradek for the metadata.version of the cluster",
    ErrorCode.INVALID_REGISTRATION: "the controller refuses the log directories or listeners of this node: another"
    " broker may have registered with a copy of these directories",
}

_NOT_IN_TIME: Final[Mapping[int, str]] = {
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: "another broker with this node.id is in the cluster: choose another"
    " node.id, or stop that one",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the controllers do not let this broker take part: name the principal by"
    " which it comes to them in super.users (User:ANONYMOUS over a plaintext listener)",
}
"""Why nothing comes of a registration that may yet be taken, when it has been tried for long enough."""


class BrokerLifecycle:
    """One broker's life; times are readings of a clock in seconds."""

    def __init__(self, times: LifecycleTimes, now: float) -> None:
        self.times = times
        self.state = LifecycleState.STARTING
        self.broker_epoch = -1
        """-1 while it is not registered."""
        self.is_fenced = True
        self.refusal: str | None = None
        """Why the controller will never take this broker, in a sentence."""
        self._began = now
        self._failures = 0
        self._is_ready = False
        self._last_answer = now
        self._leaving_since = now
        self._leaving_delay_s = LEAVING_S

    @property
    def is_registered(self) -> bool:
        """Whether the next request is a heartbeat, and not a registration."""
        return self.broker_epoch >= 0

    @property
    def flags(self) -> HeartbeatFlags:
        """What the next heartbeat asks for."""
        leaving = self.state is LifecycleState.PENDING_CONTROLLED_SHUTDOWN
        return HeartbeatFlags(want_fence=not self._is_ready, want_shut_down=leaving)

    def registered(self, code: int, epoch: int, now: float) -> float:
        """Take the answer to a registration; return in how many seconds the next request is due."""
        if code == ErrorCode.NONE:
            self._failures, self._last_answer = 0, now
            self.broker_epoch, self.is_fenced = epoch, True
            return 0.0
        refused = _NEVER_ACCEPTED.get(ErrorCode(code)) if code in _NEVER_ACCEPTED else None
        if refused is None and now - self._began >= self.times.registration_timeout_s:
            refused = _NOT_IN_TIME.get(code) or (
                "no controller has taken the registration of this broker within"
                " initial.broker.registration.timeout.ms: see that they run and can be reached"
            )
        if refused is not None and self.state is LifecycleState.STARTING:
            self.refusal = refused
        return self._backoff(self.times.session_timeout_s)

    def answered(self, code: int, caught_up: bool, fenced: bool, should_shut_down: bool, now: float) -> float:
        """Take the answer to a heartbeat; return in how many seconds the next request is due."""
        if code == ErrorCode.STALE_BROKER_EPOCH:
            self.broker_epoch, self.is_fenced = -1, True  # unregistered, or the controller lost it: as at the start
            return FIRST_BACKOFF_S
        if code != ErrorCode.NONE:
            return self.unanswered(now)
        self._failures, self._last_answer = 0, now
        self.is_fenced = fenced
        match self.state:
            case LifecycleState.STARTING:
                if not caught_up:
                    return CATCHING_UP_S
                self.state = LifecycleState.RECOVERY
                if self._is_ready:
                    return CATCHING_UP_S
            case LifecycleState.RECOVERY:
                if not fenced:
                    self.state = LifecycleState.RUNNING
                elif self._is_ready:
                    return CATCHING_UP_S
            case LifecycleState.PENDING_CONTROLLED_SHUTDOWN:
                if should_shut_down or now - self._leaving_since >= self.times.shutdown_timeout_s:
                    self.state = LifecycleState.SHUTTING_DOWN
                delay_s, self._leaving_delay_s = self._leaving_delay_s, self._leaving_delay_s * 2
                return min(delay_s, self.times.heartbeat_interval_s)
        return self.times.heartbeat_interval_s

    def unanswered(self, now: float) -> float:
        """Nobody answered, or refused; return in how many seconds the next request is due."""
        silent_s = now - max(self._last_answer, self._leaving_since)
        if self.state is LifecycleState.PENDING_CONTROLLED_SHUTDOWN and silent_s >= self.times.session_timeout_s:
            self.state = LifecycleState.SHUTTING_DOWN  # whoever decides has fenced this broker by now
        return self._backoff(self.times.heartbeat_interval_s)

    def ready(self) -> None:
        """The logs are open: ask to be unfenced from now on."""
        self._is_ready = True

    def leave(self, now: float) -> None:
        """Ask to leave from now on; without a registration there is nobody to ask."""
        self._leaving_since = now
        if self.is_registered and self.state is not LifecycleState.SHUTTING_DOWN:
            self.state = LifecycleState.PENDING_CONTROLLED_SHUTDOWN
        else:
            self.state = LifecycleState.SHUTTING_DOWN

    def _backoff(self, most_s: float) -> float:
        self._failures += 1
        return min(FIRST_BACKOFF_S * float(1 << min(self._failures - 1, 10)), most_s)
