"""Copying a partition in transactions: every row once, whatever is killed and done again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_odradek.errors import OptionError, SourceError
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from pyspark_odradek.writing.columns import ANY_PARTITION, NOW, Outgoing
from pyspark_odradek.writing.options import transactional_settings
from pyspark_odradek.writing.transactions import (
    COMMIT_EVERY_S,
    SOURCE_OFFSET,
    SOURCE_PARTITION,
    SOURCE_TOPIC,
    Identity,
    copy,
    finish,
)

PARTITION = TopicPartition("a", 1)
Row = tuple[int, bytes]


class _KilledError(Exception):
    """The process is gone."""


@dataclass
class _Cluster:
    """What is committed, and when the next process is killed."""

    records: list[bytes] = field(default_factory=list)
    offset: int | None = None
    commits: int = 0
    kill_in: int = 1 << 30

    def step(self) -> None:
        self.kill_in -= 1
        if self.kill_in == 0:
            raise _KilledError


class _Transactions:
    def __init__(self, cluster: _Cluster) -> None:
        self._cluster = cluster
        self._sent: list[bytes] = []

    def open(self) -> int | None:
        self._cluster.step()
        return self._cluster.offset

    def send(self, records: Iterable[Outgoing]) -> int:
        self._cluster.step()
        sent = [value for _, value, *_ in records if isinstance(value, bytes)]
        self._sent += sent
        return len(sent)

    def commit(self, until: int) -> None:
        self._cluster.step()
        assert until > (self._cluster.offset or 0), "an offset that does not move on"
        self._cluster.records += self._sent
        self._cluster.offset = until
        self._cluster.commits += 1
        self._sent = []
        self._cluster.step()


def _batch(rows: list[Row], partition: TopicPartition = PARTITION) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "value": pa.array([value for _, value in rows], pa.binary()),
            SOURCE_TOPIC: pa.array([partition.topic] * len(rows), pa.string()),
            SOURCE_PARTITION: pa.array([partition.partition] * len(rows), pa.int32()),
            SOURCE_OFFSET: pa.array([offset for offset, _ in rows], pa.int64()),
        }
    )


def _outgoing(rows: pa.RecordBatch) -> Iterator[Outgoing]:
    for value in rows.column("value").to_pylist():
        yield ("to", value, None, ANY_PARTITION, NOW, None)


def _run(cluster: _Cluster, batches: Iterable[pa.RecordBatch], wanted: OffsetRange) -> None:
    """Do what task and driver do with a micro-batch, where all goes well."""
    held = copy(batches, wanted, _Transactions(cluster), _outgoing, iter(range(0, 10_000, 2)).__next__)
    finish(wanted, held, _Transactions(cluster), _outgoing)


@given(
    per_offset=st.lists(st.integers(0, 3), min_size=1, max_size=30),
    cuts=st.sets(st.integers(0, 90)),
    kills=st.lists(st.integers(1, 25), max_size=6),
    ends=st.lists(st.integers(1, 30), max_size=6),
)
def test_every_row_once(per_offset: list[int], cuts: set[int], kills: list[int], ends: list[int]) -> None:
    """After any number of kills, with micro-batches that end anywhere and begin at what the group had, each row is
    committed once, in order; and the group is at the end.
    """
    rows = [(offset, b"%d-%d" % (offset, each)) for offset, count in enumerate(per_offset) for each in range(count)]
    cluster, moves = _Cluster(), iter([*zip(kills, ends, strict=False), (1 << 30, len(per_offset))])
    while cluster.offset != len(per_offset):
        cluster.kill_in, end = next(moves)
        first = cluster.offset or 0
        wanted = OffsetRange(PARTITION, first, max(min(end, len(per_offset)), first))
        mine = [row for row in rows if wanted.first <= row[0] < wanted.until]
        edges = [0, *sorted(cut for cut in cuts if cut < len(mine)), len(mine)]
        batches = [_batch(mine[start:stop]) for start, stop in pairwise(edges)]
        try:
            _run(cluster, batches, wanted)
        except _KilledError:
            continue
    assert cluster.records == [value for _, value in rows]


def test_a_stream_that_ends_too_early_loses_nothing() -> None:
    """Of the rows that came those of the last offset wait for the driver, which knows whether there are more."""
    cluster, wanted = _Cluster(), OffsetRange(PARTITION, 0, 10)
    copy([_batch([(0, b"0"), (1, b"1"), (1, b"1+")])], wanted, _Transactions(cluster), _outgoing)
    assert (cluster.records, cluster.offset) == ([b"0"], 1)


def test_a_batch_that_another_run_has_written_is_left_out() -> None:
    """Rows before the group's offset are written already, and the offset is not put back."""
    cluster = _Cluster(offset=3)
    _run(cluster, [_batch([(0, b"0"), (1, b"1")])], OffsetRange(PARTITION, 0, 2))
    assert (cluster.records, cluster.offset, cluster.commits) == ([], 3, 0)
    _run(cluster, [_batch([(2, b"2"), (3, b"3"), (4, b"4")])], OffsetRange(PARTITION, 2, 5))
    assert (cluster.records, cluster.offset) == ([b"3", b"4"], 5)


