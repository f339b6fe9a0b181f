"""Which leader epoch begins at which offset of a partition, and the file `leader-epoch-checkpoint` that says so.

A follower that has gone another way finds with it where it must cut its log (KIP-101, KIP-279). Follows Kafka's storage
format, "Small text / JSON files" (`LeaderEpochFileCache`, `LeaderEpochCheckpointFile`).
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from odradek.storage.checkpoints.checkpoint_file import (
    MAX_INT32,
    MAX_INT64,
    format_checkpoint,
    parse_checkpoint,
    parse_number,
)
from odradek.storage.files import FileSystem
from odradek.storage.names import LEADER_EPOCH_FILE

UNDEFINED = -1
"""No epoch, or no offset."""


class EpochStart(NamedTuple):
    """A leader epoch, and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """An epoch, and the offset after its last record; both -1 where that is not known."""

    epoch: int
    end_offset: int


class LeaderEpochCache:
    """The leader epochs of one partition, ascending both by epoch and by start offset.

    Changes are kept in memory until `flush`. Until the log has synced what it wrote in an epoch, that is no loss: the
    epoch stands in every batch, and recovery reads it from there.
    """

    __slots__ = ("_dirty", "_epochs", "_fs", "_is_announced", "_starts", "directory")

    def __init__(self, fs: FileSystem, directory: str, entries: Iterable[EpochStart] = ()) -> None:
        """Start with `entries`, as `read_leader_epochs` gives them, for the partition in `directory`."""
        self._fs = fs
        self.directory = directory
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self._is_announced = False
        """Whether the last epoch has no records yet."""
        for epoch, start_offset in entries:
            self._assign(epoch, start_offset)
        self._dirty = False

    @property
    def has_changed(self) -> bool:
        """Whether the file does not say what it should."""
        return self._dirty

    @property
    def entries(self) -> list[EpochStart]:
        """All entries, ascending."""
        return [EpochStart(*pair) for pair in zip(self._epochs, self._starts, strict=True)]

    @property
    def latest(self) -> int:
        """The last epoch, -1 if there is none."""
        return self._epochs[-1] if self._epochs else UNDEFINED

    @property
    def latest_entry(self) -> EpochStart | None:
        """The last epoch and where it starts."""
        return EpochStart(self._epochs[-1], self._starts[-1]) if self._epochs else None

    @property
    def earliest_entry(self) -> EpochStart | None:
        """The first epoch and where it starts."""
        return EpochStart(self._epochs[0], self._starts[0]) if self._epochs else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` begins at `start_offset`, unless the last entry says so already.

        Entries that contradict the new one are dropped: those of the same or a later epoch, or that start at the same
        or a later offset. Raises ValueError for a negative epoch or offset.
        """
        if not self._epochs or epoch != self._epochs[-1] or start_offset < self._starts[-1]:
            self._assign(epoch, start_offset)
        elif not self._is_announced:
            return
        self._is_announced = False
        self._dirty = True

    def moved_to(self, directory: str) -> None:
        """Write the file in another directory from now on."""
        self.directory = directory
        self._dirty = True

    def announce(self, epoch: int, start_offset: int) -> None:
        """Let `epoch` begin at the end of the log, before its first record is there to be noted with `assign`.

        Nothing is written for that, as a load forgets epochs without records; nor could it be on a full disk, whose
        data is to be served all the same. Raises ValueError for a negative epoch or offset.
        """
        self._assign(epoch, start_offset)
        self._is_announced = True

    def epoch_for_offset(self, offset: int) -> int:
        """Return the epoch that the record at `offset` was, or would be, written in; -1 if that is not known."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else UNDEFINED

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return the largest epoch that is not after `epoch`, and where it ends (KIP-279).

        For an epoch before the first one that is `epoch` itself, with the start of the first one. (-1, -1) for an epoch
        after the last one, for -1, and where there are no epochs.
        """
        if epoch == UNDEFINED or not self._epochs or epoch > self._epochs[-1]:
            return EpochEnd(UNDEFINED, UNDEFINED)
        if epoch == self._epochs[-1]:
            return EpochEnd(epoch, log_end_offset)
        after = bisect_right(self._epochs, epoch)
        return EpochEnd(self._epochs[after - 1] if after else epoch, self._starts[after])

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the epochs that start at `end_offset` or after it: the log ends there now."""
        if end_offset >= 0 and self._starts and self._starts[-1] >= end_offset:
            while self._starts and self._starts[-1] >= end_offset:
                del self._starts[-1], self._epochs[-1]
            self._dirty = True
            self._is_announced = False

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the epochs that end before `start_offset`: the log begins there now. The one it is in starts there."""
        before = bisect_right(self._starts, start_offset)
        if before and (before > 1 or self._starts[0] != start_offset):
            self._epochs[:before] = [self._epochs[before - 1]]
            self._starts[:before] = [start_offset]
            self._dirty = True

    def clear(self) -> None:
        """Drop all epochs."""
        self._dirty = self._dirty or bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()
        self._is_announced = False

    def flush(self, sync: bool = True) -> None:
        """Write the file if anything has changed since it was written last; durable on return with `sync`."""
        if self._dirty:
            lines = [f"{epoch} {start}" for epoch, start in zip(self._epochs, self._starts, strict=True)]
            self._fs.write_atomic(f"{self.directory}/{LEADER_EPOCH_FILE}", format_checkpoint(lines), sync)
            self._dirty = False

    def _assign(self, epoch: int, start_offset: int) -> None:
        if not (0 <= epoch <= MAX_INT32 and 0 <= start_offset <= MAX_INT64):
            raise ValueError(f"epoch {epoch} at offset {start_offset} is out of range")
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            del self._epochs[-1], self._starts[-1]
        self._epochs.append(epoch)
        self._starts.append(start_offset)


def read_leader_epochs(fs: FileSystem, directory: str) -> list[EpochStart]:
    """Return the entries of a partition's checkpoint file, none if there is no file; raise CorruptFile."""
    path = f"{directory}/{LEADER_EPOCH_FILE}"
    try:
        content = fs.read_bytes(path)
    except FileNotFoundError:
        return []
    return [
        EpochStart(parse_number(epoch, path, MAX_INT32), parse_number(start, path, MAX_INT64))
        for epoch, start in parse_checkpoint(content, path, 2)
    ]
