"""An archive as an Iceberg table, local and in S3: each record once, whatever becomes of runs, counted by DuckDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table

from odradek.pipeline.archive import unseen
from odradek.pipeline.archive_places import iceberg_place
from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.iceberg import IcebergCommits, IcebergPlace
from odradek.pipeline.layout import JSON, Layout, schema_of
from odradek.pipeline.local_store import LocalStore
from odradek.pipeline.s3_store import S3Store, storage_options
from odradek.pipeline.value_schema import checked
from pyspark_odradek.offsets import Offsets, TopicPartition
from tests.support.s3_server import BUCKET, s3_server
from tests.unit.pipeline.archived_records import FIRST_DAY, counted, write, write_rows
from tests.unit.pipeline.memory_store import Crash

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
ENDS: Offsets = {A0: 2, A1: 1}
SCHEMA = schema_of(Layout())
ANOTHER_RUN = "another run archives to "


def _place(directory: Path) -> IcebergPlace:
    (directory / "archive" / "_odradek").mkdir(parents=True, exist_ok=True)
    return iceberg_place(str(directory / "archive"), {}, {})


def _commits(
    place: IcebergPlace, run: str, application: str = "app", schema: pa.Schema | None = SCHEMA
) -> IcebergCommits:
    commits = IcebergCommits(place, application, run, schema)
    commits.open()
    return commits


def _table(place: IcebergPlace) -> Table:
    return load_catalog(place.catalog_name, **place.catalog).load_table(place.table)


def _archive(commits: IcebergCommits, ends: Offsets) -> None:
    """Do what the job does, with an offset of each partition in a batch."""
    for number in range(max(ends.values()) + 1):
        reached = {name: commits.until.get(name, 0) for name in ends}
        batch = Batch(number, reached, {name: max(reached[name], min(reached[name] + 1, ends[name])) for name in ends})
        ranges = unseen(batch.ranges, commits.until)
        if not ranges:
            return
        commits.commit(batch, write(LocalStore(), commits.place(), ranges))


def _seen(place: IcebergPlace) -> Offsets:
    return counted([each.file.file_path.removeprefix("file://") for each in _table(place).scan().plan_files()])


def _each_step(between: Callable[[], None]) -> object:
    """Have something done before and after each change of the catalog, and after each look at it."""
    change, look = SqlCatalog.commit_table, SqlCatalog.load_table

    def changing(*arguments: object) -> object:
        between()
        done = change(*arguments)  # type: ignore[arg-type]
        between()
        return done

    def looking(*arguments: object) -> object:
        found = look(*arguments)  # type: ignore[arg-type]
        between()
        return found

    return patch.multiple(SqlCatalog, commit_table=changing, load_table=looking)


@pytest.mark.parametrize("happens", ["crash", "another run does all"])
def test_each_record_is_there_once_whatever_happens_at_any_step(tmp_path: Path, happens: str) -> None:
    """Wherever a run is cut short, or held while another one does everything, no record is missing or there twice."""
    for step in range(1_000):
        place = _place(tmp_path / str(step))
        _commits(place, "first")
        left = step

        def between(place: IcebergPlace = place) -> None:
            nonlocal left
            left -= 1
            if left == -1:
                if happens == "crash":
                    raise Crash
                _archive(_commits(place, "other"), ENDS)

        with _each_step(between), suppress(Crash):  # type: ignore[attr-defined]
            try:
                _archive(_commits(place, "second"), {A0: 1})
            except PipelineError as refused:
                if ANOTHER_RUN not in str(refused):
                    raise
        if left >= 0:
            assert step >= 6, "nothing was tried"
            return
        _archive(_commits(place, "last"), ENDS)
        assert _seen(place) == ENDS, step
    raise AssertionError("it does not end")


def test_a_run_that_sleeps_is_refused(tmp_path: Path) -> None:
    """A run that slept while another one did batches, also empty ones, is refused; its files count for nothing."""
    place = _place(tmp_path)
    sleeper = _commits(place, "sleeper")
    batch = Batch(0, {}, {A0: 1})
    files = write(LocalStore(), sleeper.place(), batch.ranges)
    other = _commits(place, "other")
    other.commit(Batch(0, {}, {A1: 5}, {"a": "id"}), [])
    with pytest.raises(PipelineError, match=r"another run archives to odradek\.archive under the same name"):
        sleeper.commit(batch, files)
    assert _seen(place) == {}
    again = _commits(place, "again")
    assert (again.until, again.topic_ids) == ({A1: 5}, {"a": "id"})


@pytest.mark.parametrize("kind", [CommitFailedException, CommitStateUnknownException])
def test_an_answer_that_was_lost_is_no_other_run(tmp_path: Path, kind: type[Exception]) -> None:
    """A snapshot that was taken although the catalog says that it was not is found to be this run's own."""
    change = SqlCatalog.commit_table

    def failing(*arguments: object) -> None:
        change(*arguments)  # type: ignore[arg-type]
        raise kind("a connection broke")

    place = _place(tmp_path)
    commits = _commits(place, "run")
    with patch.object(SqlCatalog, "commit_table", failing):
        commits.commit(Batch(0, {}, {A0: 1}), write(LocalStore(), commits.place(), Batch(0, {}, {A0: 1}).ranges))
    _archive(commits, ENDS)
    assert _seen(place) == commits.until == ENDS


