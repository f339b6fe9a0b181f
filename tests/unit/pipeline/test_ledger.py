"""The ledger of an archive: every record exactly once, wherever a run is cut short and wherever the next begins."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.archive import unseen
from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.ledger import HIDDEN, KEPT_COMMITS, Ledger
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition
from tests.unit.pipeline.memory_store import Crash, MemoryStore

ENDS: Offsets = {TopicPartition("a", 0): 7, TopicPartition("a", 1): 4, TopicPartition("b", 0): 5}
START: Offsets = dict.fromkeys(ENDS, 0)


@dataclass
class Cluster:
    """What outlives a run: the archive's files, Spark's checkpoint, and offsets in Redis."""

    contents: dict[str, bytes] = field(default_factory=dict)
    planned: list[Batch] = field(default_factory=list)
    done: int = 0
    redis: Offsets = field(default_factory=dict)


def _run(cluster: Cluster, run: str, step: int, crash_at: int | None, with_checkpoint: bool, with_redis: bool) -> None:
    """Archive everything, as the runner does, unless the crash comes first."""
    store = MemoryStore(cluster.contents, crash_at)
    ledger = Ledger(store, "archive", "app", run)
    ledger.open()
    if not with_checkpoint:
        cluster.planned, cluster.done = [], 0
    reached = dict(START)
    if cluster.done:
        reached = cluster.planned[cluster.done - 1].end
    elif not with_checkpoint:
        known = cluster.redis if with_redis else {}
        reached = {name: max(known.get(name, 0), ledger.until.get(name, 0)) for name in ENDS}
    while reached != ENDS or cluster.done < len(cluster.planned):
        if cluster.done == len(cluster.planned):
            end = {name: min(reached[name] + step, ENDS[name]) for name in ENDS}
            cluster.planned.append(Batch(cluster.done, reached, end))
        batch = cluster.planned[cluster.done]
        if ranges := unseen(batch.ranges, ledger.until):
            _write(store, ledger.staging(), ranges)
            ledger.commit(batch)
        if with_redis:
            cluster.redis = batch.end
        cluster.done += 1
        reached = batch.end


def _write(store: MemoryStore, staging: str, ranges: list[OffsetRange]) -> None:
    """Write as Spark does: a file for each task, and partly where the run is cut short."""
    for number, ((topic, partition), first, until) in enumerate(ranges):
        records = json.dumps([[topic, partition, offset] for offset in range(first, until)])
        name = f"{staging}/topic={topic}/part-{number:05d}-1f.c000.zstd.parquet"
        assert store.create(name, records.encode())
    assert store.create(f"{staging}/_SUCCESS", b"")


def _visible(cluster: Cluster) -> list[list[object]]:
    names = [name for name in cluster.contents if name.endswith(".parquet") and f"/{HIDDEN}/" not in name]
    return sorted(record for name in names for record in json.loads(cluster.contents[name]))


EVERYTHING = sorted([topic, partition, offset] for (topic, partition), end in ENDS.items() for offset in range(end))


@given(
    crashes=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), max_size=5),
    last_step=st.integers(1, 8),
    modes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=6, max_size=6),
)
def test_each_record_is_there_once_wherever_runs_are_cut_short(
    crashes: list[tuple[int, int]], last_step: int, modes: list[tuple[bool, bool]]
) -> None:
    """After runs that were killed, each with its checkpoint or without, the archive has every record exactly once."""
    cluster = Cluster()
    for number, ((crash_at, step), (with_checkpoint, with_redis)) in enumerate(zip(crashes, modes, strict=False)):
        try:
            _run(cluster, f"run-{number}", step, crash_at, with_checkpoint, with_redis)
        except Crash:
            seen = _visible(cluster)
            assert len(seen) == len({tuple(record) for record in seen}), "doubles are there for readers meanwhile"
    _run(cluster, "last", last_step, None, *modes[-1])
    assert _visible(cluster) == EVERYTHING


@pytest.mark.parametrize("taken_over_first", [True, False], ids=["the new one commits first", "the old one does"])
def test_two_runs_of_one_name_do_not_both_commit(taken_over_first: bool) -> None:
    """Of two runs at once one is refused at its commit; neither touches what the other is writing."""
    store = MemoryStore()
    old, new = Ledger(store, "archive", "app", "old"), Ledger(store, "archive", "app", "new")
    batch = Batch(0, dict(START), dict(ENDS))
    old.open()
    _write(store, old.staging(), batch.ranges)
    new.open()
    _write(store, new.staging(), batch.ranges)
    first, second = (new, old) if taken_over_first else (old, new)
    first.commit(batch)
    with pytest.raises(PipelineError, match="another run archives to archive under the same name"):
        second.commit(batch)
    assert _visible(Cluster(store.contents)) == EVERYTHING


def test_names_tell_application_batch_and_compression() -> None:
    """Files are named so that two applications in one archive do not meet, and sort by batch."""
    store = MemoryStore()
    ledger = Ledger(store, "archive/", "app", "run")
    ledger.open()
    batch = Batch(0, dict(START), {TopicPartition("a", 0): 1})
    _write(store, ledger.staging(), batch.ranges)
    assert ledger.commit(batch) == 1
    assert "archive/topic=a/app-0000000000-00000.zstd.parquet" in store.contents


def test_old_commits_are_removed() -> None:
    """Only so many commits are kept; the last one has all that is needed."""
    store = MemoryStore()
    ledger = Ledger(store, "archive", "app", "run")
    ledger.open()
    partition = TopicPartition("a", 0)
    for number in range(KEPT_COMMITS + 5):
        ledger.commit(Batch(number, {partition: number}, {partition: number + 1}))
    assert len(store.files(f"archive/{HIDDEN}/app/commits")) == KEPT_COMMITS
    again = Ledger(store, "archive", "app", "run")
    again.open()
    assert again.until == {partition: KEPT_COMMITS + 5}


def test_a_damaged_commit_is_named() -> None:
    """A commit that cannot be read ends the run with its path, instead of archiving everything again."""
    path = f"archive/{HIDDEN}/app/commits/{3:020d}.json"
    with pytest.raises(PipelineError, match=f"{path} is damaged"):
        Ledger(MemoryStore({path: b"{"}), "archive", "app", "run").open()
