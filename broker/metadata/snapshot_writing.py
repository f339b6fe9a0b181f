"""Writing snapshots, so that a start need not read the whole history of the metadata.

Owns: when one is due, and its file: aside under `.part`, durable, then renamed, as Kafka does (KIP-630). Must not
know: what is in an image. A snapshot that cannot be written is no harm: the log has everything, and the next one is
tried later.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from odradek.broker.metadata.export import image_records
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.quorum import Quorum
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.snapshots import PART_SUFFIX, SnapshotName
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import encode
from odradek.protocol.messages.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.control import ControlType, build_control_batch
from odradek.storage.files import FileSystem

_RECORDS_PER_BATCH: Final = 5_000
"""Some 300 KiB; Kafka reads batches of up to 8 MiB."""

log = get_logger("metadata")


class SnapshotSchedule(NamedTuple):
    """When a snapshot is due."""

    max_bytes: int = 20 * 1024 * 1024
    """`metadata.log.max.record.bytes.between.snapshots`."""
    max_ms: int = 3600 * 1000
    """`metadata.log.max.snapshot.interval.ms`: for changes since the last one; 0 for never."""


class SnapshotWriter:
    """Writes a snapshot whenever the log has grown by so many bytes since the last one, or so long ago."""

    def __init__(
        self, fs: FileSystem, directory: str, quorum: Quorum, node_id: int, schedule: SnapshotSchedule, now_ms: int
    ) -> None:
        """Count from `now_ms`, with nothing behind the last snapshot; see `begin`."""
        self._fs = fs
        self._directory = directory
        self._quorum = quorum
        self._node_id = node_id
        self._schedule = schedule
        self._behind = 0
        self._last_ms = now_ms
        self.newest: SnapshotName | None = None
        """The newest whole snapshot, if there is one."""

    def begin(self, newest: SnapshotName | None, behind: int) -> None:
        """Take note of the newest snapshot when the log was opened, and of the bytes that the log had behind it."""
        self.newest = newest
        self._behind = behind

    def note(self, size: int, image: MetadataImage, now_ms: int) -> Callable[[], None] | None:
        """Take note that a batch of `size` bytes was written which led to the image.

        Return what writes a snapshot if so many bytes make one due, to be called on any thread; None if not.
        """
        self._behind += size
        return self._take(image, now_ms) if self._behind >= self._schedule.max_bytes else None

    def due(self, image: MetadataImage, now_ms: int) -> Callable[[], None] | None:
        """Return what writes a snapshot if one is due by size or time, to be called on any thread; None if not."""
        schedule = self._schedule
        by_size = self._behind >= schedule.max_bytes
        by_time = self._behind > 0 and 0 < schedule.max_ms <= now_ms - self._last_ms
        return self._take(image, now_ms) if by_size or by_time else None

    def _take(self, image: MetadataImage, now_ms: int) -> Callable[[], None]:
        self._behind = 0
        self._last_ms = now_ms
        return partial(self._write, image, now_ms)

    def _write(self, image: MetadataImage, now_ms: int) -> None:
        name = SnapshotName(image.offset, image.epoch)
        try:
            write_snapshot(self._fs, self._directory, name, self._content(image, now_ms))
        except OSError as error:
            self._behind = max(self._behind, 1)  # so that time alone makes one due again
            log.warning("metadata snapshot not written; the log has everything", reason=str(error))
        else:
            self.newest = name

    def _content(self, image: MetadataImage, now_ms: int) -> bytes:
        """Return a snapshot file of an image."""
        return snapshot_content(image_records(image, self._node_id), self._quorum.notes, image.epoch, now_ms)


def snapshot_content(
    records: Iterable[MetadataRecord], notes: Sequence[tuple[ControlType, bytes]], epoch: int, now_ms: int
) -> bytes:
    """Return a snapshot file: header, what the quorum notes, records, footer, with offsets of their own from 0 on."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=now_ms)
    begin = [(ControlType.SNAPSHOT_HEADER, encode(header, 0)), *notes]
    data = bytearray(build_control_batch(begin, now_ms, 0, epoch))
    offset = len(begin)
    remaining = iter(records)
    while values := [(None, record.value) for record in islice(remaining, _RECORDS_PER_BATCH)]:
        data += build_batch(make_records(values, now_ms, offset), BatchFields(leader_epoch=epoch))
        offset += len(values)
    footer = encode(SnapshotFooterRecord(), 0)
    data += build_control_batch([(ControlType.SNAPSHOT_FOOTER, footer)], now_ms, offset, epoch)
    return bytes(data)


def write_snapshot(fs: FileSystem, directory: str, name: SnapshotName, content: bytes) -> None:
    """Put a snapshot in its place, durable on return; raise OSError and leave nothing under its name."""
    path = f"{directory}/{name}"
    fs.write_bytes(path + PART_SUFFIX, content, sync=True)
    fs.rename(path + PART_SUFFIX, path)
    fs.sync_dir(directory)
