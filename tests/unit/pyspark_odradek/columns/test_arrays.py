"""Arrow arrays from values of Python."""

import subprocess
import sys

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.record import Headers
from pyspark_odradek.columns import arrays
from pyspark_odradek.schema import arrow_schema, headers_type
from tests.support.broker import REPOSITORY

TIMES = arrow_schema(include_headers=False).field("timestamp").type

_blobs = st.lists(st.none() | st.binary(max_size=20), max_size=20)
_names = st.text(max_size=5).map(str.encode)
_headers = st.lists(st.tuples(_names, st.none() | st.binary(max_size=5)), max_size=3).map(tuple)


@given(
    _blobs, st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20), st.text(max_size=9), st.integers(0, 99)
)
def test_arrays_are_those_of_pyarrow(blobs: list[bytes | None], longs: list[int | None], text: str, count: int) -> None:
    """Each way gives what `pyarrow.array` gives for the same values."""
    assert arrays.binary(blobs, pa.binary()) == pa.array(blobs, pa.binary())
    assert arrays.numbers(longs, pa.int64()) == pa.array(longs, pa.int64())
    assert arrays.numbers(longs, TIMES) == pa.array(longs, TIMES)
    assert arrays.numbers([count, None], pa.int32()) == pa.array([count, None], pa.int32())
    assert arrays.repeated_text(text, count) == pa.array([text] * count, pa.string())
    assert arrays.repeated_number(-count, count) == pa.array([-count] * count, pa.int32())


@given(st.lists(_headers, max_size=9))
def test_headers_are_lists_of_pairs(lists: list[Headers]) -> None:
    """Names are text, values bytes or null, and a record without any has null."""
    found = arrays.headers(lists)
    found.validate(full=True)
    wanted = [[{"key": name.decode(), "value": value} for name, value in each] or None for each in lists]
    assert found == pa.array(wanted, headers_type())


def test_reading_does_not_import_pandas() -> None:
    """Neither way of making columns does, which would double what a new worker has to load."""
    code = """
import sys
from odradek.protocol.records.batch import HEADER_SIZE, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.record import Record
from pyspark_odradek.columns import compiled, plain
from pyspark_odradek.columns.body import Body
from pyspark_odradek.offsets import OffsetRange, TopicPartition

batch = build_batch([Record(0, 1, b"k", b"v", ((b"h", None),))], BatchFields())
bodies = [Body(read_header(batch), memoryview(batch)[HEADER_SIZE:])]
wanted = OffsetRange(TopicPartition("t", 0), 0, 9)
assert plain.columns(wanted, bodies, True) == next(compiled.columns(wanted, bodies, True))
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
