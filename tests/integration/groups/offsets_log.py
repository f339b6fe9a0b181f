"""The file of one partition of `__consumer_offsets`, written to as Apache Kafka would while no broker is running."""

import struct
from collections.abc import Sequence
from pathlib import Path

from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_committed, encode_offset_key
from tests.support.broker import BrokerProcess
from tests.support.wire import BatchFields, Record, build_batch

TRANSACTIONAL, CONTROL = 0x10, 0x20
ABORT, COMMIT = 0, 1
ONE_PARTITION = {"offsets.topic.num.partitions": "1"}
"""Settings of a broker whose groups are all in partition 0."""

_EXTENT = struct.Struct(">qi")
_LAST_OFFSET_DELTA_AT = 23
_OVERHEAD = 12


def offset_record(group: str, topic: str, partition: int, offset: int) -> Record:
    """Return the record of a committed offset."""
    return Record(encode_offset_key(OffsetKey(group, topic, partition)), encode_committed(OffsetAndMetadata(offset)))


def transaction(producer_id: int, records: Sequence[Record]) -> tuple[Sequence[Record], BatchFields]:
    """Return a batch of a transaction."""
    fields = BatchFields(attributes=TRANSACTIONAL, producer_id=producer_id, producer_epoch=0, base_sequence=0)
    return records, fields


def marker(producer_id: int, kind: int) -> tuple[Sequence[Record], BatchFields]:
    """Return the batch that ends a producer's transaction, as transactions of version 2 end (KIP-890)."""
    record = Record(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return [record], BatchFields(attributes=TRANSACTIONAL | CONTROL, producer_id=producer_id, producer_epoch=1)


def append_to_offsets(
    broker: BrokerProcess, *batches: tuple[Sequence[Record], BatchFields], partition: int = 0
) -> None:
    """Append batches to the log of a partition; the broker must have been killed, so that it looks at all of it."""
    path = broker.data / f"__consumer_offsets-{partition}" / f"{0:020d}.log"
    offset = _end_offset(path)
    with path.open("ab") as file:
        for records, fields in batches:
            data = bytearray(build_batch(records, fields))
            _EXTENT.pack_into(data, 0, offset, len(data) - _OVERHEAD)
            file.write(data)
            offset += len(records)


def _end_offset(path: Path) -> int:
    data, position, end = path.read_bytes(), 0, 0
    while position < len(data):
        base_offset, length = _EXTENT.unpack_from(data, position)
        end = base_offset + struct.unpack_from(">i", data, position + _LAST_OFFSET_DELTA_AT)[0] + 1
        position += length + _OVERHEAD
    return int(end)
