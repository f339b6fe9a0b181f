"""From rows and Arrow record batches to records: both ways give the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_odradek.errors import SourceError
from pyspark_odradek.schema import headers_type
from pyspark_odradek.writing.columns import ANY_PARTITION, NOW, from_arrow, from_rows
from pyspark_odradek.writing.options import WriteOptions

COLUMNS = ("key", "offset", "value", "topic", "partition", "timestamp", "headers")
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("offset", pa.int64()),
        ("value", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("headers", headers_type()),
    ]
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
HEADERS = st.lists(st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}))
ROWS = st.tuples(
    st.none() | st.binary(max_size=5),
    st.integers(0, 9),
    st.none() | st.text(max_size=5),
    st.text("abc", min_size=1, max_size=5),
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | TIMES,
    st.none() | HEADERS,
)


def _options(topic: str | None = None, columns: tuple[str, ...] = COLUMNS, in_seconds: bool = False) -> WriteOptions:
    return WriteOptions({}, topic, in_seconds, columns)


def test_many_rows_are_taken_in_parts() -> None:
    """However many rows there are, only some are held at a time, and all come, in their order."""
    taken = 0

    def rows() -> Iterator[tuple[str]]:
        nonlocal taken
        for taken in range(1, 2501):
            yield (str(taken),)

    records = from_rows(rows(), _options("t", ("value",)))
    assert next(records)[1] == "1"
    assert taken <= 1000
    assert [value for _, value, *_ in records] == [str(number) for number in range(2, 2501)]


@given(st.lists(ROWS, max_size=5), st.none() | st.just("given"))
def test_rows_and_record_batches_give_the_same_records(rows: list[tuple[Any, ...]], topic: str | None) -> None:
    """Every field reaches its place, the option `topic` wins, and what is null is left to the producer."""
    arrays = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(SCHEMA)]
    found = list(from_arrow(pa.record_batch(arrays, SCHEMA), _options(topic)))
    assert found == [
        (
            topic or row[3],
            row[2],
            row[0],
            ANY_PARTITION if row[4] is None else row[4],
            NOW if row[5] is None else (row[5] - EPOCH) // timedelta(milliseconds=1),
            None if row[6] is None else [(header["key"], header["value"]) for header in row[6]],
        )
        for row in rows
    ]
    assert (
        list(from_rows([(bytearray(row[0] or b"") if row[0] else row[0], *row[1:]) for row in rows], _options(topic)))
        == found
    )


def test_columns_may_be_left_out() -> None:
    """With a value alone there is neither key nor header, and the producer chooses partition and time."""
    batch = pa.record_batch([pa.array([b"v", None], pa.binary())], ["value"])
    wanted = [("t", value, None, ANY_PARTITION, NOW, None) for value in (b"v", None)]
    assert list(from_arrow(batch, _options("t", ("value",)))) == wanted


def test_seconds_are_taken_as_times() -> None:
    """A column timestamp of type double is in seconds; times before 1970 cannot be written and are left out."""
    batch = pa.record_batch([pa.array(["v", "v"]), pa.array([1.5, -1.0])], ["value", "timestamp"])
    assert [
        timestamp for _, _, _, _, timestamp, _ in from_arrow(batch, _options("t", ("value", "timestamp"), True))
    ] == [1500, NOW]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topic": None}, "a row has no topic"),
        ({"topic": ""}, "a row has no topic"),
        ({"partition": -1}, "a row has the partition -1"),
        ({"headers": [{"key": None, "value": b""}]}, "a header without a name"),
        ({"headers": [None]}, "a header without a name"),
    ],
)
def test_rows_that_cannot_be_written_are_told(changes: dict[str, Any], sentence: str) -> None:
    """A record has a topic, a partition that can be, and names for its headers."""
    row: dict[str, Any] = {"value": "v", "topic": "t", "partition": None, "headers": None, **changes}
    with pytest.raises(SourceError, match=sentence):
        list(from_rows([tuple(row.values())], _options(columns=tuple(row))))
