"""Checking the log of one partition: its segments in turn, and the small files beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from odradek.logs.decoding import decode_control
from odradek.logs.verify.epochs import EpochCheck
from odradek.logs.verify.findings import VerifyFindings
from odradek.logs.verify.names import PartitionNames, check_partition_names
from odradek.logs.verify.producers import ProducerCheck
from odradek.logs.verify.segment import SegmentCheck, SegmentTask
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CONTROL_BIT, LOG_OVERHEAD
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.checkpoints.leader_epochs import EpochStart, read_leader_epochs
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.names import (
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    PARTITION_METADATA_FILE,
    PRODUCER_SNAPSHOT_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from odradek.storage.segment.entry_walk import Ending, EntryWalk, Progress
from odradek.storage.segment.transaction_index import AbortedTxn

_MAX_CONTROL_BATCH = 1 << 20


@dataclass(frozen=True, slots=True)
class VerifyContext:
    """What is known of the directory as a whole."""

    is_running: bool = False
    """A broker holds the lock of the log directory."""
    is_open: bool = False
    """The end of a log may be unfinished: a broker runs, or was not stopped in order."""
    deep: bool = False


@dataclass(slots=True)
class PartitionResult:
    """What was gone over in one partition."""

    directory: str
    segments: int = 0
    batches: int = 0
    size: int = 0
    """Bytes of all data files."""
    start_offset: int = 0
    """First offset of the first segment."""
    end_offset: int = 0
    aborted: dict[str, list[AbortedTxn]] = field(default_factory=dict)
    """What the transaction index of a segment must say, by its path, where that is known in full."""


def verify_partition(
    fs: FileSystem, directory: str, given: VerifyContext, findings: VerifyFindings, on_bytes: Progress | None = None
) -> PartitionResult:
    """Check the directory of a partition. Raises OSError where it cannot be read."""
    names = check_partition_names(directory, fs.scan(directory), findings)
    result = PartitionResult(directory, segments=len(names.segments))
    _check_topic_id(fs, directory, findings)
    for name in names.metadata_snapshots:
        _check_metadata_snapshot(fs, f"{directory}/{name}", findings)
    if not names.segments:
        return result
    epochs = EpochCheck(
        f"{directory}/{LEADER_EPOCH_FILE}", _read_epochs(fs, directory, findings), given.is_open, findings
    )
    result.start_offset = names.segments[0]
    producers = ProducerCheck(fs, directory, names.snapshots, result.start_offset, findings)
    expected = result.start_offset
    for number, base_offset in enumerate(names.segments):
        later = names.segments[number + 1 :]
        task = SegmentTask(
            directory, base_offset, later[0] if later else None, expected, given.is_open, given.is_running, given.deep
        )
        _check_gap(task, expected, findings, producers)
        try:
            done = SegmentCheck(fs, task, epochs, producers, findings, on_bytes).run()
        except FileNotFoundError:
            if not given.is_running:
                raise
            findings.note(task.path(LOG_SUFFIX), "the segment was removed meanwhile, by the broker")
            producers.distrust()
            continue
        result.batches += done.batches
        result.size += done.size
        if producers.exact:
            result.aborted[task.path(TRANSACTION_INDEX_SUFFIX)] = done.aborted
        expected = max(expected, done.next_offset)
    result.end_offset = expected
    producers.pass_snapshots(expected)
    epochs.finish(expected)
    _check_late_snapshots(names, directory, given, expected, findings)
    return result


def _check_gap(task: SegmentTask, expected: int, findings: VerifyFindings, producers: ProducerCheck) -> None:
    """Say what lies between two segments."""
    if task.base_offset > expected:
        reason = (
            f"offsets {expected} to {task.base_offset - 1} are missing before this segment; compaction leaves such gaps"
        )
        findings.note(task.path(LOG_SUFFIX), reason, None, expected)
        producers.distrust()
    elif task.base_offset < expected:
        reason = f"the segment before this one reaches up to offset {expected - 1}"
        findings.error(task.path(LOG_SUFFIX), reason, None, task.base_offset)


def _check_late_snapshots(
    names: PartitionNames, directory: str, given: VerifyContext, end_offset: int, findings: VerifyFindings
) -> None:
    for offset in names.snapshots:
        if offset > end_offset and not given.is_running:
            path = f"{directory}/{file_name(offset, PRODUCER_SNAPSHOT_SUFFIX)}"
            add = findings.note if given.is_open else findings.error
            add(path, f"the log ends before the offset of the snapshot, at {end_offset}", None, offset)


def _check_topic_id(fs: FileSystem, directory: str, findings: VerifyFindings) -> None:
    try:
        read_topic_id(fs, directory)
    except CorruptFile as error:
        findings.error(f"{directory}/{PARTITION_METADATA_FILE}", error.reason, 0)


def _read_epochs(fs: FileSystem, directory: str, findings: VerifyFindings) -> list[EpochStart] | None:
    """Return the leader epochs of the checkpoint, None if they cannot be read."""
    path = f"{directory}/{LEADER_EPOCH_FILE}"
    try:
        entries = read_leader_epochs(fs, directory)
    except CorruptFile as error:
        findings.error(path, error.reason, 0)
        return None
    for number, (before, after) in enumerate(pairwise(entries)):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            reason = f"line {number + 4}: epoch {after.epoch} at {after.start_offset} does not follow "
            findings.error(path, f"{reason}epoch {before.epoch} at {before.start_offset}")
            return None
    return entries


def _check_metadata_snapshot(fs: FileSystem, path: str, findings: VerifyFindings) -> None:
    """Check a snapshot of the metadata: whole batches between a header and a footer (KIP-630)."""
    file = fs.open(path, writable=False)
    walk = EntryWalk(file, file.size())
    last_note = ""
    for position, fields, valid in walk:
        if not valid:
            findings.error(
                path, f"the checksum of the batch ({fields[1] + LOG_OVERHEAD} bytes) is wrong", position, fields[0]
            )
        elif fields[5] & CONTROL_BIT and fields[1] < _MAX_CONTROL_BATCH:
            last_note = _last_control_note(file, position, fields[1] + LOG_OVERHEAD)
    if walk.ending is not Ending.END:
        findings.error(
            path, f"{walk.reason}; the {walk.end - walk.position} bytes from here on cannot be read", walk.position
        )
    elif not findings.has_errors(path) and last_note != "SnapshotFooter":
        findings.error(path, "the snapshot has no footer, so it was not finished", walk.position)


def _last_control_note(file: OpenFile, position: int, size: int) -> str:
    try:
        return [decode_control(record).kind for record in iter_entry_records(file.pread(size, position))][-1]
    except (KafkaError, IndexError):
        return ""