def test_offsets_move_on_where_no_row_is_left() -> None:
    """A range of which every record was filtered out counts as written."""
    cluster = _Cluster()
    _run(cluster, [], OffsetRange(PARTITION, 5, 9))
    assert (cluster.offset, cluster.commits) == (9, 1)


def test_transactions_are_short() -> None:
    """While rows come, what was written is committed every few seconds."""
    cluster, ticks = _Cluster(), iter([0.0, 1.0, COMMIT_EVERY_S + 1, COMMIT_EVERY_S + 1, *[COMMIT_EVERY_S + 2] * 9])
    batches = [_batch([(offset, b"%d" % offset)]) for offset in range(5)]
    copy(batches, OffsetRange(PARTITION, 0, 5), _Transactions(cluster), _outgoing, ticks.__next__)
    assert (cluster.offset, cluster.commits) == (4, 2)


def test_a_group_that_was_put_back_is_told() -> None:
    """Where the checkpoint is ahead of the group rows would be missing: that ends the run."""
    with pytest.raises(SourceError, match="at offset 3 of partition a-1, but offsets before 5"):
        _run(_Cluster(offset=3), [], OffsetRange(PARTITION, 5, 9))


@pytest.mark.parametrize(
    "batches",
    [
        [_batch([(0, b"")], TopicPartition("a", 2))],
        [_batch([(0, b"")], TopicPartition("b", 1))],
        [_batch([(1, b""), (0, b"")])],
        [_batch([(3, b"")]), _batch([(2, b"")])],
        [_batch([(9, b"")])],
    ],
)
def test_rows_that_are_not_in_order_are_refused(batches: list[pa.RecordBatch]) -> None:
    """Rows of another partition, out of order or beyond the range would break the count, and end the task."""
    with pytest.raises(SourceError, match="do not come as they lie in partition a-1"):
        _run(_Cluster(), batches, OffsetRange(PARTITION, 0, 9))


def test_ids_of_partitions() -> None:
    """No two partitions, nor two relays, have the same id."""
    found = {Identity(name, "g").of(TopicPartition(*of)) for name in ("x", "x/a") for of in (("a", 1), ("a-1", 1))}
    assert found == {"x/a/1", "x/a-1/1", "x/a/a/1", "x/a/a-1/1"}


def test_settings_of_transactions() -> None:
    """Records have as long as a transaction, and what rules out idempotence is refused."""
    settings = {"bootstrap.servers": "localhost:1"}
    assert transactional_settings(settings)["delivery.timeout.ms"] == "60000"
    longer = transactional_settings(settings | {"transaction.timeout.ms": "90000"})
    assert longer["delivery.timeout.ms"] == longer["transaction.timeout.ms"] == "90000"
    assert transactional_settings(settings | {"delivery.timeout.ms": "7000"})["delivery.timeout.ms"] == "7000"
    with pytest.raises(OptionError, match="idempotent"):
        transactional_settings(settings | {"acks": "1"})
