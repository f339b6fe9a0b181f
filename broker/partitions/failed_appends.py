"""Appends that fail one after the other, as on a full disk: told as `RepeatedFailures` says.

Clients try again several times a second, and for all of them it is the same one thing that is wrong.
"""

from __future__ import annotations

from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.repeated_failures import RepeatedFailures

log = get_logger("partitions")


class FailedAppends:
    """The appends of one partition that failed since the last one that did not."""

    __slots__ = ("_failures", "_index", "_topic")

    def __init__(self, topic: str, index: int) -> None:
        self._topic = topic
        self._index = index
        self._failures = RepeatedFailures()

    def failed(self, reason: str) -> None:
        """One more has failed."""
        if self._failures.is_told(reason):
            count = self._failures.count
            log.error("append failed", topic=self._topic, partition=self._index, reason=reason, failures=count)

    def over(self) -> None:
        """One has gone well again."""
        count = self._failures.count
        log.info("appends go well again", topic=self._topic, partition=self._index, failures=count)
