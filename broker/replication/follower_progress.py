"""How far one follower of a partition has come, as its leader sees it from the follower's fetches.

Pure: times are monotonic milliseconds and come with each call. Follows Kafka's `Replica`.
"""

from __future__ import annotations

from dataclasses import dataclass

from odradek.broker.partitions.roles import Pulse

UNKNOWN = -1
"""An offset or a broker epoch that the follower has not told yet."""
LONG_AGO = -(1 << 62)
"""When a follower was caught up of which that is not known."""


@dataclass(slots=True)
class FollowerProgress:
    """What is known of a follower since this broker leads."""

    log_end_offset: int = UNKNOWN
    log_start_offset: int = UNKNOWN
    caught_up_ms: int = LONG_AGO
    """When it last had all that the leader had."""
    broker_epoch: int | None = None
    """The registration under which it fetched last; None if it has not fetched yet, -1 if it does not say."""
    last_fetch_ms: int = LONG_AGO
    leader_end_at_last_fetch: int = UNKNOWN
    pulse: Pulse | None = None
    """Tells when it fetched last, while it has everything and nothing happens; None where `fetched` does."""

    def fetched(
        self, fetch_offset: int, log_start_offset: int, broker_epoch: int, leader_end: int, now_ms: int
    ) -> bool:
        """Note a fetch at an offset, at which the leader's log ended at `leader_end`; return whether its end moved.

        A follower that has what the leader had at the fetch before was caught up then, even if the leader has got more
        since.
        """
        if fetch_offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif fetch_offset >= self.leader_end_at_last_fetch:
            self.caught_up_ms = max(self.caught_up_ms, self.last_fetch_ms)
        has_moved = fetch_offset != self.log_end_offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.leader_end_at_last_fetch = max(leader_end, self.leader_end_at_last_fetch)
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch
        return has_moved

    def rest(self, pulse: Pulse) -> None:
        """It has everything, and fetches when the pulse says so, until `stir`."""
        self.pulse = pulse

    def stir(self) -> None:
        """Something is about to happen, or has since its last fetch: until that it was caught up."""
        pulse, self.pulse = self.pulse, None
        if pulse is not None:
            self.caught_up_ms = max(self.caught_up_ms, pulse.last_fetch_ms)
            self.last_fetch_ms = max(self.last_fetch_ms, pulse.last_fetch_ms)

    def reset(self, is_in_sync: bool, was_leader: bool, leader_end: int, now_ms: int) -> None:
        """Begin a leader epoch; what was known is kept if this broker led before, too."""
        self.pulse = None
        self.caught_up_ms = now_ms if is_in_sync else LONG_AGO
        if was_leader:
            self.leader_end_at_last_fetch = leader_end
            self.last_fetch_ms = now_ms if is_in_sync else LONG_AGO
        else:
            self.log_end_offset = self.log_start_offset = self.leader_end_at_last_fetch = UNKNOWN
            self.last_fetch_ms = LONG_AGO
            self.broker_epoch = None

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        """Whether it has all that the leader has, or had it not longer ago than replica.lag.time.max.ms."""
        return self.log_end_offset == leader_end or now_ms - self.caught_up_ms <= max_lag_ms
