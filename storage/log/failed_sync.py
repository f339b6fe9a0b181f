"""Writing again what a disk may have lost when it refused a sync.

After a failed fsync the operating system may take the pages for written although they are not: the next fsync succeeds
and proves nothing. Most often the pages still have what was written, but nobody brings them to the disk any more. So
what was not on disk for sure is read back, checked, and written at the same place again before the next fsync: the
same bytes over themselves harm nothing, whatever the disk has there. Must not know: logs, segments, when to try.
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.protocol.records.batch import CURRENT_MAGIC, check_crc
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import StorageError
from odradek.storage.files import OpenFile
from odradek.storage.segment.batch_headers import walk_headers


class Stretch(NamedTuple):
    """Bytes of a file that may not be on disk although nobody waits to write them."""

    file: OpenFile
    start: int
    end: int
    has_batches: bool
    """Whether these are whole record batches, which can be checked."""


def write_again(stretch: Stretch) -> None:
    """Write the stretch once more; any thread may do so.

    Raises OSError, and StorageError where the bytes are no longer what was written.
    """
    file, start, end, has_batches = stretch
    if not has_batches:
        file.pwrite(file.pread(end - start, start), start)
        return
    position = start
    try:
        for position, header in walk_headers(file, start, end):
            batch = file.pread(header.size, position)
            if header.magic == CURRENT_MAGIC:
                with memoryview(batch) as view:
                    check_crc(view, header)
            file.pwrite(batch, position)
            position += len(batch)
    except CorruptRecord as gone:
        raise _lost(file, position, str(gone)) from gone
    if position != end:
        raise _lost(file, position, f"{end - position} bytes are no whole batch")


def _lost(file: OpenFile, position: int, reason: str) -> StorageError:
    return StorageError(
        f"{file.path} has lost what was written from byte {position} on ({reason}): restart the broker, which keeps "
        "what is whole"
    )
