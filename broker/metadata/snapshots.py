"""Snapshots of the metadata: files that stand for the log up to an offset.

Owns: their names, and reading the newest that is whole. `<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` is a
header, batches of records that rebuild the image, and a footer (KIP-630). Kafka writes it aside under `.part`, so
what has the final name is whole unless the disk failed; `bootstrap.checkpoint` has the same form and begins a new
log.
"""

import re
from typing import Final, NamedTuple

from odradek.broker.metadata.batches import MetadataReplay, is_undamaged
from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.quorum import Quorum
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.replay import ImageBuilder
from odradek.protocol.codec import DecodeError, decode
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.control_records import SnapshotHeaderRecord
from odradek.protocol.records.batch import HEADER_SIZE, iter_batches
from odradek.protocol.records.control import ControlType, control_type
from odradek.protocol.records.record import iter_records
from odradek.storage.files import FileSystem

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
PART_SUFFIX: Final = ".part"
"""Of a snapshot that is being written."""
DELETED_SUFFIX: Final = ".deleted"
"""Of one that waits for its removal."""
_START_BYTES: Final = 4096
"""More than the first batch of a snapshot has: a header, and what the quorum keeps."""
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)


class SnapshotName(NamedTuple):
    """What a snapshot stands for; the larger one is the newer."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


class DamagedSnapshot(NamedTuple):
    """A snapshot that cannot be read to its end."""

    name: SnapshotName
    reason: str
    """Which file, from which byte on, and why: the beginning of a sentence."""


class LoadedSnapshot(NamedTuple):
    """An image read from a file, and what the file says of the quorum."""

    image: MetadataImage
    quorum: Quorum
    name: SnapshotName | None = None
    """None where there is no whole one."""
    damaged: tuple[DamagedSnapshot, ...] = ()
    """Newer ones that were passed over, the newest first."""


def list_snapshots(fs: FileSystem, directory: str) -> list[SnapshotName]:
    """Return the snapshots in the metadata log's directory, the newest first."""
    found = (_NAME.fullmatch(name) for name in fs.listdir(directory))
    return sorted((SnapshotName(int(match[1]), int(match[2])) for match in found if match), reverse=True)


def read_timestamp(fs: FileSystem, path: str) -> int | None:
    """Return the time, in ms, of the last record that a snapshot stands for; None where it does not tell."""
    file = fs.open(path, writable=False)
    try:
        start = file.pread(_START_BYTES, 0)
    finally:
        file.close()
    try:
        for at, header in iter_batches(start):
            if header.is_control and header.size >= HEADER_SIZE:
                for record in iter_records(start[at : at + header.size]):
                    if control_type(record.key) is ControlType.SNAPSHOT_HEADER:
                        return decode(SnapshotHeaderRecord, record.value or b"", 0, 0)[0].last_contained_log_timestamp
            break
    except (KafkaError, DecodeError):
        pass
    return None


def is_undamaged_file(fs: FileSystem, path: str) -> bool:
    """Return whether a snapshot has its end and every batch its checksum; what the records say is not looked at."""
    data = memoryview(fs.read_bytes(path))
    end, last = 0, None
    try:
        for at, header in iter_batches(data):
            if not is_undamaged(data[at : at + header.size], header):
                return False
            end, last = at + header.size, header
        kinds = [control_type(record.key) for record in iter_records(data[end - last.size : end])] if last else []
    except KafkaError:
        return False
    return end == len(data) and kinds == [ControlType.SNAPSHOT_FOOTER]


def load_newest(fs: FileSystem, directory: str) -> LoadedSnapshot:
    """Return what the newest whole snapshot holds, an empty image if there is none.

    A damaged one is passed over: what it stood for may still be in the log, and if not, the gap is found there.
    """
    damaged: list[DamagedSnapshot] = []
    for name in list_snapshots(fs, directory):
        builder, quorum = ImageBuilder(MetadataImage()), Quorum()
        path = f"{directory}/{name}"
        reason = _read_whole(fs, path, MetadataReplay(builder.apply, quorum))
        if reason is None:
            try:
                image, _ = builder.finish(name.end_offset, name.epoch)
            except CorruptMetadataError as error:
                reason = f"{path} contradicts itself ({error})"
            else:
                return LoadedSnapshot(image, quorum, name, tuple(damaged))
        damaged.append(DamagedSnapshot(name, reason))
    return LoadedSnapshot(MetadataImage(), Quorum(), None, tuple(damaged))


def load_bootstrap(fs: FileSystem, log_dir: str) -> list[MetadataRecord] | None:
    """Return the records in the `bootstrap.checkpoint` of a log directory, None if there is none.

    Raises CorruptMetadataError if it is damaged.
    """
    path = f"{log_dir}/{BOOTSTRAP_FILE}"
    if not fs.exists(path):
        return None
    records: list[MetadataRecord] = []
    damage = _read_whole(fs, path, MetadataReplay(records.append, Quorum()))
    if damage is not None:
        raise CorruptMetadataError(f"{damage}: remove the file, and new metadata begins with the defaults")
    return records


def _read_whole(fs: FileSystem, path: str, replay: MetadataReplay) -> str | None:
    """Read a snapshot file; return where and why it is damaged, None if it is whole.

    Raises UnsupportedMetadataError for records of a newer Kafka.
    """
    data = memoryview(fs.read_bytes(path))
    try:
        read = replay.read(data)
    except CorruptMetadataError as error:
        return f"{path} is damaged at byte {replay.at} ({error})"
    except UnsupportedMetadataError as error:
        raise UnsupportedMetadataError(f"{path}, byte {replay.at}: {error}") from error
    if read < len(data):
        return f"{path} is damaged at byte {read} (no whole batch with a right checksum is there)"
    return None if replay.has_footer else f"{path} ends at byte {read} without the mark of its end"
