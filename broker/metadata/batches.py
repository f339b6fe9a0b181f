"""Record batches of the metadata log, and the records in them that have an effect.

Owns: stepping through batches, of the log and of snapshots alike, and what each kind of batch is for. Must not know:
files, images. Every batch that has an effect is checked against its checksum. Kafka's controller writes an empty
record every 500 ms, 172,800 a day; those are recognised by their bytes and stepped over.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.quorum import Quorum
from odradek.broker.metadata.records import MetadataRecord, read_record
from odradek.broker.metadata.transactions import TransactionFilter
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LENGTH_AT,
    LOG_OVERHEAD,
    BatchHeader,
    read_header,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.control import ControlType, control_type
from odradek.protocol.records.record import Record, iter_records

_NO_OP_RECORD: Final = bytes.fromhex("14 00 00 00 01 08 01 14 00 00 00")
"""A record without key, its value a NoOpRecord of version 0."""
_NO_OP_SIZE: Final = HEADER_SIZE + len(_NO_OP_RECORD)
_LENGTH = Struct(">i")
_START = Struct(">qii")


class MetadataReplay:
    """Reads batches, in order, and gives every record to `effect` that takes effect; `quorum` has its own records.

    Records of batches that end before the offset `start` are stepped over. Batches of a log follow each other without a
    gap, from `first` on; those of a snapshot (`first` None) have offsets of no meaning.
    """

    def __init__(
        self,
        effect: Callable[[MetadataRecord], object],
        quorum: Quorum,
        first: int | None = None,
        start: int = 0,
        transactions: TransactionFilter | None = None,
    ) -> None:
        """`transactions` is that of whoever read what is before `first`."""
        self.quorum = quorum
        self.offset = first or 0
        """First offset that has not been read."""
        self._is_log = first is not None
        self.epoch = 0
        """Raft epoch of the last batch."""
        self.bytes_read = 0
        """Bytes of the batches that were not stepped over."""
        self.has_footer = False
        """Whether the last batch was the end of a snapshot."""
        self.at = 0
        """Byte of the data given to `read` where the batch begins that is, or was last, read: the place of an error."""
        self._effect = effect
        self._start = start
        self.transactions = transactions or TransactionFilter()

    def read(self, data: memoryview) -> int:
        """Read the whole batches at the start of `data` that are undamaged; return how many bytes they have.

        Raises CorruptMetadataError for records that contradict each other, UnsupportedMetadataError for records of a
        newer Kafka.
        """
        at, end = 0, len(data)
        while at + HEADER_SIZE <= end:
            self.at = at
            (length,) = _LENGTH.unpack_from(data, at + LENGTH_AT)
            size = length + LOG_OVERHEAD
            if size < HEADER_SIZE or at + size > end:
                break
            if size == _NO_OP_SIZE and data[at + HEADER_SIZE : at + size] == _NO_OP_RECORD:
                base_offset, _, self.epoch = _START.unpack_from(data, at)
                if self._is_log and base_offset != self.offset:
                    raise self._gap(base_offset)
                self.offset = base_offset + 1
                if base_offset >= self._start:
                    self.bytes_read += size
            else:
                header = read_header(data, at)
                if not is_undamaged(data[at : at + size], header):
                    break
                self._read_batch(data[at : at + size], header)
            at += size
        return at

    def _read_batch(self, batch: memoryview, header: BatchHeader) -> None:
        if self._is_log and header.base_offset != self.offset:
            raise self._gap(header.base_offset)
        self.has_footer = False
        self.offset = header.next_offset
        self.epoch = header.partition_leader_epoch
        if header.next_offset > self._start:
            self.bytes_read += header.size
        elif not header.is_control:
            return
        try:
            for record in iter_records(batch):
                if header.is_control:
                    self._read_control(record)
                else:
                    self._read_record(record)
        except KafkaError as error:
            raise CorruptMetadataError(f"the metadata batch at offset {header.base_offset}: {error}") from error

    def _gap(self, found: int) -> CorruptMetadataError:
        return CorruptMetadataError(f"the metadata log has a batch at offset {found} where {self.offset} is expected")

    def _read_control(self, record: Record) -> None:
        kind = control_type(record.key)
        self.has_footer = kind is ControlType.SNAPSHOT_FOOTER
        self.quorum.note(kind, record.value, record.offset)

    def _read_record(self, record: Record) -> None:
        metadata = read_record(record.value or b"", record.offset)
        if metadata is not None:
            for effective in self.transactions.accept(metadata):
                self._effect(effective)


def is_undamaged(batch: memoryview, header: BatchHeader) -> bool:
    """Return whether a whole batch is of the current format and matches its checksum."""
    return header.magic == CURRENT_MAGIC and crc32c(batch[ATTRIBUTES_AT:], 0) == header.crc
