"""The archive in a real HDFS: of several that commit one does, runs that are cut short, and upkeep; DuckDB counts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.pipeline.archive import unseen
from odradek.pipeline.archive_places import open_store
from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.layout import Layout, settle
from odradek.pipeline.ledger import Ledger
from odradek.pipeline.store import HadoopStore
from odradek.pipeline.upkeep import UpkeepDone, UpkeepPlan, upkeep
from pyspark_odradek.offsets import Offsets, TopicPartition
from tests.support.hdfs_server import hdfs
from tests.unit.pipeline.archived_records import FIRST_DAY, counted, write
from tests.unit.pipeline.memory_store import Crash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

A0 = TopicPartition("a", 0)
ENDS: Offsets = {A0: 12}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An HDFS."""
    with hdfs(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


class CrashingStore(HadoopStore):
    """A store that crashes before the k-th change, counted from 0, and before each one that follows."""

    left = 1_000

    def _change(self) -> None:
        if self.left <= 0:
            raise Crash
        self.left -= 1

    def create(self, path: str, data: bytes) -> bool:
        self._change()
        return super().create(path, data)

    def rename(self, source: str, target: str) -> bool:
        self._change()
        return super().rename(source, target)

    def remove(self, path: str) -> None:
        self._change()
        super().remove(path)


def _archive(store: HadoopStore, path: str, run: str, ends: Offsets) -> None:
    """Archive, two offsets in a batch, without a checkpoint."""
    ledger = Ledger(store, path, "app", run)
    ledger.open()
    while ranges := unseen(_next(ledger, ends).ranges, ledger.until):
        ledger.commit(_next(ledger, ends), write(store, ledger.place(), ranges))


def _next(ledger: Ledger, ends: Offsets) -> Batch:
    reached = {name: ledger.until.get(name, 0) for name in ends}
    return Batch(0, reached, {name: min(reached[name] + 2, ends[name]) for name in ends})


def _counted(store: HadoopStore, path: str, scratch: Path) -> Offsets:
    names = [name for name in store.files(path) if name.startswith("topic=")]
    for number, name in enumerate(names):
        (scratch / f"{number}.parquet").write_bytes(store.read(f"{path}/{name}") or b"")
    return counted([str(scratch / f"{number}.parquet") for number in range(len(names))])


def test_runs_in_hdfs(spark: SparkSession, address: str, tmp_path: Path) -> None:
    """Of many that create one file one does. Runs that end before any of their changes leave nothing missing or
    double; one that slept while another one did all is refused. Upkeep puts the files of old days together.
    """
    store, path = open_store(HadoopStore(spark), f"{address}/archive/", {})
    assert isinstance(store, HadoopStore)
    with ThreadPoolExecutor(8) as threads:
        created = list(threads.map(lambda number: store.create(f"{address}/one", b"%d" % number), range(8)))
    assert created.count(True) == 1
    assert store.read(f"{address}/one") == b"%d" % created.index(True)
    settle(store, path, Layout())

    crashing = CrashingStore(spark)
    for step in range(12):
        crashing.left = step
        with suppress(Crash):
            _archive(crashing, path, f"run{step}", ENDS)
    sleeper = Ledger(store, path, "app", "sleeper")
    sleeper.open()
    late = _next(sleeper, {A0: 100})
    files = write(store, sleeper.place(), late.ranges)
    _archive(store, path, "last", {A0: 20})
    with pytest.raises(PipelineError, match="another run archives to hdfs://"):
        sleeper.commit(late, files)
    assert _counted(store, path, tmp_path) == {A0: 20}

    plan = UpkeepPlan(FIRST_DAY + timedelta(days=30), FIRST_DAY + timedelta(days=1), 1 << 20)
    done = upkeep(store, path, plan, "tidy", lambda _: None)
    assert done == UpkeepDone(removed=2, compacted=6, written=3)
    names = [name for name in store.files(path) if name.startswith("topic=")]
    assert len(names) == 3 + 2, "those of the newest day stay, since the newest commit is one of them"
    large = b"x" * (2 << 20)
    assert store.create(f"{address}/large", large)
    assert (store.read(f"{address}/large") == large, store.size(f"{address}/large")) == (True, len(large))
