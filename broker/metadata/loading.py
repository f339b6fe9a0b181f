"""Reading the metadata that is on disk, without changing anything.

Owns: the order of things: the newest snapshot, then the log behind it; and what is a torn end (a write that a crash
cut short: the log ends before it) and what is damage (valid batches follow: refuse, since what they decided would be
lost). Must not know: appending. The log proper is opened for writing only once all of this was accepted.
"""

from bisect import bisect_right
from typing import Final, NamedTuple

from odradek.broker.metadata.batches import MetadataReplay, is_undamaged
from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.quorum import Quorum
from odradek.broker.metadata.quorum_state import read_quorum_state
from odradek.broker.metadata.replay import ImageBuilder
from odradek.broker.metadata.snapshots import LoadedSnapshot, SnapshotName, load_newest
from odradek.broker.metadata.transactions import TransactionFilter
from odradek.protocol.records.batch import HEADER_SIZE, read_header
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import LOG_SUFFIX, file_name, parse_file_name

_CHUNK: Final = 1 << 20
_LARGEST_BATCH: Final = 64 << 20
"""Kafka's controller writes at most 8 MiB at once; a size field beyond this is damage."""


class LoadedMetadata(NamedTuple):
    """What is on disk."""

    image: MetadataImage
    quorum: Quorum
    epoch: int
    """Largest raft epoch that anybody knows of; what is written must not have a lower one."""
    log_start_offset: int
    """Where the oldest segment begins, 0 if there is none."""
    log_end_offset: int | None
    """Where the newest segment ends, None if there is none; everything before it was found undamaged."""
    bytes_behind_snapshot: int
    """How much had to be read behind the newest snapshot."""
    torn: str | None = None
    """Where the log has a last batch that is not whole, if it has one: the beginning of a sentence."""
    transactions: TransactionFilter | None = None
    """Knows the transaction that is open where the log ends, for whoever reads on."""
    snapshot: SnapshotName | None = None
    """The newest whole snapshot, if there is one."""
    findings: tuple[str, ...] = ()
    """What was not as it should be and could be done without, in sentences."""


def load_metadata(fs: FileSystem, directory: str) -> LoadedMetadata:
    """Read the metadata in a directory `__cluster_metadata-0`, which may be missing.

    Raises CorruptMetadataError for damage, UnsupportedMetadataError for records of a newer Kafka.
    """
    if not fs.exists(directory):
        return LoadedMetadata(MetadataImage(), Quorum(), 0, 0, None, 0)
    snapshot = load_newest(fs, directory)
    start = snapshot.image.offset
    builder = ImageBuilder(snapshot.image)
    segments = _list_segments(fs, directory)
    bases = segments[max(0, bisect_right(segments, start) - 1) :]
    if bases and bases[0] > start:
        raise CorruptMetadataError(
            f"the metadata in {directory} has a gap: its log begins at offset {bases[0]}, and no whole snapshot reaches"
            f" that far{_damage_of(snapshot)}. {_remedy(directory)}"
        )
    replay = MetadataReplay(builder.apply, snapshot.quorum, bases[0] if bases else start, start)
    torn = None
    for base in bases:
        if base != replay.offset:
            raise CorruptMetadataError(
                f"the metadata log in {directory} has a gap: a segment begins at offset {base}, the one before it ends"
                f" at {replay.offset}. {_remedy(directory)}"
            )
        torn = _read_segment(fs, directory, base, replay, is_last=base == bases[-1])
    end = max(replay.offset, start)
    if snapshot.damaged and snapshot.damaged[0].name.end_offset > end:
        raise CorruptMetadataError(
            f"the metadata in {directory} can be read up to offset {end} only{_damage_of(snapshot)}. "
            f"{_remedy(directory)}"
        )
    try:
        image, _ = builder.finish(end, max(replay.epoch, snapshot.image.epoch))
    except CorruptMetadataError as error:
        raise CorruptMetadataError(f"the metadata in {directory}: {error}. {_remedy(directory)}") from error
    return LoadedMetadata(
        image=image,
        quorum=replay.quorum,
        epoch=max(image.epoch, read_quorum_state(fs, directory).leader_epoch),
        log_start_offset=segments[0] if segments else 0,
        log_end_offset=replay.offset if bases else None,
        bytes_behind_snapshot=replay.bytes_read,
        torn=torn,
        transactions=replay.transactions,
        snapshot=snapshot.name,
        findings=tuple(f"{each.reason}; an older one and the log have all of it" for each in snapshot.damaged),
    )


