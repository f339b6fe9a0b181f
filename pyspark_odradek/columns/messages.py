"""Arrow columns from the messages of confluent-kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from odradek.protocol.records.batch import NO_TIMESTAMP
from odradek.protocol.records.record import Record
from pyspark_odradek.columns.plain import Row, from_rows
from pyspark_odradek.offsets import OffsetRange
from pyspark_odradek.schema import CREATE_TIME, LOG_APPEND_TIME, NO_TIME

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_KINDS = {TIMESTAMP_CREATE_TIME: CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME: LOG_APPEND_TIME}


def from_messages(wanted: OffsetRange, messages: Sequence[Message], include_headers: bool) -> pa.RecordBatch:
    """Return messages of one partition as an Arrow record batch."""
    return from_rows(wanted, [_row(message) for message in messages], include_headers)


def _row(message: Message) -> Row:
    kind, time_ms = message.timestamp()
    pairs: Any = message.headers() or ()  # a list of pairs, whatever the types say
    headers = tuple((name.encode(), _bytes(value)) for name, value in pairs)
    record = Record(
        message.offset() or 0,
        time_ms if kind in _KINDS else NO_TIMESTAMP,
        _bytes(message.key()),
        _bytes(message.value()),
        headers,
    )
    return Row(record, _KINDS.get(kind, NO_TIME))


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
