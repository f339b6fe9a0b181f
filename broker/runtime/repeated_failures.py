"""Failures one after the other, as on a full disk: which of them are worth a line in the log.

It is the same one thing that is wrong each time, so it is told when it begins, rarely while it lasts, and at its end.
"""

from __future__ import annotations

from typing import Final

OFTENER: Final = 10
"""By how much more failures there have to be until the next line: after the first one at 10, 100, 1,000."""


class RepeatedFailures:
    """The failures of one thing since it last went well."""

    __slots__ = ("_next", "_reason", "count")

    def __init__(self) -> None:
        self.count = 0
        self._reason = ""
        self._next = 1

    def is_told(self, reason: str) -> bool:
        """Count one more; return whether it is to be told. Another reason is told like the first."""
        if reason != self._reason:
            self._reason, self._next = reason, self.count + 1
        self.count += 1
        if self.count < self._next:
            return False
        self._next = self.count * OFTENER
        return True
