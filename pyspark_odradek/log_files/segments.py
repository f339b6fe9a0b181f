"""From bytes of segment files to Arrow record batches: what a task does.

Read in large pieces into one buffer, which is used again; checksums are checked before anything is believed. Damage is
told with the file and the byte. A loop of its own beside the `EntryWalk` of the log engine, which hands out headers
alone: here the records of many batches are handed on in one go, from the memory they were read into. Follows Kafka's
storage format, "Reading a .log safely".
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CURRENT_MAGIC, HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, check_crc, iter_batches
from odradek.protocol.records.batch import BatchHeader as Header
from odradek.protocol.records.compression import decompress
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.legacy import check_message_crc
from odradek.storage.files import FileSystem, OpenFile
from pyspark_odradek.columns.body import Body
from pyspark_odradek.columns.building import build
from pyspark_odradek.errors import DamagedRecordsError
from pyspark_odradek.log_files.files import reading
from pyspark_odradek.log_files.locating import MAX_BATCH_BYTES
from pyspark_odradek.log_files.planning import SegmentPart
from pyspark_odradek.log_files.transactions import AbortedOffsets

if TYPE_CHECKING:
    import pyarrow as pa

READ_BYTES: Final = 4 * 1024 * 1024
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Records are handed on when there is this much of them, decompressed."""

_log = logging.getLogger(__name__)


def read_pieces(
    fs: FileSystem, pieces: Sequence[SegmentPart], include_headers: bool, skip_damaged: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the wanted records of some pieces, in order.

    Raises:
        DamagedRecordsError: a batch is damaged, and `skip_damaged` does not say to leave it out.
        SourceError: a file cannot be read, or is not there any more.
    """
    for piece in pieces:
        with reading(piece.path):
            reader = _PieceReader(fs.open(piece.path, writable=False), piece, skip_damaged)
            for bodies in reader.bodies():
                try:
                    yield from build(piece.wanted, bodies, include_headers)
                except KafkaError as damaged:
                    reader.damaged(bodies[0].header.base_offset, damaged)


class _PieceReader:
    def __init__(self, file: OpenFile, piece: SegmentPart, skip_damaged: bool) -> None:
        self._file = file
        self._piece = piece
        self._skip_damaged = skip_damaged
        self._aborted = AbortedOffsets(piece.aborted)
        self._position = piece.start
        self._next_offset = piece.segment.base_offset
        """What is known to come before the next batch ends there."""
        self._buffer = bytearray(min(READ_BYTES, piece.end - piece.start))

    def bodies(self) -> Iterator[list[Body]]:
        """Yield the batches with wanted records, about `CHUNK_BYTES` of them at a time.

        What is yielded must not be used after the next step: its memory is used again.
        """
        piece = self._piece
        while self._position < piece.end:
            view = memoryview(self._buffer)
            view = view[: min(len(view), piece.end - self._position)]
            view = view[: self._file.readinto(view, self._position)]
            bodies: list[Body] = []
            size = taken = 0
            try:
                for at, header in iter_batches(view):
                    taken = at + header.size
                    body = self._body(header, view[at:taken], self._position + at)
                    if body is not None:
                        bodies.append(body)
                        size += len(body.records)
                    if size >= CHUNK_BYTES:
                        yield bodies
                        bodies, size = [], 0
                if not taken and not self._make_room(view):
                    return
            except KafkaError as damaged:
                if bodies:
                    yield bodies
                if piece.is_tail and self._is_zero(self._position + taken):
                    return  # space that a broker allocated ahead
                self._fail(self._position + taken, damaged, "the rest of it is left out")
                return
            if bodies:
                yield bodies
            self._position += taken

    def damaged(self, offset: int, why: KafkaError) -> None:
        """Tell of records that are not what their batch declares. Raises DamagedRecordsError, or logs."""
        self._tell(f"{self._piece.path} is damaged at or after offset {offset}: {why}", "some batches are left out")

    def _body(self, header: Header, data: memoryview, position: int) -> Body | None:
        """Return the records of a batch, None for one that is not wanted, or is damaged and to be left out."""
        try:
            self._check(header, data)
            if not self._is_wanted(header):
                return None
            if header.magic != CURRENT_MAGIC:
                return Body(header, data)
            records = data[HEADER_SIZE:]
            return Body(header, decompress(header.codec, records) if header.is_compressed else records)
        except KafkaError as damaged:
            self._fail(position, damaged, "the batch is left out")
            return None

    def _check(self, header: Header, data: memoryview) -> None:
        """Raise CorruptRecord where a batch is not what was written, or where its offset, which is in no checksum,
        cannot be right."""
        if header.magic == CURRENT_MAGIC:
            check_crc(data, header)
        else:
            check_message_crc(data)
        last, end = header.last_offset, self._piece.segment.end_offset
        if not self._next_offset <= header.base_offset <= last < end:
            raise CorruptRecord(f"offsets {header.base_offset} to {last} are not from {self._next_offset} to {end - 1}")
        self._next_offset = last + 1

    def _is_wanted(self, header: Header) -> bool:
        (_, first, until), not_before = self._piece.wanted, self._piece.not_before_ms
        if header.last_offset < first or header.max_timestamp < not_before:
            return False
        if header.magic != CURRENT_MAGIC:
            return True
        if header.is_control or header.base_offset >= until:
            return False
        return not (header.is_transactional and self._aborted.has(header.producer_id, header.base_offset))

    def _make_room(self, view: memoryview) -> bool:
        """Make the buffer large enough for a batch that did not fit; return whether it is all there.

        Raises DamagedRecordsError, unless it is the last one of a log, which a broker may be writing.
        """
        left = self._piece.end - self._position
        size = left + 1
        if len(view) >= LOG_OVERHEAD:
            size = int.from_bytes(view[LENGTH_AT:LOG_OVERHEAD], "big", signed=True) + LOG_OVERHEAD
        if len(view) < size <= min(left, MAX_BATCH_BYTES) and len(self._buffer) < size:
            self._buffer = bytearray(size)
            return True
        if not self._piece.is_tail:
            why = f"the batch that begins there says it has {size} bytes, {left} are left"
            self._fail(self._position, why, "the rest of it is left out")
        return False

    def _is_zero(self, position: int) -> bool:
        while position < self._piece.end:
            data = self._file.pread(min(READ_BYTES, self._piece.end - position), position)
            if not data or data.count(0) != len(data):
                return not data
            position += len(data)
        return True

    def _fail(self, position: int, why: object, instead: str) -> None:
        self._tell(f"{self._piece.path} is damaged at byte {position}: {why}", instead)

    def _tell(self, message: str, instead: str) -> None:
        if not self._skip_damaged:
            raise DamagedRecordsError(f"{message}. With the option mode=dropMalformed what is damaged is left out")
        _log.warning("%s; %s", message, instead)
