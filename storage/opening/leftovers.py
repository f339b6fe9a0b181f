"""Setting right the file names of a partition directory before its log is loaded.

Owns the suffixes that say how far a deletion or a compaction had come when the broker stopped, and what is to be done
about each; looks into files only to learn where a replaced segment ends. Doing it again changes nothing. Follows
Kafka's storage format, suffixes and crash recovery at load.
"""

from collections.abc import Iterator

from odradek.storage.files import TEMPORARY_SUFFIX, FileSystem
from odradek.storage.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    PRODUCER_SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    FileName,
    file_name,
    parse_file_name,
)
from odradek.storage.segment.batch_headers import walk_headers

_SUFFIXES = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX, TEMPORARY_SUFFIX)
_METADATA_SNAPSHOT = ".checkpoint"
"""Snapshots of the metadata log belong to others, in every state."""


def settle_names(fs: FileSystem, directory: str, names: set[str]) -> list[FileName]:
    """Finish what a stop interrupted, and return the names of the segments' files and snapshots that are there now.

    `names` are those in the directory; it is changed to those that remain. Raises OSError.
    """
    if any(name.endswith(_SUFFIXES) for name in names):
        _remove_leftovers(fs, directory, names)
        _finish_swaps(fs, directory, names)
    return _remove_orphans(fs, directory, names)


def _remove_leftovers(fs: FileSystem, directory: str, names: set[str]) -> None:
    """Remove what was about to be removed, and what was never finished.

    A cleaned file says that a split of segments had not been committed; swaps of the same split, which are not below
    it, are worthless then.
    """
    doomed = {name for name in names if name.endswith((DELETED_SUFFIX, TEMPORARY_SUFFIX)) and _is_ours(name)}
    cleaned = [name for name in _parsed(names) if name.state == CLEANED_SUFFIX]
    doomed.update(_text(name) for name in cleaned)
    if cleaned:
        lowest = min(name.offset for name in cleaned)
        doomed.update(_text(name) for name in _parsed(names) if name.state == SWAP_SUFFIX and name.offset >= lowest)
    _unlink(fs, directory, names, doomed)


def _finish_swaps(fs: FileSystem, directory: str, names: set[str]) -> None:
    """Put segments that are complete in place of those that they were made from, from the last one to the first."""
    swaps = [name for name in _parsed(names) if name.state == SWAP_SUFFIX]
    logs = [name for name in swaps if name.suffix == LOG_SUFFIX]
    if logs:
        first = min(name.offset for name in logs)
        end = max(_end_of(fs, f"{directory}/{_text(name)}", name.offset) for name in logs)
        replaced = {_text(name) for name in _parsed(names) if not name.state and first <= name.offset < end}
        _unlink(fs, directory, names, replaced)
    for name in sorted(swaps, reverse=True):
        final = file_name(name.offset, name.suffix)
        fs.rename(f"{directory}/{_text(name)}", f"{directory}/{final}")
        names.remove(_text(name))
        names.add(final)
    if swaps:
        fs.sync_dir(directory)


def _remove_orphans(fs: FileSystem, directory: str, names: set[str]) -> list[FileName]:
    """Remove indexes without their data file; producer snapshots stand for themselves."""
    found = [name for name in _parsed(names) if not name.state]
    bases = {name.offset for name in found if name.suffix == LOG_SUFFIX}
    orphans = {_text(name) for name in found if name.suffix != PRODUCER_SNAPSHOT_SUFFIX and name.offset not in bases}
    if orphans:
        _unlink(fs, directory, names, orphans)
        found = [name for name in found if _text(name) not in orphans]
    return found


def _end_of(fs: FileSystem, path: str, base_offset: int) -> int:
    """Return the first offset after the segment in that file."""
    file = fs.open(path)
    end = base_offset + 1
    for _, header in walk_headers(file, 0, file.size()):
        end = header.next_offset
    file.close()
    return end


def _is_ours(name: str) -> bool:
    return _METADATA_SNAPSHOT not in name


def _parsed(names: set[str]) -> Iterator[FileName]:
    return (parsed for name in names if (parsed := parse_file_name(name)))


def _text(name: FileName) -> str:
    return file_name(name.offset, name.suffix) + name.state


def _unlink(fs: FileSystem, directory: str, names: set[str], doomed: set[str]) -> None:
    for name in sorted(doomed):
        fs.unlink(f"{directory}/{name}")
    names -= doomed
