"""Committed offsets as who fetches them sees them: none before its record is safe.

A coordinator works with what it has appended; a reader must not learn of a commit that a power cut could take back.
As long as there are records beyond the high watermark, what was there before them is kept here. Must not know: who
asks, what makes a record safe. Follows Kafka's coordinator, which reads its state as of the last committed offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, decode_committed


class VisibleOffsets:
    """The offsets of a shard that may be told: those whose records are safe."""

    __slots__ = ("_before", "_changes", "_safe_end", "_store")

    def __init__(self, store: OffsetStore, safe_end: Callable[[], int]) -> None:
        """`safe_end` gives the offset in the log below which everything is safe."""
        self._store = store
        self._safe_end = safe_end
        self._changes: deque[tuple[int, OffsetKey]] = deque()
        """Offset behind the record, and whose offset it changed; in the order of the log."""
        self._before: dict[OffsetKey, deque[bytes | None]] = {}
        """What each of these changes replaced, in the same order."""

    def apply(self, key: OffsetKey, value: bytes | None, end: int) -> None:
        """Let the store take over a record that is not safe yet; it ends before the offset `end` of the log."""
        self._settle()
        self._changes.append((end, key))
        self._before.setdefault(key, deque()).append(self._store.value_of(key))
        self._store.apply(key, value)

    def end_transaction(self, producer_id: int, committed: bool, end: int) -> None:
        """Let the store take over the end of a producer's transaction, whose marker ends before the offset `end`."""
        if committed:
            self._settle()
            for key in self._store.pending_of(producer_id):
                self._changes.append((end, key))
                self._before.setdefault(key, deque()).append(self._store.value_of(key))
        self._store.end_transaction(producer_id, committed)

    def get(self, group: str, topic: str, partition: int) -> OffsetAndMetadata | None:
        """Return the offset of a group in a partition, None if there is none."""
        self._settle()
        before = self._before.get(OffsetKey(group, topic, partition))
        if before is None:
            return self._store.get(group, topic, partition)
        return None if before[0] is None else decode_committed(before[0])

    def partitions_of(self, group: str) -> dict[str, dict[int, None]]:
        """Return the partitions that a group has offsets in, by topic and in order."""
        self._settle()
        found = self._store.partitions_of(group)
        for key, before in self._before.items():
            if key.group != group:
                continue
            partitions = found.setdefault(key.topic, {})
            if before[0] is not None:
                partitions[key.partition] = None
            else:
                partitions.pop(key.partition, None)
            if not partitions:
                del found[key.topic]
        return found

    def _settle(self) -> None:
        """Forget what was replaced by records that are safe now."""
        if not self._changes:
            return
        safe_end = self._safe_end()
        while self._changes and self._changes[0][0] <= safe_end:
            _, key = self._changes.popleft()
            before = self._before[key]
            before.popleft()
            if not before:
                del self._before[key]
