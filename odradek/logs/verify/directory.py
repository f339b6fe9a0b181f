"""Checking a log directory, or the directory of one partition: the whole of `log verify`, as data.

What is right depends on how the directory was left: while a broker runs, or after it was killed, the end of each log
may be unfinished, and a checkpoint may lag. That is told by the lock and by the marker of a clean stop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from odradek.logs.kinds import OFFSET_CHECKPOINTS
from odradek.logs.verify.findings import Finding, VerifyFindings
from odradek.logs.verify.names import check_log_directory_names
from odradek.logs.verify.partition import PartitionResult, VerifyContext, verify_partition
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.directories.clean_shutdown import was_clean_shutdown
from odradek.storage.directories.meta_properties import read_meta_properties
from odradek.storage.errors import CorruptFile, StorageError
from odradek.storage.files import FileSystem
from odradek.storage.names import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOCK_FILE,
    LOG_START_FILE,
    LOG_SUFFIX,
    META_PROPERTIES_FILE,
    RECOVERY_POINT_FILE,
    TopicPartition,
    parse_directory_name,
    parse_file_name,
)
from odradek.storage.segment.entry_walk import Progress

_MEANINGS = {
    RECOVERY_POINT_FILE: "records up to offset {offset} had reached the disk",
    HIGH_WATERMARK_FILE: "records up to offset {offset} had been given to readers",
    LOG_START_FILE: "the log starts at offset {offset}",
    CLEANER_OFFSET_FILE: "it is compacted up to offset {offset}",
}


@dataclass(frozen=True, slots=True)
class DirectoryLayout:
    """What a directory is."""

    path: str
    log_directory: str | None
    """The log directory that it is or is in, None for the directory of a partition that is kept elsewhere."""
    partitions: tuple[str, ...]
    """Paths of the partitions' directories."""
    is_whole: bool
    """Whether it is a log directory."""


@dataclass(slots=True)
class VerifyReport:
    """What was gone over and found."""

    directory: str
    is_running: bool
    was_clean: bool | None
    """Whether the broker was stopped in order; None where that cannot be told."""
    partitions: list[PartitionResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    errors: int = 0

    @property
    def size(self) -> int:
        """Bytes of data that were gone over."""
        return sum(each.size for each in self.partitions)

    @property
    def batches(self) -> int:
        """Batches that were gone over."""
        return sum(each.batches for each in self.partitions)

    @property
    def segments(self) -> int:
        """Segments that were gone over."""
        return sum(each.segments for each in self.partitions)


def read_layout(fs: FileSystem, path: str, findings: VerifyFindings | None = None) -> DirectoryLayout:
    """Return what the directory is. Raises OSError, and CorruptFile where it is neither of both kinds."""
    path = path.rstrip("/") or "/"
    entries = fs.scan(path)
    names = {entry.name for entry in entries}
    if any(parsed is not None and parsed.suffix == LOG_SUFFIX for parsed in map(parse_file_name, names)):
        parent = os.path.dirname(os.path.abspath(path))
        return DirectoryLayout(path, parent if fs.exists(f"{parent}/{META_PROPERTIES_FILE}") else None, (path,), False)
    found = check_log_directory_names(path, entries, findings or VerifyFindings())
    if not found and META_PROPERTIES_FILE not in names:
        raise CorruptFile(path, "neither a log directory nor the directory of a partition: there is no .log file in it")
    return DirectoryLayout(path, path, tuple(f"{path}/{name}" for name in found), True)


def data_size(fs: FileSystem, layout: DirectoryLayout) -> int:
    """Return how many bytes of data a check goes over."""
    total = 0
    for directory in layout.partitions:
        with suppress(FileNotFoundError):  # a running broker may have removed it
            for name in fs.listdir(directory):
                parsed = parse_file_name(name)
                if parsed is not None and parsed.suffix == LOG_SUFFIX and not parsed.state:
                    total += fs.size(f"{directory}/{name}")
    return total


def verify_directory(
    fs: FileSystem, path: str, deep: bool = False, on_bytes: Progress | None = None, is_ours: bool = False
) -> VerifyReport:
    """Check everything in a directory. `is_ours`: this process holds its lock. Raises OSError, CorruptFile."""
    findings = VerifyFindings()
    layout = read_layout(fs, path, findings)
    home = layout.log_directory
    running = home is not None and not is_ours and _is_locked(fs, home)
    clean = was_clean_shutdown(fs, home) if home is not None else None
    report = VerifyReport(layout.path, running, clean)
    if home is not None and layout.is_whole:
        _check_meta_properties(fs, home, findings)
    given = VerifyContext(running, running or clean is False, deep)
    for directory in layout.partitions:
        try:
            report.partitions.append(verify_partition(fs, directory, given, findings, on_bytes))
        except FileNotFoundError:
            if not running:
                raise
            findings.note(directory, "removed meanwhile, by the broker")
    if home is not None:
        _check_checkpoints(fs, home, layout, report, given, findings)
    report.findings, report.errors = findings.all, findings.errors
    return report


def _is_locked(fs: FileSystem, directory: str) -> bool:
    path = f"{directory}/{LOCK_FILE}"
    return fs.exists(path) and fs.lock_owner(path) is not None


def _check_meta_properties(fs: FileSystem, directory: str, findings: VerifyFindings) -> None:
    path = f"{directory}/{META_PROPERTIES_FILE}"
    try:
        if read_meta_properties(fs, directory) is None:
            findings.note(path, "the file is missing: a broker takes the directory for a new one")
    except CorruptFile as error:
        findings.error(path, error.reason, 0)
    except StorageError as error:
        findings.error(path, error.message, 0)


def _check_checkpoints(
    fs: FileSystem,
    home: str,
    layout: DirectoryLayout,
    report: VerifyReport,
    given: VerifyContext,
    findings: VerifyFindings,
) -> None:
    """Hold the offsets in the four checkpoints against the logs."""
    logs: dict[TopicPartition, PartitionResult] = {}
    for result in report.partitions:
        parsed = parse_directory_name(os.path.basename(os.path.abspath(result.directory)))
        if parsed is not None and result.segments:
            logs.setdefault(parsed.partition, result)
    for name in OFFSET_CHECKPOINTS:
        path = f"{home}/{name}"
        try:
            entries = read_offset_checkpoint(fs, path)
        except CorruptFile as error:
            findings.error(path, error.reason, 0)
            continue
        _check_offsets(path, name, entries, logs, layout.is_whole, given, findings)


def _check_offsets(
    path: str,
    name: str,
    entries: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, PartitionResult],
    is_whole: bool,
    given: VerifyContext,
    findings: VerifyFindings,
) -> None:
    for number, (partition, offset) in enumerate(entries.items()):
        log, line = logs.get(partition), f"line {number + 3}"
        if log is None:
            if is_whole:
                findings.note(path, f"{line}: there is no partition {partition} in this directory")
        elif offset > log.end_offset and not given.is_running:
            said = _MEANINGS[name].format(offset=offset)
            reason = f"{line}: {partition} ends at offset {log.end_offset}, but {said}"
            add = findings.note if given.is_open and name != RECOVERY_POINT_FILE else findings.error
            add(path, reason, None, offset)
