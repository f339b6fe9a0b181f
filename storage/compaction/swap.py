"""Putting a written segment in place of those that it was made from, so that a crash at any step does no harm.

The steps, each of them a row of renames (the files themselves are on the disk already):

1. `.cleaned` becomes `.swap`. Before the last of these renames a start removes all of it, after it a start carries the
   rest out (`storage.opening.leftovers`): this is where the log changes.
2. The files of the old segments become `.deleted`, to be removed later.
3. `.swap` goes, the data file first.

A file system keeps the order of changes within a directory, so nothing has to wait for the disk in between. What must
wait until the directory is synced is said by `Swapped`. Follows Kafka's storage format, suffixes and crash recovery at
load (`LocalLog.replaceSegments`).
"""

import errno
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from odradek.storage.files import FileSystem
from odradek.storage.log.log import Log
from odradek.storage.names import CLEANED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX, file_name, parse_file_name
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.segment import SEGMENT_SUFFIXES, Segment
from odradek.storage.segment.unfinished_segment import SwapSegment


class Swapped(NamedTuple):
    """What is left to be done once the names are on the disk."""

    doomed: tuple[str, ...]
    """Files that are out of use, to be removed later."""
    problem: str
    """Why the renames could not be completed, empty if they were; the next start completes them then."""


def swap_in(log: Log, old: Sequence[Segment], base_offset: int, size: int, now_ms: int) -> Swapped:
    """Let the `.cleaned` segment at `base_offset`, with `size` bytes, stand in place of `old`.

    `old` are segments of the log in a row, not the active one, and the first begins at `base_offset`. Raises OSError,
    and the log is as it was then, without the `.cleaned` files.
    """
    _commit(log.local.fs, log.directory, base_offset, size)
    settings = IndexSettings(log.config.index_interval_bytes, log.config.segment_index_bytes)
    doomed: list[str] = []
    kind = Segment
    problem = ""
    try:
        for segment in old:
            doomed += segment.mark_deleted()
        _rename(log.local.fs, log.directory, base_offset, SWAP_SUFFIX, "")
    except OSError as error:
        problem = str(error)
        if log.local.fs.exists(f"{log.directory}/{file_name(base_offset, LOG_SUFFIX)}{SWAP_SUFFIX}"):
            kind = SwapSegment
    new = kind(log.local.fs, log.directory, base_offset, settings, size, now_ms)
    doomed += _put_in_place(log, old, new)
    return Swapped(() if problem else tuple(doomed), problem)


def _put_in_place(log: Log, old: Sequence[Segment], new: Segment) -> list[str]:
    """Let a segment whose files are in place stand where `old` ones stood; the only way to do so.

    It is sealed, on the disk, and has the same offsets but for what compaction removed. Returns the files that are out
    of use besides those of `old`; readers that hold files of `old` go on. Raises nothing.
    """
    log.local.replace(old, [new])
    doomed = []
    for segment in old:
        if segment.base_offset != new.base_offset:
            with suppress(OSError):  # the next start removes the snapshots that stand at no segment's base offset
                if path := log.snapshots.mark_deleted(segment.base_offset):
                    doomed.append(path)
    return doomed


def discard_cleaned(fs: FileSystem, directory: str) -> None:
    """Remove what a round was writing when it was ended from outside. Raises OSError."""
    with suppress(FileNotFoundError):
        for name in fs.listdir(directory):
            parsed = parse_file_name(name)
            if parsed is not None and parsed.state == CLEANED_SUFFIX:
                fs.unlink(f"{directory}/{name}")


def _commit(fs: FileSystem, directory: str, base_offset: int, size: int) -> None:
    path = f"{directory}/{file_name(base_offset, LOG_SUFFIX)}{CLEANED_SUFFIX}"
    try:
        found = fs.size(path)
        if found != size:  # nothing may take the place of data that is not there
            raise OSError(errno.EIO, f"it has {found} bytes instead of the {size} that were written", path)
        _rename(fs, directory, base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)
    except OSError:
        for suffix in SEGMENT_SUFFIXES:
            for state in (SWAP_SUFFIX, CLEANED_SUFFIX):  # while a .cleaned is there, a .swap does not count
                with suppress(OSError):
                    fs.unlink(f"{directory}/{file_name(base_offset, suffix)}{state}")
        raise


def _rename(fs: FileSystem, directory: str, base_offset: int, before: str, after: str) -> None:
    for suffix in SEGMENT_SUFFIXES:
        path = f"{directory}/{file_name(base_offset, suffix)}"
        if fs.exists(path + before):
            fs.rename(path + before, path + after)
