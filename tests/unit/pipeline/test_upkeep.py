"""Upkeep: small files of old days become few, days that are too old go, and no record is missing or there twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from odradek.cli.app import run as run_command
from odradek.pipeline.batches import Batch
from odradek.pipeline.delta import DeltaLog
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.kept_schema import KeptSchema
from odradek.pipeline.layout import JSON, Layout, schema_of, settle
from odradek.pipeline.ledger import COMPACTION, Ledger
from odradek.pipeline.local_store import LocalStore
from odradek.pipeline.s3_store import S3Store, storage_options
from odradek.pipeline.upkeep import UpkeepDone, UpkeepPlan, upkeep
from odradek.pipeline.value_schema import checked
from pyspark_odradek.offsets import Offsets, TopicPartition
from tests.support.documents import check_documents
from tests.support.s3_server import BUCKET, s3_server
from tests.unit.pipeline.archived_records import FIRST_DAY, counted, write, write_rows
from tests.unit.pipeline.memory_store import Crash

A0 = TopicPartition("a", 0)
BATCHES = 7  # of two records, of which four make a day
ALL: Offsets = {A0: 2 * BATCHES}
LATER = FIRST_DAY + timedelta(days=30)
PLAN = UpkeepPlan(compact_before=LATER, keep_from=None, file_bytes=1 << 20)


class CrashingStore(LocalStore):
    """A store that crashes before the k-th change, counted from 0, and before each one that follows."""

    left = 1_000

    def _change(self) -> None:
        if CrashingStore.left <= 0:
            raise Crash
        CrashingStore.left -= 1

    def create(self, path: str, data: bytes) -> bool:
        self._change()
        return LocalStore.create(self, path, data)

    def rename(self, source: str, target: str) -> bool:
        self._change()
        return LocalStore.rename(self, source, target)

    def remove(self, path: str) -> None:
        self._change()
        LocalStore.remove(self, path)


def _archive(store: LocalStore | S3Store, path: str, delta: bool = False, batches: int = BATCHES) -> Ledger | DeltaLog:
    """Make an archive with a file for each batch, two of them a day."""
    settle(store, path, Layout("delta" if delta else "parquet"))
    log: Ledger | DeltaLog = (
        DeltaLog(store, path, "app", "run", schema_of(Layout())) if delta else Ledger(store, path, "app", "run")
    )
    log.open()
    for number in range(batches):
        batch = Batch(number, {A0: 2 * number}, {A0: 2 * number + 2})
        log.commit(batch, write(store, log.place(), batch.ranges))
    return log


def _names(store: LocalStore | S3Store, path: str) -> list[str]:
    return [name for name in store.files(path) if name.startswith("topic=")]


def _upkeep(store: LocalStore | S3Store, path: str, plan: UpkeepPlan = PLAN, run: str = "tidy") -> UpkeepDone:
    return upkeep(store, path, plan, run, lambda _: None)


def test_small_files_of_old_days_become_one(tmp_path: Path) -> None:
    """Days that are old enough have one file afterwards, with each record once; the archive goes on after it."""
    store, path = LocalStore(), str(tmp_path)
    log = _archive(store, path)
    plan = UpkeepPlan(FIRST_DAY + timedelta(days=2), None, 1 << 20)
    assert _upkeep(store, path, plan) == UpkeepDone(removed=0, compacted=4, written=2)
    names = _names(store, path)
    assert names[:2] == [
        f"topic=a/date=2026-11-{21 + day}/{COMPACTION}-{day:010d}-00000.zstd.parquet" for day in (0, 1)
    ]
    assert len(names) == 2 + 3
    assert counted([f"{path}/{name}" for name in names]) == ALL
    assert _upkeep(store, path, plan) == UpkeepDone()
    batch = Batch(BATCHES, ALL, {A0: 2 * BATCHES + 2})
    log.commit(batch, write(store, log.place(), batch.ranges))
    assert counted([f"{path}/{name}" for name in _names(store, path)]) == batch.end


def test_values_of_json_are_put_together_with_the_newest_fields(tmp_path: Path) -> None:
    """Files of different times have the fields of their times; the file that they become has all, and all records."""
    store, path, layout = LocalStore(), str(tmp_path), Layout(values=JSON)
    settle(store, path, layout)
    assert _upkeep(store, path) == UpkeepDone()
    of_values, log = KeptSchema(store, path), Ledger(store, path, "app", "run")
    log.open()
    item = {"type": "array", "elementType": _fields(x="long")}
    of_times: list[dict[str, Any]] = [{"id": "long", "items": item}, {"name": "string"}, {"id": "long"}]
    for number, fields in enumerate(of_times):
        of_values.add(checked(_fields(**fields), "it"))
        value = {"id": number, "items": [{"x": 1}, None], "name": "new"} if number else None
        row = {"value": value, "unparsed": b"{", "partition": 0, "offset": number, "topic": "a", "date": FIRST_DAY}
        rows = pa.Table.from_pylist([row], schema_of(layout, of_values.schema))
        log.commit(Batch(number, {A0: number}, {A0: number + 1}), write_rows(store, log.place(), rows))
    assert _upkeep(store, path) == UpkeepDone(0, 2, 1)
    (last, together) = (pyarrow.parquet.read_table(f"{path}/{name}", partitioning=None) for name in _names(store, path))
    assert together.schema.field("value").type == last.schema.field("value").type
    assert together.column("value").to_pylist() == [None, {"id": 1, "items": [{"x": 1}, None], "name": "new"}]
    assert together.column("unparsed").to_pylist() == [b"{", b"{"]


def _fields(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def test_files_of_the_newest_commit_are_left_alone(tmp_path: Path) -> None:
    """What may still be renamed, or copied again after a kill, is put together only once it is no longer the newest."""
    store, path = LocalStore(), str(tmp_path)
    settle(store, path, Layout())
    log = Ledger(store, path, "app", "run")
    log.open()
    batch = Batch(0, {}, {A0: 2, TopicPartition("a", 1): 2})
    log.commit(batch, write(store, log.place(), batch.ranges))
    assert _upkeep(store, path) == UpkeepDone()
    log.commit(Batch(1, {}, {A0: 3}), [])
    assert _upkeep(store, path) == UpkeepDone(0, 2, 1)


def test_large_files_stay_as_they_are(tmp_path: Path) -> None:
    """Files of more than half the wanted size are not written again."""
    store, path = LocalStore(), str(tmp_path)
    _archive(store, path)
    assert _upkeep(store, path, UpkeepPlan(LATER, None, 1_000)) == UpkeepDone()


def test_wherever_it_is_cut_short_nothing_is_lost_or_there_twice(tmp_path: Path) -> None:
    """Killed before any change, upkeep has doubled nothing, and the next run of it, or of the archive, ends it."""
    store = LocalStore()
    _archive(store, str(tmp_path / "archive"), batches=5)
    for step in range(100):
        path = shutil.copytree(tmp_path / "archive", tmp_path / str(step), dirs_exist_ok=True).as_posix()
        CrashingStore.left = step
        try:
            done = _upkeep(CrashingStore(), path)
        except Crash:
            counted_once = [f"{path}/{name}" for name in _names(store, path)]
            _without_doubles(counted_once)
            if step % 2:
                _upkeep(store, path)
            else:
                Ledger(store, path, COMPACTION, "other", repairs=False).open()
            assert counted([f"{path}/{name}" for name in _names(store, path)]) == {A0: 10}, step
        else:
            assert done == UpkeepDone(0, 4, 2)
            assert step > 10
            return
    raise AssertionError("it does not end")


def _without_doubles(files: list[str]) -> None:
    import duckdb

    with duckdb.connect() as connection:
        query = 'SELECT count(*) - count(DISTINCT "offset") FROM read_parquet(?)'
        assert connection.execute(query, [files]).fetchall() == [(0,)]


def test_of_two_at_once_one_is_refused(tmp_path: Path) -> None:
    """Two upkeeps that want to put the same files together: the second one writes nothing where readers look."""
    store, path = LocalStore(), str(tmp_path)
    _archive(store, path)

    class Slow(LocalStore):
        def keep(self, scratch: str, path: str) -> None:
            LocalStore.keep(self, scratch, path)
            if not done:
                done.append(_upkeep(store, str(tmp_path), run="quick"))

    done: list[UpkeepDone] = []
    with pytest.raises(PipelineError, match=r"another upkeep of .* is at work; run one at a time"):
        _upkeep(Slow(), path)
    assert done == [UpkeepDone(0, 6, 3)]
    assert counted([f"{path}/{name}" for name in _names(store, path)]) == ALL


@pytest.mark.parametrize("delta", [False, True], ids=["parquet", "delta"])
def test_days_that_are_too_old_are_removed(tmp_path: Path, delta: bool) -> None:
    """Days before the first that is kept are gone, the others are whole, and the archive knows how far it is."""
    store, path = LocalStore(), str(tmp_path)
    _archive(store, path, delta)
    done = _upkeep(store, path, UpkeepPlan(FIRST_DAY, FIRST_DAY + timedelta(days=2), 1 << 20))
    assert (done.removed, done.compacted) == (4, 0)
    again: Ledger | DeltaLog = (
        DeltaLog(store, path, "app", "run", schema_of(Layout())) if delta else Ledger(store, path, "app", "run")
    )
    again.open()
    assert again.until == ALL
    if not delta:
        days = {name.split("/")[1] for name in _names(store, path)}
        assert days == {"date=2026-11-23", "date=2026-11-24"}


def test_a_delta_table_is_compacted(tmp_path: Path) -> None:
    """Of a table the log names few files afterwards, with each record once, and the job that is open goes on."""
    from deltalake import DeltaTable

    store, path = LocalStore(), str(tmp_path)
    log = _archive(store, path, delta=True)
    assert _upkeep(store, path) == UpkeepDone(0, 6, 3)
    assert counted(DeltaTable(path).file_uris()) == ALL
    batch = Batch(BATCHES, ALL, {A0: 2 * BATCHES + 2})
    log.commit(batch, write(store, log.place(), batch.ranges))
    assert counted(DeltaTable(path).file_uris()) == batch.end


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """The options of --storage for a server that speaks S3."""
    with s3_server() as options:
        yield options


def test_the_command_in_s3(s3: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`odradek pipeline upkeep` says what it did, in S3 too."""
    path, store = f"s3://{BUCKET}/upkeep", S3Store(storage_options(s3))
    _archive(store, path)
    command = ["pipeline", "upkeep", "--output", path, *(f"--storage={name}={value}" for name, value in s3.items())]
    assert run_command([*command, "--keep-days", "36500", "--json"]) == 0
    check_documents(["pipeline", "upkeep", "--json"], capsys.readouterr().out.encode())
    for number, name in enumerate(_names(store, path)):
        (tmp_path / f"{number}.parquet").write_bytes(store.read(f"{path}/{name}") or b"")
    assert counted([str(each) for each in tmp_path.glob("*.parquet")]) == ALL


def test_what_cannot_be_kept_up_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory without an archive, a damaged file and an Iceberg table are told in a sentence."""
    settle(LocalStore(), str(tmp_path / "iceberg"), Layout("iceberg"))
    with pytest.raises(PipelineError, match=r"the Iceberg table in .* is not kept up here: use"):
        _upkeep(LocalStore(), str(tmp_path / "iceberg"))
    assert run_command(["pipeline", "upkeep", "--output", str(tmp_path / "none")]) == 1
    assert f"there is no archive in {tmp_path}/none" in capsys.readouterr().err
    store, path = LocalStore(), str(tmp_path / "archive")
    _archive(store, path)
    damaged = tmp_path / "archive" / _names(store, path)[0]
    damaged.write_bytes(b"PAR1")
    with pytest.raises(PipelineError, match=rf"{damaged} cannot be read: "):
        _upkeep(store, path)
    with pytest.raises(WrongOptionError, match="was begun with parquet"):
        settle(store, path, Layout("delta"))
