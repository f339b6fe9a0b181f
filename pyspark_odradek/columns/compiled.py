"""Arrow columns with compiled loops: buffers are allocated once for all records, filled, and handed to Arrow.

Arrow's own memory pool gives the memory: it keeps what is given back, where the system would have to clear fresh pages
for every record batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odradek.protocol.records.errors import InvalidRecord
from pyspark_odradek.columns import kernels
from pyspark_odradek.columns.arrays import repeated_number, repeated_text, validity
from pyspark_odradek.offsets import OffsetRange
from pyspark_odradek.schema import CREATE_TIME, LOG_APPEND_TIME, MAX_TIME_MS, arrow_schema, headers_type

if TYPE_CHECKING:
    from pyspark_odradek.columns.body import Body

Array = npt.NDArray[Any]

MAX_ROWS: Final = 256 * 1024
"""Rows of one Arrow record batch: the topic is written out for each, and its name may be longer than the record."""

_SMALLEST_RECORD = 7
_SMALLEST_HEADER = 2


class _Fixed:
    """The buffers of a column of numbers: the numbers, and which of them are not null."""

    def __init__(self, values: int, kind: pa.DataType, number: type[np.generic]) -> None:
        self._kind = kind
        self._buffer, self.data = _allocate(values, number)
        self.flags = _allocate(values, np.uint8)[1]

    def array(self, count: int, all_set: bool = False) -> pa.Array:
        """Return the first `count` values as an Arrow array."""
        return pa.Array.from_buffers(
            self._kind, count, [None if all_set else validity(self.flags[:count]), self._buffer]
        )


class _Binary:
    """The buffers of a binary column: where each value ends, which values are not null, and the bytes."""

    def __init__(self, values: int, size: int) -> None:
        self._end_buffer, self.ends = _allocate(values + 1, np.int32)
        self.ends[0] = 0
        self.flags = _allocate(values, np.uint8)[1]
        self._data_buffer, self.data = _allocate(size, np.uint8)

    def array(self, count: int, all_set: bool = False) -> pa.Array:
        """Return the first `count` values as an Arrow array."""
        bitmap = None if all_set else validity(self.flags[:count])
        return pa.Array.from_buffers(pa.binary(), count, [bitmap, self._end_buffer, self._data_buffer])


def columns(wanted: OffsetRange, bodies: Sequence[Body], include_headers: bool) -> Iterator[pa.RecordBatch]:
    """Yield the wanted records as Arrow record batches of at most `MAX_ROWS` rows; see `building.build`."""
    capacity = sum(_room(body) for body in bodies)
    size = sum(len(body.records) for body in bodies)
    keys, values = _Binary(capacity, size), _Binary(capacity, size)
    offsets = _Fixed(capacity, pa.int64(), np.int64)
    times = _Fixed(capacity, pa.timestamp("us", tz="UTC"), np.int64)
    kinds = _Fixed(capacity, pa.int32(), np.int32)
    rows = 0
    for header, records in bodies:
        before = rows
        append_time = header.is_log_append_time
        rows = kernels.decode_records(
            _bytes(records),
            header.records_count,
            header.base_offset,
            header.max_timestamp if append_time else header.base_timestamp,
            0 if append_time else 1,
            MAX_TIME_MS,
            wanted.first,
            wanted.until,
            rows,
            offsets.data,
            times.data,
            times.flags,
            keys.ends,
            keys.flags,
            keys.data,
            values.ends,
            values.flags,
            values.data,
        )
        if rows < 0:
            raise InvalidRecord(
                f"The batch at offset {header.base_offset} does not consist of {header.records_count} records"
            )
        kinds.data[before:rows] = LOG_APPEND_TIME if append_time else CREATE_TIME
    before_names = [keys.array(rows), values.array(rows)]
    after_names = [offsets.array(rows, all_set=True), times.array(rows), kinds.array(rows, all_set=True)]
    if include_headers:
        after_names.append(_headers(wanted, bodies, rows))
    topic, partition = wanted.partition
    schema = arrow_schema(include_headers)
    for start in range(0, max(rows, 1), MAX_ROWS):
        count = min(rows - start, MAX_ROWS)
        names = [repeated_text(topic, count), repeated_number(partition, count)]
        arrays = [each.slice(start, count) for each in before_names]
        yield pa.record_batch([*arrays, *names, *(each.slice(start, count) for each in after_names)], schema)


def _room(body: Body) -> int:
    """Return how many rows a batch can give at most, whatever its header says."""
    return min(max(body.header.records_count, 0), len(body.records) // _SMALLEST_RECORD)


def _headers(wanted: OffsetRange, bodies: Sequence[Body], rows: int) -> pa.Array:
    size = sum(len(body.records) for body in bodies)
    list_ends, list_flags = np.zeros(rows + 1, np.int32), np.empty(rows, np.uint8)
    names, values = _Binary(size // _SMALLEST_HEADER, size), _Binary(size // _SMALLEST_HEADER, size)
    done = 0
    for header, records in bodies:
        done = kernels.decode_headers(
            _bytes(records),
            header.records_count,
            header.base_offset,
            wanted.first,
            wanted.until,
            done,
            list_ends,
            list_flags,
            names.ends,
            names.data,
            values.ends,
            values.flags,
            values.data,
        )
    entries = int(list_ends[rows])
    kind = headers_type()
    pairs = pa.StructArray.from_arrays(
        [_text(names.array(entries, all_set=True)), values.array(entries)], fields=list(kind.value_type)
    )
    return pa.Array.from_buffers(kind, rows, [validity(list_flags), pa.py_buffer(list_ends)], children=[pairs])


def _text(names: pa.Array) -> pa.Array:
    """Return bytes as text; what is no UTF-8 becomes a replacement character, as in Kafka's Java client."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode(errors="replace") for name in names.to_pylist()], pa.string())


def _bytes(records: Any) -> Array:
    """Return the bytes as an array that is not to be written to: for others the loops would be compiled once more."""
    found = np.frombuffer(records, np.uint8)
    found.flags.writeable = False
    return found


def _allocate(count: int, kind: type[np.generic]) -> tuple[pa.Buffer, Array]:
    """Return memory for that many numbers, as Arrow and as numpy see it."""
    buffer = pa.allocate_buffer(count * np.dtype(kind).itemsize)
    return buffer, np.frombuffer(buffer, kind)
