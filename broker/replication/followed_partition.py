"""One partition that is followed at a leader: what is in its way, and until when it rests for it.

Pure but for lines in the log; times are monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from odradek.broker.replication.following import Following
from odradek.broker.runtime.logging import get_logger

log = get_logger("replication")

FIRST_REST_S: Final = 0.05
"""How long a partition rests after the first error of its leader, and twice as long after each further one, up to
replica.fetch.backoff.ms: most often the leader is about to hear of the same change of the metadata."""
STORAGE_RETRY_S: Final = 5.0
"""How long a partition rests whose disk refused."""


@dataclass(slots=True, eq=False)
class FollowedPartition:
    """A partition that is followed, as its fetcher sees it."""

    following: Following
    changed: dict[FollowedPartition, None]
    """The fetcher's partitions that are to be looked at before it asks again: this one when something happens."""
    backoff_s: float
    """replica.fetch.backoff.ms."""
    rests_until: float = 0.0
    lookup: int | None = None
    """The offset to be asked for (LATEST or EARLIEST), since the leader has not what comes next here."""
    is_in_sync: bool = False
    awaits_disk: bool = False
    """Whether what the log has is being brought to the disk, before the leader is told of it (flush.messages)."""
    _failures: int = 0
    """How often in a row the leader answered with an error."""
    _problem: str = ""
    """What is wrong, and has been logged."""

    def wake(self) -> None:
        """Something happened to the partition: its log may begin further on, which the leader is told."""
        self.changed[self] = None

    def expire(self) -> None:
        """The broker stops; nobody waits here."""

    def rest(self, now: float) -> None:
        """Rest for as long as a fetch that has failed."""
        self.rests_until = max(self.rests_until, now + self.backoff_s)

    def rest_after_error(self, now: float, problem: str) -> None:
        """Rest after an error of the leader, which is worth a line once it does not pass by itself."""
        rest_s = min(FIRST_REST_S * (1 << min(self._failures, 20)), self.backoff_s)
        self._failures += 1
        self.rests_until = max(self.rests_until, now + rest_s)
        if rest_s == self.backoff_s:
            self.report(problem)

    def rest_for_disk(self, now: float, problem: str) -> None:
        """Rest since the log does not take what comes."""
        self.report(problem)
        self.rests_until = now + STORAGE_RETRY_S

    def report(self, problem: str) -> None:
        """Say what is wrong, once."""
        if problem != self._problem:
            self._problem = problem
            log.error("a partition is not followed for now; tried again", partition=str(self.following), reason=problem)

    def goes_well(self) -> None:
        """What came has been taken."""
        self._failures = 0
        if self._problem:
            log.info("the partition is followed again", partition=str(self.following))
            self._problem = ""
