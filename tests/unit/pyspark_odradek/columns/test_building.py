"""The compiled loops and the plain way give the same columns, and refuse the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import HEADER_SIZE, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.legacy_building import build_message
from odradek.protocol.records.record import Record
from pyspark_odradek.columns import building, compiled, plain
from pyspark_odradek.columns.body import Body
from pyspark_odradek.columns.building import build
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from pyspark_odradek.schema import CREATE_TIME, LOG_APPEND_TIME, NO_TIME
from tests.support.broker import REPOSITORY

ALL = OffsetRange(TopicPartition("topic", 3), 0, 2**62)

_optional_bytes = st.none() | st.binary(max_size=300)
_headers = st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=9)), max_size=3).map(tuple)
_records = st.lists(
    st.builds(
        Record,
        offset=st.integers(0, 40),
        timestamp=st.integers(-(2**62), 2**62) | st.integers(0, 2**41),
        key=_optional_bytes,
        value=_optional_bytes,
        headers=_headers,
    ),
    max_size=12,
    unique_by=lambda record: record.offset,
).map(sorted)
_ranges = st.tuples(st.integers(0, 40), st.integers(0, 41)).map(
    lambda bounds: ALL._replace(first=bounds[0], until=bounds[1])
)


def body_of(batch: bytes) -> Body:
    """Return an uncompressed batch as it is decoded."""
    return Body(read_header(batch), memoryview(batch)[HEADER_SIZE:])


def both(wanted: OffsetRange, bodies: list[Body]) -> tuple[object, object]:
    """Return what the two ways make of the batches: columns, or that they are malformed."""
    results: list[object] = []
    for way in (compiled, plain):
        try:
            found = way.columns(wanted, bodies, include_headers=True)
            results.append(found if isinstance(found, pa.RecordBatch) else next(found))
        except KafkaError as refused:
            results.append(type(refused))
    return results[0], results[1]


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(_records, st.none() | st.integers(-1, 2**41)), max_size=3), _ranges | st.just(ALL))
def test_both_ways_give_the_same_columns(batches: list[tuple[list[Record], int | None]], wanted: OffsetRange) -> None:
    """Whatever records there are and whichever offsets are wanted, the loops read what the plain way reads."""
    bodies = [
        body_of(bytes(build_batch(records, BatchFields(base_offset=0, last_offset=50, log_append_time_ms=time))))
        for records, time in batches
    ]
    ours, plainly = both(wanted, bodies)
    assert isinstance(ours, pa.RecordBatch)
    assert isinstance(plainly, pa.RecordBatch)
    ours.validate(full=True)
    assert ours.equals(plainly)


@settings(deadline=None)  # the first call compiles
@given(_records, st.data())
def test_hostile_bytes_are_refused_alike(records: list[Record], data: st.DataObject) -> None:
    """Bytes changed at will are refused or read by both ways alike, never beyond their end."""
    batch = build_batch(records, BatchFields(base_offset=0, last_offset=50))
    body = bytearray(batch[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(0, 4))):
        if body:
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    header = read_header(batch)._replace(
        records_count=data.draw(st.just(len(records)) | st.integers(-1, 20) | st.just(2**31 - 1)),
        base_offset=data.draw(st.sampled_from([0, 2**63 - 1, -(2**63)])),
        base_timestamp=data.draw(st.sampled_from([0, 2**63 - 1, -(2**63)])),
    )
    ours, plainly = both(ALL, [Body(header, bytes(body[: data.draw(st.sampled_from([cut, len(body)]))]))])
    assert ours == plainly


@settings(deadline=None)  # the first call compiles
@given(st.binary(max_size=200), st.integers(-1, 40))
def test_noise_is_refused_alike(noise: bytes, count: int) -> None:
    """Bytes that were never records are refused or read by both ways alike."""
    header = read_header(build_batch([Record(0, 0)]))._replace(records_count=count)
    ours, plainly = both(ALL, [Body(header, noise)])
    assert ours == plainly


def test_much_is_compiled_and_little_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few records are read without loading compiled code; many are read by it."""
    calls: list[str] = []

    def compile_columns(*_: object) -> Iterator[None]:
        calls.append("compiled")
        yield None

    monkeypatch.setattr(compiled, "columns", compile_columns)
    monkeypatch.setattr(plain, "columns", lambda *_: calls.append("plain"))
    for value in (b"x", b"x" * building.LITTLE_BYTES):
        assert len(list(build(ALL, [body_of(bytes(build_batch([Record(0, 0, None, value)])))], False))) == 1
    assert calls == ["plain", "compiled"]


def test_a_few_records_do_not_wait_for_the_compiler() -> None:
    """Loading what compiled loops need takes longer than reading a few records."""
    program = (
        "import sys; from odradek.protocol.records.batch import HEADER_SIZE, read_header;"
        "from odradek.protocol.records.building import build_batch; from odradek.protocol.records.record import Record;"
        "from pyspark_odradek.columns.body import Body;from pyspark_odradek.columns.building import build;"
        "from pyspark_odradek.offsets import OffsetRange, TopicPartition;"
        "batch = build_batch([Record(0, 0, None, b'v')]);"
        "wanted = OffsetRange(TopicPartition('t', 0), 0, 1);"
        "(rows,) = build(wanted, [Body(read_header(batch), batch[HEADER_SIZE:])], True);"
        "assert rows.num_rows == 1; assert 'numba' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    assert subprocess.run([sys.executable, "-c", program], check=False, env=environment).returncode == 0


@pytest.mark.parametrize(
    ("batch", "kind", "time"),
    [
        (build_batch([Record(0, 7, None, b"v")]), CREATE_TIME, 7000),
        (build_batch([Record(0, 7, None, b"v")], BatchFields(log_append_time_ms=9)), LOG_APPEND_TIME, 9000),
        (build_message(Record(0, 7, None, b"v"), 1), CREATE_TIME, 7000),
        (build_message(Record(0, -1, None, b"v"), 0), NO_TIME, -1000),
    ],
    ids=["create", "append", "v1", "v0"],
)
def test_kinds_of_time(batch: bytearray, kind: int, time: int) -> None:
    """The column timestampType has the numbers of Kafka's Java client, and tells old messages without a time."""
    from odradek.protocol.records.batch import iter_batches

    ((_, header),) = iter_batches(batch)
    body = Body(header, batch[HEADER_SIZE:] if header.magic == 2 else batch)
    (row,) = build(ALL, [body], include_headers=True)
    assert row["timestampType"].to_pylist() == [kind]
    assert row["timestamp"].cast(pa.int64()).to_pylist() == [time]
    assert row["headers"].to_pylist() == [None]


def test_very_many_rows_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the topic, which every row has, is written out for a bounded number of rows at a time."""
    monkeypatch.setattr(compiled, "MAX_ROWS", 4)
    headers = ((b"h", b"v"),)
    records = [Record(n, n, b"k%d" % n, None if n % 3 == 0 else b"v" * n, headers * (n % 2)) for n in range(10)]
    body = body_of(bytes(build_batch(records, BatchFields(base_offset=0, last_offset=9))))
    parts = list(compiled.columns(ALL, [body], include_headers=True))
    assert [part.num_rows for part in parts] == [4, 4, 2]
    assert pa.Table.from_batches(parts).to_pylist() == plain.columns(ALL, [body], include_headers=True).to_pylist()
