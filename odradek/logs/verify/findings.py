"""What a check finds: which file, which byte, which offset, and what is wrong there."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

MOST_PER_FILE = 100
"""Findings kept of one file; a file of garbage would have millions."""


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """It cannot be as a broker left it."""
    NOTE = "note"
    """It is worth knowing, and right after a crash, while a broker runs, or in a compacted topic."""


class Finding(NamedTuple):
    """Something that is wrong or worth knowing."""

    severity: Severity
    path: str
    position: int | None
    """Byte in the file."""
    offset: int | None
    """Of a record or batch."""
    reason: str

    def __str__(self) -> str:
        at = "" if self.position is None else f", byte {self.position}"
        where = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.path}{at}{where}: {self.reason}"


class VerifyFindings:
    """What was found so far."""

    __slots__ = ("_counts", "all")

    def __init__(self) -> None:
        self.all: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def error(self, path: str, reason: str, position: int | None = None, offset: int | None = None) -> None:
        """Add what cannot be right."""
        self._add(Finding(Severity.ERROR, path, position, offset, reason))

    def note(self, path: str, reason: str, position: int | None = None, offset: int | None = None) -> None:
        """Add what is worth knowing."""
        self._add(Finding(Severity.NOTE, path, position, offset, reason))

    def has_errors(self, path: str) -> bool:
        """Return whether something is wrong in the file."""
        return any(found.severity is Severity.ERROR and found.path == path for found in self.all)

    @property
    def errors(self) -> int:
        """How many errors there are."""
        return sum(found.severity is Severity.ERROR for found in self.all)

    def _add(self, finding: Finding) -> None:
        self._counts[finding.path] += 1
        if self._counts[finding.path] <= MOST_PER_FILE:
            self.all.append(finding)
        elif self._counts[finding.path] == MOST_PER_FILE + 1:
            reason = f"more than {MOST_PER_FILE} findings in this file; the rest is left out"
            self.all.append(Finding(finding.severity, finding.path, None, None, reason))