def _damage_of(snapshot: LoadedSnapshot) -> str:
    """Return why newer snapshots could not be used, to go on a sentence."""
    return "".join(f"; {each.reason}" for each in snapshot.damaged)


def _remedy(directory: str) -> str:
    return (
        f"Restore the file from a copy. If there is none, move {directory} and the meta.properties of all log"
        " directories away: topics are then found from their own directories, without their configs"
    )


def _list_segments(fs: FileSystem, directory: str) -> list[int]:
    """Return the base offsets of the segments, in order."""
    names = (parse_file_name(name) for name in fs.listdir(directory))
    return sorted(name.offset for name in names if name and name.suffix == LOG_SUFFIX and not name.state)


def _read_segment(fs: FileSystem, directory: str, base: int, replay: MetadataReplay, is_last: bool) -> str | None:
    """Read a segment from its start; return where its end is torn, None if it is whole.

    Raises CorruptMetadataError if it is damaged before its end, UnsupportedMetadataError for records of a newer Kafka.
    """
    path = f"{directory}/{file_name(base, LOG_SUFFIX)}"
    file = fs.open(path, writable=False)
    try:
        size = file.size()
        position, want = 0, _CHUNK
        while position < size:
            chunk = memoryview(file.pread(want, position))
            read = _read_chunk(chunk, replay, path, position)
            position += read
            needed = _claimed_size(chunk)
            if read:
                want = _CHUNK
            elif want < needed <= min(size - position, _LARGEST_BATCH):
                want = needed
            else:
                break
        if position == size:
            return None
        damage = f"{path} is damaged at byte {position} (offset {replay.offset})"
        if not (is_last and _is_torn(file, position, size)):
            raise CorruptMetadataError(f"{damage}: what follows there would be lost. {_remedy(directory)}")
        return damage
    finally:
        file.close()


def _read_chunk(chunk: memoryview, replay: MetadataReplay, path: str, position: int) -> int:
    """Replay the batches in a chunk of a segment; errors tell where in the file they are."""
    try:
        return replay.read(chunk)
    except CorruptMetadataError as error:
        where = f"{path} cannot be read at byte {position + replay.at}"
        raise CorruptMetadataError(f"{where}: {error}. {_remedy(path.rpartition('/')[0])}") from error
    except UnsupportedMetadataError as error:
        raise UnsupportedMetadataError(f"{path}, byte {position + replay.at}: {error}") from error


def _claimed_size(chunk: memoryview) -> int:
    """Return how large the batch at the start of the chunk says it is, 0 if not even its header is there."""
    return read_header(chunk).size if len(chunk) >= HEADER_SIZE else 0


def _is_torn(file: OpenFile, position: int, size: int) -> bool:
    """Return whether a bad batch is the end of what was written, and not damage before other batches."""
    claimed = _claimed_size(memoryview(file.pread(HEADER_SIZE, position)))
    behind = position + claimed
    if not HEADER_SIZE <= claimed <= _LARGEST_BATCH or behind + HEADER_SIZE > size:
        return True
    following = memoryview(file.pread(_LARGEST_BATCH, behind))
    header = read_header(following)
    return not (HEADER_SIZE <= header.size <= len(following) and is_undamaged(following[: header.size], header))