def test_two_applications_share_a_table(tmp_path: Path) -> None:
    """Applications have offsets of their own, and go on although the other one has written meanwhile."""
    place = _place(tmp_path)
    one, other = _commits(place, "one", "a"), _commits(place, "other", "b")
    for number in range(2):
        for commits, partition in ((one, A0), (other, A1)):
            batch = Batch(number, {partition: number}, {partition: number + 1})
            commits.commit(batch, write(LocalStore(), commits.place(), batch.ranges))
    assert _seen(place) == {A0: 2, A1: 2}
    assert _commits(place, "again", "a").until == {A0: 2}


def test_readers_find_all_columns_and_may_leave_files_out(tmp_path: Path) -> None:
    """The topic and the date are columns, too; a file is left out by its day, its offsets and its times."""
    place = _place(tmp_path)
    commits = _commits(place, "run")
    batch = Batch(0, {}, {A0: 6})
    commits.commit(batch, write(LocalStore(), commits.place(), batch.ranges))
    table = _table(place)
    rows = table.scan().to_arrow().sort_by("offset").to_pylist()
    assert list(rows[0]) == SCHEMA.names
    assert [(row["offset"], row["topic"], str(row["date"])) for row in rows[3:5]] == [
        (3, "a", "2026-11-21"),
        (4, "a", "2026-11-22"),
    ]
    assert rows[0]["headers"] == [{"key": "h", "value": b"\xff"}]
    for chosen in ("offset >= 4", "date = '2026-11-22'", "timestamp >= '2026-11-22T00:00:00+00:00'"):
        (file,) = table.scan(row_filter=chosen).plan_files()
        assert file.file.record_count == 2


def test_fields_of_values_are_added_to_a_table(tmp_path: Path) -> None:
    """Columns that are known later make the table then; fields that a later run has more are null in what was there."""

    def schema(**fields: str) -> pa.Schema:
        of_values = {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}
        return schema_of(Layout(values=JSON), checked(of_values, "it"))

    def keep(commits: IcebergCommits, first: int, value: Mapping[str, object], schema: pa.Schema) -> None:
        row = {"value": value, "partition": 0, "offset": first, "topic": "a", "date": FIRST_DAY}
        rows = pa.Table.from_pylist([row], schema)
        commits.commit(Batch(0, {A0: first}, {A0: first + 1}), write_rows(LocalStore(), commits.place(), rows))

    place, first, both = _place(tmp_path), schema(id="long"), schema(id="long", name="string")
    old = _commits(place, "one", schema=None)
    assert old.until == {}
    old.settle(first)
    keep(old, 0, {"id": 1}, first)
    new = _commits(place, "two", schema=both)
    keep(new, 1, {"id": 2, "name": "x"}, both)
    values = _table(place).scan().to_arrow().sort_by("offset").column("value").to_pylist()
    assert values == [{"id": 1, "name": None}, {"id": 2, "name": "x"}]


def test_what_the_catalog_names_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of the table's own is synced, with its directory, before the catalog names it."""
    synced: set[str] = set()
    fsync = os.fsync

    def noting(handle: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    place = _place(tmp_path)
    commits = _commits(place, "run")
    commits.commit(Batch(0, {}, {A0: 1}), write(LocalStore(), commits.place(), Batch(0, {}, {A0: 1}).ranges))
    files = {str(each) for each in (tmp_path / "archive" / "metadata").iterdir()}
    assert len(files) >= 4
    assert files | {str(tmp_path / "archive" / "metadata")} <= synced


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """The options of --storage for a server that speaks S3."""
    with s3_server() as options:
        yield options


def test_two_runs_in_s3(s3: dict[str, str], tmp_path: Path) -> None:
    """In S3 one of two runs is refused, and the next one goes on where the archive ends."""
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "table": "lake.orders"}
    place = iceberg_place(f"s3://{BUCKET}/iceberg", s3, catalog)
    old, new = _commits(place, "old"), _commits(place, "new")
    batch = Batch(0, {}, {A0: 2, A1: 1})
    store = S3Store(storage_options(s3))
    of_old, of_new = (write(store, commits.place(), batch.ranges) for commits in (old, new))
    new.commit(batch, of_new)
    with pytest.raises(PipelineError, match=ANOTHER_RUN):
        old.commit(batch, of_old)
    assert _commits(place, "last").until == batch.end
    assert sorted(_table(place).scan().to_arrow().column("offset").to_pylist()) == [0, 0, 1]


def test_what_is_no_table_of_this_job_is_refused(tmp_path: Path) -> None:
    """Another table of that name, a property that says nothing, retries by others and a missing catalog are told."""
    place = _place(tmp_path)
    _commits(place, "run")
    with pytest.raises(WrongOptionError, match="and not one of this job"):
        _commits(place, "run", schema=schema_of(Layout(columns=("partition", "offset"))))
    elsewhere = IcebergPlace("file:///elsewhere", place.table, place.catalog)
    with pytest.raises(
        WrongOptionError, match=r"is a table in file://.* give another --output, or --catalog table=NAME"
    ):
        _commits(elsewhere, "run")
    with _table(place).transaction() as change:
        change.set_properties({"odradek.app": "{"})
    with pytest.raises(PipelineError, match=r"property odradek\.app of odradek\.archive says how far the archive is"):
        _commits(place, "run")
    with _table(place).transaction() as change:
        change.set_properties({"commit.retry.num-retries": "4"})
    with pytest.raises(PipelineError, match=r"property commit\.retry\.num-retries of .* must be 0"):
        _commits(place, "run", "other")
    with pytest.raises(WrongOptionError, match="an Iceberg table in S3 needs a catalog"):
        iceberg_place("s3://bucket/archive", {}, {"table": "lake.orders"})
    with pytest.raises(WrongOptionError, match="must be a namespace and a name"):
        iceberg_place("/archive", {}, {"table": "orders"})
