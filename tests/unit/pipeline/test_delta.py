"""An archive as a Delta table, local and in S3: each record once, whatever becomes of runs, counted by DuckDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from odradek.pipeline.archive import unseen
from odradek.pipeline.batches import Batch
from odradek.pipeline.delta import DeltaLog
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.layout import JSON, Layout, schema_of
from odradek.pipeline.local_store import LocalStore
from odradek.pipeline.s3_store import S3Store, storage_options
from odradek.pipeline.value_schema import checked
from pyspark_odradek.offsets import Offsets, TopicPartition
from tests.support.s3_server import BUCKET, s3_server
from tests.unit.pipeline.archived_records import FIRST_DAY, counted, write, write_rows
from tests.unit.pipeline.memory_store import Crash

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
ENDS: Offsets = {A0: 3, A1: 1}
SCHEMA = schema_of(Layout())
ANOTHER_RUN = "another run archives to "


@dataclass(frozen=True)
class Place:
    """Where an archive is."""

    store: LocalStore | S3Store
    path: str
    storage: Mapping[str, str] = field(default_factory=dict)

    def log(self, run: str, application: str = "app") -> DeltaLog:
        """Return a log that is opened."""
        log = DeltaLog(self.store, self.path, application, run, SCHEMA, self.storage)
        log.open()
        return log

    def table(self) -> DeltaTable:
        """Return the table as readers see it."""
        return DeltaTable(self.path, storage_options=dict(self.storage))


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """What both libraries need to know of a server that speaks S3."""
    with s3_server() as options:
        yield storage_options(options)


@pytest.fixture
def local(tmp_path: Path) -> Place:
    """An archive on a disk."""
    return Place(LocalStore(), str(tmp_path / "archive"))


def _archive(place: Place, log: DeltaLog, ends: Offsets) -> None:
    """Do what the job does, with an offset of each partition in a batch."""
    for number in range(max(ends.values()) + 1):
        reached = {name: log.until.get(name, 0) for name in ends}
        batch = Batch(number, reached, {name: max(reached[name], min(reached[name] + 1, ends[name])) for name in ends})
        ranges = unseen(batch.ranges, log.until)
        if not ranges:
            return
        log.commit(batch, write(place.store, log.place(), ranges))


def _seen(place: Place, scratch: Path) -> Offsets:
    table = place.table()
    if isinstance(place.store, LocalStore):
        return counted(table.file_uris())
    scratch.mkdir(exist_ok=True)
    names = [uri.removeprefix(f"{place.path}/") for uri in table.file_uris()]
    for number, name in enumerate(names):
        (scratch / f"{number}.parquet").write_bytes(place.store.read(f"{place.path}/{name}") or b"")
    return counted([str(scratch / f"{number}.parquet") for number in range(len(names))])


def _each_step(between: Callable[[], None]) -> object:
    """Have something done before and after each change of the table, and after each look at it."""
    write_entry, look = DeltaTable.create_write_transaction, DeltaTable.update_incremental

    def writing(*arguments: object, **named: object) -> None:
        between()
        write_entry(*arguments, **named)  # type: ignore[arg-type]
        between()

    def looking(*arguments: object) -> None:
        look(*arguments)  # type: ignore[arg-type]
        between()

    return patch.multiple(DeltaTable, create_write_transaction=writing, update_incremental=looking)


@pytest.mark.parametrize("happens", ["crash", "another run does all"])
def test_each_record_is_there_once_whatever_happens_at_any_step(tmp_path: Path, happens: str) -> None:
    """Wherever a run is cut short, or held while another one does everything, no record is missing or there twice."""
    for step in range(1_000):
        place = Place(LocalStore(), str(tmp_path / str(step)))
        left = step

        def between(place: Place = place) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                if happens == "crash":
                    raise Crash
                _archive(place, place.log("other"), ENDS)

        with _each_step(between), suppress(Crash):  # type: ignore[attr-defined]
            try:
                _archive(place, place.log("first"), {A0: 2, A1: 1})
            except PipelineError as refused:
                if ANOTHER_RUN not in str(refused):
                    raise
        if left >= 0:
            assert step >= 8, "nothing was tried"
            return
        _archive(place, place.log("last"), ENDS)
        assert _seen(place, tmp_path) == ENDS, step
    raise AssertionError("it does not end")


def test_a_run_that_sleeps_while_many_commits_pass(local: Place, tmp_path: Path) -> None:
    """However many commits there were meanwhile, with a checkpoint of the log among them, the run that slept is
    refused, and its files count for nothing.
    """
    sleeper = local.log("sleeper")
    ranges = Batch(0, {}, {A0: 1}).ranges
    files = write(local.store, sleeper.place(), ranges)
    other = local.log("other")
    _archive(local, other, {A0: 2})
    for number in range(2, 60):
        other.commit(Batch(number, {A0: number}, {A0: number + 1}), [])
    local.table().create_checkpoint()
    with pytest.raises(PipelineError, match=r"another run archives to .* under the same name; end one of them, or"):
        sleeper.commit(Batch(0, {}, {A0: 1}), files)
    assert _seen(local, tmp_path) == {A0: 2}
    assert local.log("next").until == {A0: 60}
    assert len(local.store.files(f"{local.path}/_odradek/app/offsets")) <= 12


def test_two_runs_in_s3(s3: dict[str, str], tmp_path: Path) -> None:
    """In S3 one of two runs is refused, and the next one goes on where the archive ends."""
    place = Place(S3Store(s3), f"s3://{BUCKET}/delta/archive", s3)
    old, new = place.log("old"), place.log("new")
    batch = Batch(0, {}, {A0: 2, A1: 1})
    of_old, of_new = (write(place.store, log.place(), batch.ranges) for log in (old, new))
    new.commit(batch, of_new)
    with pytest.raises(PipelineError, match=ANOTHER_RUN):
        old.commit(batch, of_old)
    last = place.log("last")
    assert last.until == batch.end
    _archive(place, last, ENDS)
    assert _seen(place, tmp_path / "scratch") == ENDS


def test_an_answer_that_was_lost_is_no_other_run(local: Place, tmp_path: Path) -> None:
    """An entry that was written although the library says that it was not is found to be this run's own."""
    from deltalake.exceptions import CommitFailedError

    write_entry = DeltaTable.create_write_transaction

    def failing(*arguments: object, **named: object) -> None:
        write_entry(*arguments, **named)  # type: ignore[arg-type]
        raise CommitFailedError("a connection broke")

    log = local.log("run")
    with patch.object(DeltaTable, "create_write_transaction", failing):
        _archive(local, log, ENDS)
    assert _seen(local, tmp_path) == ENDS
    assert log.until == ENDS


