"""Appends that fail one after the other, as on a full disk: told when it begins, rarely while it lasts, and at its end.

Clients try again several times a second, and for all of them it is the same one thing that is wrong.
"""

from __future__ import annotations

from odradek.broker.runtime.logging import get_logger

log = get_logger("partitions")

OFTENER = 10
"""By how much more failures there have to be until the next line: after the first one at 10, 100, 1,000."""


class FailedAppends:
    """The appends of one partition that failed since the last one that did not."""

    __slots__ = ("_count", "_index", "_next", "_reason", "_topic")

    def __init__(self, topic: str, index: int) -> None:
        self._topic = topic
        self._index = index
        self._reason = ""
        self._count = 0
        self._next = 1

    def failed(self, reason: str) -> None:
        """One more has failed; another reason is told like the first."""
        if reason != self._reason:
            self._reason, self._next = reason, self._count + 1
        self._count += 1
        if self._count >= self._next:
            self._next = self._count * OFTENER
            log.error("append failed", topic=self._topic, partition=self._index, reason=reason, failures=self._count)

    def over(self) -> None:
        """One has gone well again."""
        log.info("appends go well again", topic=self._topic, partition=self._index, failures=self._count)
