"""The ledger of an archive: every record exactly once, wherever a run is cut short and wherever the next begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Semaphore, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.archive import unseen
from odradek.pipeline.batches import Batch
from odradek.pipeline.data_files import DataFile
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.ledger import HIDDEN, KEPT_COMMITS, Ledger
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition
from tests.unit.pipeline.memory_store import Crash, MemoryStore, nothing

ENDS: Offsets = {TopicPartition("a", 0): 7, TopicPartition("a", 1): 4, TopicPartition("b", 0): 5}
START: Offsets = dict.fromkeys(ENDS, 0)
MORE_THAN_KEPT = KEPT_COMMITS + 10
LONG: Offsets = {TopicPartition("a", 0): MORE_THAN_KEPT + 3, TopicPartition("a", 1): 4}
ANOTHER_RUN = "another run archives to archive"


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
        _keep(store, ledger, batch)
        if with_redis:
            cluster.redis = batch.end
        cluster.done += 1
        reached = batch.end


def _keep(store: MemoryStore, ledger: Ledger, batch: Batch) -> None:
    """Do what the job does with a micro-batch."""
    if ranges := unseen(batch.ranges, ledger.until):
        staging, _ = ledger.place()
        ledger.commit(batch, _write(store, staging, ranges))


def _write(store: MemoryStore, staging: str, ranges: list[OffsetRange]) -> list[DataFile]:
    """Write as tasks do: a file for each, and one of a task that failed."""
    files = []
    for number, ((topic, partition), first, until) in enumerate(ranges):
        records = json.dumps([[topic, partition, offset] for offset in range(first, until)])
        name = f"topic={topic}/date=2026-11-21/part-{number:05d}-1f.c000.zstd.parquet"
        assert store.create(f"{staging}/{name}", records.encode())
        files.append(DataFile(name))
    assert store.create(f"{staging}/topic=a/date=2026-11-21/part-failed.zstd.parquet", b"[")
    return files


def _archive_all(
    contents: dict[str, bytes], run: str, ends: Offsets, between: Callable[[], None], copies: bool
) -> None:
    """Archive without checkpoint and Redis, an offset of each partition at a time."""
    store = MemoryStore(contents, between=between, copies=copies)
    ledger = Ledger(store, "archive", "app", run)
    ledger.open()
    for count in range(max(ends.values()) + 1):
        reached = {name: ledger.until.get(name, 0) for name in ends}
        if all(reached[name] >= ends[name] for name in ends):
            return
        end = {name: max(reached[name], min(reached[name] + 1, ends[name])) for name in ends}
        _keep(store, ledger, Batch(count, reached, end))
    raise AssertionError("it does not end")


def _seen(contents: dict[str, bytes]) -> list[list[object]]:
    names = [name for name in contents if name.endswith(".parquet") and f"/{HIDDEN}/" not in name]
    return sorted(record for name in names for record in json.loads(contents[name]))


def _all_of(ends: Offsets) -> list[list[object]]:
    return sorted([topic, partition, offset] for (topic, partition), end in ends.items() for offset in range(end))


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
            _run(cluster, f"run{number}", step, crash_at, with_checkpoint, with_redis)
        except Crash:
            seen = _seen(cluster.contents)
            assert len(seen) == len({tuple(record) for record in seen}), "doubles are there for readers meanwhile"
    _run(cluster, "last", last_step, None, *modes[-1])
    assert _seen(cluster.contents) == _all_of(ENDS)


@pytest.mark.parametrize("copies", [False, True], ids=["renames", "copies"])
def test_a_run_that_sleeps_between_any_two_steps_while_another_does_all(copies: bool) -> None:
    """Wherever a run is held while another one does everything, with more commits than are kept, no record is missing
    and none is there twice; a run that is told that its batch is in the archive was told the truth.
    """
    steps = 0
    while True:
        contents: dict[str, bytes] = {}
        _archive_all(contents, "first", dict.fromkeys(LONG, 1), nothing, copies)
        left = steps

        def other_run(contents: dict[str, bytes] = contents) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                _archive_all(contents, "other", LONG, nothing, copies)

        try:
            _archive_all(contents, "sleeper", dict.fromkeys(LONG, 3), other_run, copies)
        except PipelineError as refused:
            if ANOTHER_RUN not in str(refused):
                raise
        if left >= 0:
            assert steps > 20, "nothing was tried"
            break
        assert _seen(contents) == _all_of(LONG), f"held before step {steps}"
        steps += 1


@given(plan=st.lists(st.sampled_from(["a", "b", "c"]), max_size=120), copies=st.booleans())
def test_runs_that_take_turns(plan: list[str], copies: bool) -> None:
    """Several runs of one name, of which any may go on at any step: at the end every record is there once."""
    contents: dict[str, bytes] = {}
    turns = [_Turns(name, contents, copies) for name in "abc"]
    try:
        for name in plan:
            next(each for each in turns if each.name == name).go_on()
            seen = _seen(contents)
            assert len(seen) == len({tuple(record) for record in seen}), "doubles are there for readers meanwhile"
    finally:
        for each in turns:
            each.crash()
    _archive_all(contents, "last", ENDS, nothing, copies)
    assert _seen(contents) == _all_of(ENDS)


class _Turns:
    """A run in a thread that does a step, up to its next operation on the store, each time it is told to."""

    def __init__(self, name: str, contents: dict[str, bytes], copies: bool) -> None:
        self.name = name
        self._mine, self._others = Semaphore(0), Semaphore(0)
        self._ended = self._done = False
        self._failed: Exception | None = None
        self._thread = Thread(target=self._run, args=(contents, copies), daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Have it do one step."""
        if not self._done:
            self._mine.release()
            self._others.acquire()
        assert self._failed is None, self._failed

    def crash(self) -> None:
        """End it where it is."""
        self._ended = True
        self._mine.release()
        self._thread.join()

    def _run(self, contents: dict[str, bytes], copies: bool) -> None:
        try:
            self._wait()
            _archive_all(contents, self.name, ENDS, self._between, copies)
        except Crash:
            pass
        except Exception as failed:  # noqa: BLE001  whatever it is, the test is to fail with it
            self._failed = None if ANOTHER_RUN in str(failed) else failed
        finally:
            self._done = True
            self._others.release()

    def _between(self) -> None:
        self._others.release()
        self._wait()

    def _wait(self) -> None:
        self._mine.acquire()
        if self._ended:
            raise Crash