def test_two_applications_share_a_table(local: Place) -> None:
    """Applications have offsets of their own, and go on although the other one has written meanwhile."""
    one, other = local.log("one", "a"), local.log("other", "b")
    for number in range(3):
        for log, partition in ((one, A0), (other, A1)):
            batch = Batch(number, {partition: number}, {partition: number + 1})
            log.commit(batch, write(local.store, log.place(), batch.ranges))
    assert counted(local.table().file_uris()) == {A0: 3, A1: 3}
    assert local.log("again", "a").until == {A0: 3}


def test_ids_of_topics_are_kept_with_offsets(local: Place) -> None:
    """The next run knows of which topics the offsets are, those that were told before among them."""
    log = local.log("run")
    log.commit(Batch(0, {A0: 0}, {A0: 4}, {"a": "1"}), [])
    log.commit(Batch(1, {A0: 4}, {A0: 5}, {"b": "2"}), [])
    assert log.topic_ids == local.log("again").topic_ids == {"a": "1", "b": "2"}


def test_a_batch_without_records_moves_offsets(local: Place) -> None:
    """Offsets that hold no records, such as ends of transactions, are passed over for good."""
    local.log("run").commit(Batch(0, {A0: 0}, {A0: 4}), [])
    assert local.log("again").until == {A0: 4}


