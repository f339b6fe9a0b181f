"""How many data files of segments stay open: those that have been so for longest give their descriptors back.

One for the process, as descriptors are. A segment opens its file again when it is used, which costs some microseconds:
so nothing is noted where an open file is used, and a node may have more partitions in use than it may open files.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol
from weakref import ref


class Holder(Protocol):
    """What keeps a file open, and can do without for a while."""

    def give_back(self) -> None:
        """Close the file, unless it could not be opened again; whoever is using it keeps it until it is done."""


class KeptOpen:
    """Who keeps a file open. May be used on any thread."""

    def __init__(self) -> None:
        self._limit: int | None = None
        self._holders: deque[ref[Holder]] = deque()

    def allow(self, files: int | None) -> None:
        """Let so many files stay open at a time; None: all."""
        self._limit = files
        self._holders.clear()

    def opened(self, holder: Holder) -> None:
        """Take note that a holder has opened its file; the oldest ones give theirs back where there are too many."""
        limit = self._limit
        if limit is None:
            return
        holders = self._holders
        holders.append(ref(holder))
        while len(holders) > limit:
            try:
                oldest = holders.popleft()()
            except IndexError:  # another thread was quicker
                return
            if oldest is not None and oldest is not holder:
                oldest.give_back()


KEPT_OPEN: Final = KeptOpen()