@pytest.mark.parametrize("taken_over_first", [True, False], ids=["the new one commits first", "the old one does"])
def test_two_runs_of_one_name_do_not_both_commit(taken_over_first: bool) -> None:
    """Of two runs at once one is refused at its commit; neither touches what the other is writing."""
    store = MemoryStore()
    old, new = Ledger(store, "archive", "app", "old"), Ledger(store, "archive", "app", "new")
    batch = Batch(0, dict(START), dict(ENDS))
    old.open()
    of_old = _write(store, old.place()[0], batch.ranges)
    new.open()
    of_new = _write(store, new.place()[0], batch.ranges)
    (first, files), (second, late) = (
        ((new, of_new), (old, of_old)) if taken_over_first else ((old, of_old), (new, of_new))
    )
    first.commit(batch, files)
    with pytest.raises(PipelineError, match="another run archives to archive under the same name"):
        second.commit(batch, late)
    assert _seen(store.contents) == _all_of(ENDS)


def test_the_first_commit_of_a_run_leaves_the_files_of_its_successor() -> None:
    """A run that committed late, and a successor that writes the next batch meanwhile: its files stay."""
    store = MemoryStore()
    old, new = Ledger(store, "archive", "app", "old"), Ledger(store, "archive", "app", "new")
    half = {name: end // 2 for name, end in ENDS.items()}
    first, second = Batch(0, dict(START), half), Batch(1, half, dict(ENDS))

    class Paused(MemoryStore):
        """Where the old run creates its commit, and only then goes on."""

        def create(self, path: str, data: bytes) -> bool:
            done = super().create(path, data)
            if path.endswith(".json"):
                new.open()
                written.extend(_write(store, new.place()[0], second.ranges))
            return done

    written: list[DataFile] = []
    old = Ledger(Paused(store.contents), "archive", "app", "old")
    old.open()
    old.commit(first, _write(store, old.place()[0], first.ranges))
    new.commit(second, written)
    assert _seen(store.contents) == _all_of(ENDS)


def test_an_answer_that_was_lost_is_no_other_run() -> None:
    """A store that wrote a commit, was asked again and says that it is there already, has the commit of this run."""

    class AsksTwice(MemoryStore):
        def create(self, path: str, data: bytes) -> bool:
            return super().create(path, data) and super().create(path, data)

    store = AsksTwice()
    ledger = Ledger(store, "archive", "app", "run")
    ledger.open()
    batch = Batch(0, dict(START), dict(ENDS))
    ledger.commit(batch, _write(MemoryStore(store.contents), ledger.place()[0], batch.ranges))
    assert _seen(store.contents) == _all_of(ENDS)


def test_names_tell_application_batch_and_compression() -> None:
    """Files are named so that two applications in one archive do not meet, and sort by batch."""
    store = MemoryStore()
    ledger = Ledger(store, "archive/", "app", "run")
    ledger.open()
    batch = Batch(0, dict(START), {TopicPartition("a", 0): 1})
    ledger.commit(batch, _write(store, ledger.place()[0], batch.ranges))
    assert "archive/topic=a/date=2026-11-21/app-0000000000-00000.zstd.parquet" in store.contents


def test_ids_of_topics_are_kept_with_offsets() -> None:
    """The next run knows of which topics the offsets are; one that is made anew has its new id."""
    store = MemoryStore()
    ledger = Ledger(store, "archive", "app", "run")
    ledger.open()
    ledger.commit(Batch(0, {}, {TopicPartition("a", 0): 1}, {"a": "1", "b": "2"}), [])
    ledger.commit(Batch(1, {}, {TopicPartition("a", 0): 2}, {"a": "3"}), [])
    again = Ledger(store, "archive", "app", "again")
    again.open()
    assert ledger.topic_ids == again.topic_ids == {"a": "3", "b": "2"}


def test_old_commits_are_removed() -> None:
    """Only so many commits are kept; the last one has all that is needed."""
    store = MemoryStore()
    partition = TopicPartition("a", 0)
    _archive_all(store.contents, "run", {partition: KEPT_COMMITS + 5}, nothing, False)
    commits = store.files(f"archive/{HIDDEN}/app/commits")
    assert len(commits) == KEPT_COMMITS
    again = Ledger(store, "archive", "app", "run")
    again.open()
    assert again.until == {partition: KEPT_COMMITS + 5}


def _damage(contents: dict[str, bytes], *numbers: int) -> None:
    for number in numbers:
        contents[_commit(number)] = contents[_commit(number)][:20]


def _commit(number: int) -> str:
    return f"archive/{HIDDEN}/app/commits/{number:020d}.json"


@pytest.mark.parametrize("damaged", [[6], [5, 6]], ids=str)
@pytest.mark.parametrize("crash_at", range(8))
def test_a_newest_commit_that_is_damaged_is_made_again(damaged: list[int], crash_at: int) -> None:
    """A torn newest commit does not block the others: its records are put aside and read again, each there once at
    the end, also where that is cut short; a person is told of it.
    """
    contents: dict[str, bytes] = {}
    _archive_all(contents, "first", ENDS, nothing, False)
    _damage(contents, *damaged)
    told: list[str] = []
    with suppress(Crash):
        Ledger(MemoryStore(contents, crash_at), "archive", "app", "cut", told.append).open()
    assert f"{_commit(6)} is damaged" in told[0]
    _archive_all(contents, "second", ENDS, nothing, False)
    assert _seen(contents) == _all_of(ENDS)
    aside = [name for name in contents if name.startswith(f"archive/{HIDDEN}/app/damaged/6/")]
    assert json.loads(contents[aside[0]]) == [["a", 0, 6]]


def test_commits_of_which_none_can_be_read_are_named() -> None:
    """Where nothing says how far the archive is, the run ends with a path, instead of archiving everything again."""
    with pytest.raises(PipelineError, match=f"{_commit(3)} is damaged"):
        Ledger(MemoryStore({_commit(3): b"{"}), "archive", "app", "run").open()
