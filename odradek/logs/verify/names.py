"""Checking the names in a directory: what is there, what lacks its partner, what is strange.

Follows Kafka's storage format, files in a log directory and in a partition directory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from odradek.logs.kinds import LogFileKind, kind_of
from odradek.logs.verify.findings import VerifyFindings
from odradek.storage.files import TEMPORARY_SUFFIX, DirectoryEntry
from odradek.storage.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOCK_FILE,
    LOG_SUFFIX,
    PRODUCER_SNAPSHOT_SUFFIX,
    REMOTE_INDEX_CACHE_DIRECTORY,
    SWAP_SUFFIX,
    DirectoryState,
    parse_directory_name,
    parse_file_name,
)

_UNFINISHED = {
    DELETED_SUFFIX: "waiting for their removal",
    CLEANED_SUFFIX: "of a compaction that was not finished; the next start of a broker removes them",
    SWAP_SUFFIX: "of a compaction, about to take the place of others; the next start of a broker sees to that",
    TEMPORARY_SUFFIX: "of writes that were not finished",
    ".part": "of a snapshot that was not finished",
}
_OF_LOG_DIRECTORY = frozenset({LogFileKind.OFFSET_CHECKPOINT, LogFileKind.META_PROPERTIES, LogFileKind.CLEAN_SHUTDOWN})
_OF_PARTITION = frozenset(LogFileKind) - _OF_LOG_DIRECTORY


@dataclass(slots=True)
class PartitionNames:
    """The files of a partition directory by what they are, ascending."""

    segments: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    metadata_snapshots: list[str] = field(default_factory=list)


def check_partition_names(
    directory: str, entries: Iterable[DirectoryEntry], findings: VerifyFindings
) -> PartitionNames:
    """Return the files of a partition directory, and add what is strange about the names in it."""
    names = PartitionNames()
    derived: list[tuple[str, int]] = []
    unfinished: Counter[str] = Counter()
    for entry in sorted(entries):
        path = f"{directory}/{entry.name}"
        parsed = parse_file_name(entry.name)
        kind = kind_of(entry.name)
        if (suffix := _unfinished(entry.name)) is not None:
            unfinished[suffix] += 1
        elif entry.is_directory or kind not in _OF_PARTITION:
            findings.error(path, f"Kafka keeps no such {_what(entry)} in the directory of a partition")
        elif parsed is None:
            if kind is LogFileKind.METADATA_SNAPSHOT:
                names.metadata_snapshots.append(entry.name)
        elif parsed.suffix == LOG_SUFFIX:
            names.segments.append(parsed.offset)
        elif parsed.suffix == PRODUCER_SNAPSHOT_SUFFIX:
            names.snapshots.append(parsed.offset)
        else:
            derived.append((path, parsed.offset))
    _note_unfinished(directory, unfinished, findings)
    bases = set(names.segments)
    for path, offset in derived:
        if offset not in bases:
            findings.error(path, "there is no segment (.log) that this is the index of")
    if not names.segments:
        findings.error(directory, "there is no segment (.log) in the directory")
    return names


def check_log_directory_names(directory: str, entries: Iterable[DirectoryEntry], findings: VerifyFindings) -> list[str]:
    """Return the names of the partitions' directories, ascending, and add what is strange about the others."""
    partitions: list[str] = []
    unfinished: Counter[str] = Counter()
    for entry in sorted(entries):
        path = f"{directory}/{entry.name}"
        parsed = parse_directory_name(entry.name) if entry.is_directory else None
        if parsed is not None and parsed.state is DirectoryState.DELETED:
            findings.note(path, "the directory waits for its removal")
        elif parsed is not None:
            partitions.append(entry.name)
            if parsed.state is DirectoryState.STRAY:
                findings.note(path, "the partition is not known to the cluster, and was put aside")
        elif entry.is_directory and entry.name != REMOTE_INDEX_CACHE_DIRECTORY:
            findings.error(path, "this is no directory of a partition (<topic>-<number>); a broker does not start so")
        elif not entry.is_directory and (suffix := _unfinished(entry.name)) is not None:
            unfinished[suffix] += 1
        elif not entry.is_directory and entry.name != LOCK_FILE and not _belongs_to_log_directory(entry.name):
            findings.note(path, "Kafka keeps no such file in a log directory")
    _note_unfinished(directory, unfinished, findings)
    return partitions


def _unfinished(name: str) -> str | None:
    return next((suffix for suffix in _UNFINISHED if name.endswith(suffix)), None)


def _note_unfinished(directory: str, counts: Counter[str], findings: VerifyFindings) -> None:
    """Tell of files that are none any more, or not yet: a broker that has just deleted much leaves very many."""
    for suffix, count in sorted(counts.items()):
        findings.note(directory, f"files ending in {suffix}: {count}, {_UNFINISHED[suffix]}")


def _belongs_to_log_directory(name: str) -> bool:
    kind = kind_of(name)
    return kind in _OF_LOG_DIRECTORY or (kind is LogFileKind.METADATA_SNAPSHOT and not name[0].isdigit())


def _what(entry: DirectoryEntry) -> str:
    return "directory" if entry.is_directory else "file"
