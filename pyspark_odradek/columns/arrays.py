"""Arrow arrays from values of Python, made from buffers.

`pyarrow.array` and `pyarrow.scalar` would import pandas, where it is there, to see whether they are given something of
it: as much work for each new worker as everything else that reading a few records needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyspark_odradek.schema import headers_type


def validity(flags: npt.NDArray[np.uint8]) -> pa.Buffer | None:
    """Return Arrow's bitmap of the values that are not null, None where all are."""
    if flags.all():
        return None
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def numbers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Return numbers, or times, of the width of a type."""
    width: type[np.generic] = np.int32 if kind.bit_width == 32 else np.int64
    data = np.fromiter((value or 0 for value in values), width, len(values))
    return pa.Array.from_buffers(kind, len(values), [_validity_of(values), pa.py_buffer(data)])


def repeated_number(value: int, count: int) -> pa.Array:
    """Return an int32 so many times."""
    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(np.full(count, value, np.int32))])


def binary(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return bytes, or text as its bytes in UTF-8, all of it below 2 GiB."""
    ends = np.fromiter(accumulate((len(value or b"") for value in values), initial=0), np.int32, len(values) + 1)
    data = b"".join(value or b"" for value in values)
    return pa.Array.from_buffers(kind, len(values), [_validity_of(values), pa.py_buffer(ends), pa.py_buffer(data)])


def repeated_text(text: str, count: int) -> pa.Array:
    """Return a text so many times."""
    data = text.encode()
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(data))
    all_of = np.tile(np.frombuffer(data, np.uint8), count)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(all_of)])


def headers(lists: Sequence[Sequence[tuple[bytes, bytes | None]]]) -> pa.Array:
    """Return the headers of records, names in UTF-8; null where there are none, as Spark's own source has it."""
    pairs = [pair for each in lists for pair in each]
    kind = headers_type()
    names = binary([name.decode(errors="replace").encode() for name, _ in pairs], pa.string())
    values = binary([value for _, value in pairs], pa.binary())
    structs = pa.StructArray.from_arrays([names, values], fields=list(kind.value_type))
    ends = np.fromiter(accumulate((len(each) for each in lists), initial=0), np.int32, len(lists) + 1)
    flags = np.fromiter((bool(each) for each in lists), np.uint8, len(lists))
    return pa.Array.from_buffers(kind, len(lists), [validity(flags), pa.py_buffer(ends)], children=[structs])


def _validity_of(values: Sequence[object]) -> pa.Buffer | None:
    return validity(np.fromiter((value is not None for value in values), np.uint8, len(values)))
