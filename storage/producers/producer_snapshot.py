"""Producer state on disk: the `<offset>.snapshot` files of a partition directory.

A snapshot says what the producers had done before its offset, so that only the log from there on has to be read after
a restart. Of the five batches that are remembered of a producer in memory, the last one is kept. Follows Kafka's
storage format, "Producer snapshot" (`ProducerSnapshot.json`, `ProducerStateManager`).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import starmap
from struct import Struct

from odradek.protocol.records.checksum import crc32c
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import DELETED_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX, file_name
from odradek.storage.producers.producer_entry import ProducerEntry, is_expired
from odradek.storage.producers.producer_state import ProducerStates

_VERSION = 1
_HEADER = Struct(">hIi")
_COUNTED_FROM = 6  # the checksum covers what follows it
_ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: Mapping[int, ProducerEntry]) -> bytes:
    """Return the content of a snapshot file."""
    content = bytearray(_HEADER.pack(_VERSION, 0, len(entries)))
    for producer_id, entry in entries.items():
        sequence, offset, delta, _ = entry.batches[-1] if entry.batches else (-1, -1, 0, -1)
        content += _ENTRY.pack(
            producer_id,
            entry.epoch,
            sequence,
            offset,
            delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.transaction_first_offset,
        )
    _HEADER.pack_into(content, 0, _VERSION, crc32c(memoryview(content)[_COUNTED_FROM:], 0), len(entries))
    return bytes(content)


def decode_snapshot(content: bytes, path: str) -> Iterator[tuple[int, ProducerEntry]]:
    """Return the (producer id, entry) of a snapshot file, each made when it is its turn.

    Raises CorruptFile, which names `path`, if it is none, before there is any.
    """
    if len(content) < _HEADER.size:
        raise CorruptFile(path, f"a producer snapshot has at least {_HEADER.size} bytes, not {len(content)}")
    version, crc, count = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise CorruptFile(path, f"unknown version {version} of a producer snapshot")
    computed = crc32c(memoryview(content)[_COUNTED_FROM:], 0)
    if crc != computed:
        raise CorruptFile(path, f"the checksum of the producer snapshot is {crc}, but should be {computed}")
    if count * _ENTRY.size != len(content) - _HEADER.size:
        raise CorruptFile(path, f"{count} producers do not take {len(content)} bytes")
    return starmap(_decode_entry, _ENTRY.iter_unpack(memoryview(content)[_HEADER.size :]))


def _decode_entry(
    producer_id: int, epoch: int, sequence: int, offset: int, delta: int, timestamp: int, coordinator: int, first: int
) -> tuple[int, ProducerEntry]:
    entry = ProducerEntry()
    entry.epoch = epoch
    entry.coordinator_epoch = coordinator
    entry.transaction_first_offset = first if first >= 0 else -1
    if offset >= 0:
        entry.add_batch(sequence, offset, delta, timestamp)
    entry.last_timestamp = timestamp
    return producer_id, entry


class ProducerSnapshots:
    """The snapshots of one partition directory."""

    __slots__ = ("_fs", "_last_taken", "directory", "offsets")

    def __init__(self, fs: FileSystem, directory: str, offsets: Iterable[int]) -> None:
        """Refer to the snapshots at `offsets`, as found in the directory; touches no file."""
        self._fs = fs
        self.directory = directory
        self.offsets = sorted(offsets)
        """Of all snapshots, ascending. To be read only."""
        self._last_taken = self.offsets[-1] if self.offsets else 0

    def path(self, offset: int) -> str:
        """Return the path of the snapshot at `offset`, whether or not there is one."""
        return f"{self.directory}/{file_name(offset, PRODUCER_SNAPSHOT_SUFFIX)}"

    def take(self, states: ProducerStates) -> bool:
        """Write the state as of its end offset, unless it has not gone on since the last one; not durable yet.

        Returns whether there is a new snapshot. A torn one is told by its checksum.
        """
        offset = states.end_offset
        if offset <= self._last_taken:
            return False
        try:
            self._fs.write_bytes(self.path(offset), encode_snapshot(states.entries))
        except OSError:
            with suppress(OSError):
                self._fs.unlink(self.path(offset))
            raise
        self._add(offset)
        self._last_taken = offset
        return True

    def take_at(self, states: ProducerStates, offset: int) -> str | None:
        """Let the state reach up to `offset`, and take it; return the new snapshot's path, None if there is none."""
        states.end_offset = offset
        return self.path(offset) if self.take(states) else None

    def reload(
        self, states: ProducerStates, log_start_offset: int, log_end_offset: int, expired_before_ms: int
    ) -> list[CorruptFile]:
        """Make the state that of the newest usable snapshot within the log; `states.end_offset` is then its offset.

        The log must be replayed from there. Snapshots outside of the log are removed, and those that cannot be read;
        the latter are returned, for the record. Producers last heard of at `expired_before_ms` or before are left out.
        Where the state already reflects exactly the log, only its start is raised.
        """
        for offset in [found for found in self.offsets if not log_start_offset < found <= log_end_offset]:
            self.delete(offset)
        corrupt: list[CorruptFile] = []
        if states.end_offset == log_end_offset:
            self.raise_start(states, log_start_offset)
            return corrupt
        while self.offsets:
            offset = self.offsets[-1]
            try:
                entries = decode_snapshot(self._fs.read_bytes(self.path(offset)), self.path(offset))
            except CorruptFile as error:
                corrupt.append(error)
                self.delete(offset)
                continue
            states.replace((pair for pair in entries if not is_expired(pair[1], expired_before_ms)), offset)
            self._last_taken = offset
            return corrupt
        states.replace((), log_start_offset)
        self._last_taken = log_start_offset
        return corrupt

    def raise_start(self, states: ProducerStates, log_start_offset: int) -> None:
        """Follow the log, whose start has moved up."""
        states.raise_start(log_start_offset)
        self._last_taken = self.offsets[-1] if self.offsets else log_start_offset

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Remove the snapshots that stand at the base offset of no segment.

        The last of them stays if no segment starts after it: it was taken at the end of the log when that was closed.
        """
        bases = set(base_offsets)
        strays = [offset for offset in self.offsets if offset not in bases]
        if strays and strays[-1] >= max(bases, default=0):
            strays.pop()
        for offset in strays:
            self.delete(offset)

    def delete_before(self, offset: int) -> None:
        """Remove the snapshots before `offset`."""
        for found in self.offsets[: bisect_left(self.offsets, offset)]:
            self.delete(found)

    def delete(self, offset: int) -> None:
        """Remove the snapshot at `offset`, if there is one."""
        if self._forget(offset):
            self._fs.unlink(self.path(offset))

    def delete_all(self) -> None:
        """Remove all snapshots; the next one may be taken at any offset above 0."""
        for offset in list(self.offsets):
            self.delete(offset)
        self._last_taken = 0

    def mark_deleted(self, offset: int) -> str | None:
        """Rename the snapshot so that it waits for its removal, and return that path; None if there is no such one.

        After an OSError it can be called again.
        """
        path = self.path(offset)
        there = self._find(offset) is not None and self._fs.exists(path)
        if there:
            self._fs.rename(path, path + DELETED_SUFFIX)
        self._forget(offset)
        return path + DELETED_SUFFIX if there else None

    def _find(self, offset: int) -> int | None:
        at = bisect_left(self.offsets, offset)
        return at if at < len(self.offsets) and self.offsets[at] == offset else None

    def _add(self, offset: int) -> None:
        if self._find(offset) is None:
            insort(self.offsets, offset)

    def _forget(self, offset: int) -> bool:
        at = self._find(offset)
        if at is not None:
            del self.offsets[at]
        return at is not None
