"""Who follows the metadata log, and how far each of them is.

Owns: what DescribeQuorum tells of observers (KIP-836): the end of their log, when they fetched last, and until when
they had all that there was. Must not know: requests, clocks. Follows Kafka's `LeaderState.ReplicaState`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

SESSION_MS: Final = 5 * 60 * 1000
"""An observer that has not fetched for so long is forgotten."""
MOST_OBSERVERS: Final = 10_000
"""Nodes that can be told apart; a stranger may give any id."""


class ReplicaKey(NamedTuple):
    """A node with the directory in which it keeps the log."""

    node_id: int
    directory_id: UUID


@dataclass(slots=True)
class ReplicaProgress:
    """How far a follower of the log is; times in ms since 1970."""

    end_offset: int = -1
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end_offset: int = -1
    """Where the leader's log ended at the last fetch."""

    def note_fetch(self, fetch_offset: int, leader_end_offset: int, now_ms: int) -> None:
        """Take note of a fetch from an offset, which says that everything before it is there."""
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif 0 < self.leader_end_offset <= fetch_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.end_offset = fetch_offset
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.leader_end_offset = leader_end_offset


class Observers:
    """The observers of the current epoch."""

    def __init__(self) -> None:
        self._progress: dict[ReplicaKey, ReplicaProgress] = {}

    def note_fetch(self, key: ReplicaKey, fetch_offset: int, leader_end_offset: int, now_ms: int) -> None:
        """Take note of a fetch."""
        progress = self._progress.get(key)
        if progress is None:
            if len(self._progress) >= MOST_OBSERVERS:
                self._forget(now_ms)
                if len(self._progress) >= MOST_OBSERVERS:
                    return
            progress = self._progress[key] = ReplicaProgress()
        progress.note_fetch(fetch_offset, leader_end_offset, now_ms)

    def active(self, now_ms: int) -> Iterator[tuple[ReplicaKey, ReplicaProgress]]:
        """Yield those that have fetched lately, by their ids."""
        self._forget(now_ms)
        yield from sorted(self._progress.items(), key=lambda item: item[0])

    def _forget(self, now_ms: int) -> None:
        silent = [key for key, one in self._progress.items() if now_ms - one.last_fetch_ms >= SESSION_MS]
        for key in silent:
            del self._progress[key]
