"""Arrow columns with compiled loops: buffers are allocated once for all records, filled, and handed to Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from protocol.records.errors import InvalidRecord
from pyspark_odradek.columns import kernels
from pyspark_odradek.schema import arrow_schema, headers_type

if TYPE_CHECKING:
    from pyspark_odradek.columns.building import Body, Wanted

_NO_APPEND_TIME = -1
Array = npt.NDArray[Any]


class _Binary:
    """The buffers of a binary column: where each value ends, which values are not null, and the bytes."""

    def __init__(self, values: int, size: int) -> None:
        self.ends = np.empty(values + 1, np.int32)
        self.ends[0] = 0
        self.flags = np.empty(values, np.uint8)
        self.data = np.empty(size, np.uint8)

    def array(self, count: int, kind: pa.DataType) -> pa.Array:
        """Return the first `count` values as an Arrow array of that type."""
        buffers = [_validity(self.flags[:count]), pa.py_buffer(self.ends[: count + 1])]
        return pa.Array.from_buffers(kind, count, [*buffers, pa.py_buffer(self.data[: self.ends[count]])])


def columns(wanted: Wanted, bodies: Sequence[Body], include_headers: bool) -> pa.RecordBatch:
    """Return the wanted records as an Arrow record batch; see `building.build`."""
    capacity = sum(_room(body) for body in bodies)
    size = sum(len(body.records) for body in bodies)
    keys, values = _Binary(capacity, size), _Binary(capacity, size)
    offsets, times, kinds = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int32)
    rows = 0
    for header, records in bodies:
        before = rows
        rows = kernels.decode_records(
            np.frombuffer(records, np.uint8),
            header.records_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else _NO_APPEND_TIME,
            wanted.first,
            wanted.until,
            rows,
            offsets,
            times,
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
        kinds[before:rows] = header.is_log_append_time
    arrays = [
        keys.array(rows, pa.binary()),
        values.array(rows, pa.binary()),
        pa.repeat(pa.scalar(wanted.topic, pa.string()), rows),
        pa.array(np.full(rows, wanted.partition, np.int32)),
        pa.array(offsets[:rows]),
        pa.array(times[:rows]).cast(pa.timestamp("us", tz="UTC")),
        pa.array(kinds[:rows]),
    ]
    if include_headers:
        arrays.append(_headers(wanted, bodies, rows))
    return pa.record_batch(arrays, arrow_schema(include_headers))


def _room(body: Body) -> int:
    """Return how many rows a batch can give at most: the shortest record takes six bytes, whatever the header says."""
    return min(max(body.header.records_count, 0), len(body.records) // 6)


def _headers(wanted: Wanted, bodies: Sequence[Body], rows: int) -> pa.Array:
    size = sum(len(body.records) for body in bodies)
    list_ends, list_flags = np.zeros(rows + 1, np.int32), np.empty(rows, np.uint8)
    names, values = _Binary(size // 2, size), _Binary(size // 2, size)
    names.flags[:] = 1
    done = 0
    for header, records in bodies:
        done = kernels.decode_headers(
            np.frombuffer(records, np.uint8),
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
        if done < 0:
            raise InvalidRecord(f"The batch at offset {header.base_offset} has headers that do not fit their records")
    entries = int(list_ends[rows])
    kind = headers_type()
    pairs = pa.StructArray.from_arrays(
        [names.array(entries, pa.binary()).cast(pa.string()), values.array(entries, pa.binary())],
        fields=list(kind.value_type),
    )
    return pa.Array.from_buffers(kind, rows, [_validity(list_flags), pa.py_buffer(list_ends)], children=[pairs])


def _validity(flags: Array) -> pa.Buffer | None:
    """Return Arrow's bitmap of the values that are not null, None where all are."""
    if flags.all():
        return None
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
