"""Control batches: transaction markers, and the notes that KRaft keeps in its metadata log.

Owns keys and values of control records; values of the KRaft kinds are messages of the flexible wire format, given and
taken as bytes here. Follows Kafka's storage format, control batches (KIP-98, KIP-595, KIP-630, KIP-853).
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from odradek.protocol.records.batch import NO_SEQUENCE
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.record import Record

_KEY = Struct(">hh")
_MARKER = Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """What a control record says; clients ignore what they do not know."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_KNOWN_TYPES = {kind.value: kind for kind in ControlType if kind >= 0}


class EndTransactionMarker(NamedTuple):
    """The end of a transaction on one partition."""

    committed: bool
    coordinator_epoch: int


def control_key(kind: ControlType) -> bytes:
    """Return the key of a control record."""
    return _KEY.pack(_VERSION, kind)


def control_type(key: bytes | None) -> ControlType:
    """Return what the control record with this key says; raise InvalidRecord where no key of one is.

    Bytes after the fourth, and versions above 0, are for readers of the future and ignored, as in Kafka.
    """
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord(f"Invalid value size found for control record key: {key!r}")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"Invalid version found for control record: {version}")
    return _KNOWN_TYPES.get(number, ControlType.UNKNOWN)


def end_transaction_marker(record: Record) -> EndTransactionMarker | None:
    """Return what the record says of a transaction, None for a control record of another kind; raise InvalidRecord."""
    kind = control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise InvalidRecord(f"Invalid value size found for end transaction marker: {record.value!r}")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise InvalidRecord(f"Invalid version found for end transaction marker: {version}")
    return EndTransactionMarker(kind is ControlType.COMMIT, coordinator_epoch)


def build_end_transaction_batch(
    marker: EndTransactionMarker,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    offset: int = 0,
    leader_epoch: int = -1,
    *,
    is_append_time: bool = False,
) -> bytearray:
    """Return the batch of one record that ends the producer's transaction; `is_append_time` says that `timestamp` is
    the time of a broker whose topic asks for that."""
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    value = _MARKER.pack(_VERSION, marker.coordinator_epoch)
    fields = BatchFields(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
        log_append_time_ms=timestamp if is_append_time else None,
    )
    return build_batch([Record(offset, timestamp, control_key(kind), value)], fields)


def build_control_batch(
    notes: list[tuple[ControlType, bytes]], timestamp: int, offset: int = 0, leader_epoch: int = -1
) -> bytearray:
    """Return one control batch of (type, value) `notes`, for the kinds that KRaft keeps."""
    records = [Record(offset + i, timestamp, control_key(kind), value) for i, (kind, value) in enumerate(notes)]
    return build_batch(records, BatchFields(control=True, leader_epoch=leader_epoch))