def test_readers_may_leave_files_out(local: Place) -> None:
    """The log has of each file its rows and the least and greatest partition, offset and timestamp."""
    log = local.log("run")
    batch = Batch(0, {A0: 0}, {A0: 6})
    log.commit(batch, write(local.store, log.place(), batch.ranges))
    actions = pa.table(local.table().get_add_actions(flatten=True)).to_pylist()
    first, second = sorted(actions, key=lambda each: each["min.offset"])
    assert (first["num_records"], first["min.offset"], first["max.offset"], first["max.partition"]) == (4, 0, 3, 0)
    assert (second["min.offset"], second["max.offset"]) == (4, 5)
    assert first["partition.topic"] == "a"
    assert str(first["partition.date"]) == "2026-11-21"
    assert first["min.timestamp"].isoformat() == "2026-11-21T00:00:00+00:00"
    assert local.table().to_pyarrow_table().num_rows == 6


def _json_schema(**fields: str) -> pa.Schema:
    of_values = {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}
    return schema_of(Layout(values=JSON), checked(of_values, "it"))


def test_fields_of_values_are_added_to_a_table(local: Place) -> None:
    """Columns that are known later make the table then; fields that a later run has more are added, also beside a run
    that has fewer; another type is refused.
    """

    def log(run: str, schema: pa.Schema | None) -> DeltaLog:
        found = DeltaLog(local.store, local.path, "app", run, schema)
        found.open()
        return found

    def keep(log: DeltaLog, first: int, value: Mapping[str, object], schema: pa.Schema) -> None:
        batch = Batch(first, {A0: first}, {A0: first + 1})
        row = {"value": value, "partition": 0, "offset": first, "topic": "a", "date": FIRST_DAY}
        log.commit(batch, write_rows(local.store, log.place(), pa.Table.from_pylist([row], schema)))

    first, both = _json_schema(id="long"), _json_schema(id="long", name="string")
    old = log("one", None)
    assert old.until == {}
    old.settle(first)
    keep(old, 0, {"id": 1}, first)
    other = DeltaLog(local.store, local.path, "other", "two", both)
    other.open()
    other.commit(Batch(0, {A1: 0}, {A1: 1}), [])
    keep(old, 1, {"id": 2}, first)
    new = log("three", both)
    keep(new, 2, {"id": 3, "name": "x"}, both)
    values = local.table().to_pyarrow_dataset().to_table().sort_by("offset").column("value").to_pylist()
    assert values == [{"id": 1, "name": None}, {"id": 2, "name": None}, {"id": 3, "name": "x"}]
    assert log("four", first).until == {A0: 3}
    with pytest.raises(WrongOptionError, match=r"value\.id is long in the archive and cannot become string"):
        log("five", _json_schema(id="string"))


def test_what_is_no_table_of_this_job_is_refused(local: Place, tmp_path: Path) -> None:
    """A table with other columns, and an archive whose offsets are gone, are told with what to do."""
    local.log("run").commit(Batch(0, {A0: 0}, {A0: 4}), [])
    text = DeltaLog(local.store, local.path, "app", "run", schema_of(Layout(keys="text", values="text")))
    with pytest.raises(WrongOptionError, match="is a Delta table with other columns"):
        text.open()
    (offsets,) = (tmp_path / "archive" / "_odradek" / "app" / "offsets").iterdir()
    assert json.loads(offsets.read_text()) == {"until": {"a": {"0": 4}}, "topics": {}}
    offsets.unlink()
    with pytest.raises(PipelineError, match=r"offsets/\d+.json is damaged or gone, and says how far the archive is"):
        local.log("again")
