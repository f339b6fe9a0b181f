"""The archive under kills, with everything real: `python -m tests.kill_archive --place hdfs --seed 1`.

It takes minutes. A topic is archived in many small micro-batches, the offsets in ZooKeeper or Redis, while things
happen at moments that a seed decides on: executors, Python workers, the driver, the broker and the store of
offsets are killed, a second run starts at once, and a run stands still while another one goes on. At the end DuckDB
counts: each offset of each partition must be there once. Needs Java and, for HDFS and ZooKeeper, Maven.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.integration.pipeline.records import PARTITIONS, produce
from tests.support.broker import BrokerProcess, OdradekProcess
from tests.support.hdfs_server import hdfs
from tests.support.pipeline_process import PipelineProcess
from tests.support.redis_server import RedisServer
from tests.support.s3_server import BUCKET, s3_server
from tests.support.waiting import eventually
from tests.support.zookeeper_server import ZooKeeperServer

TOPIC: Final = "orders"
EVENTS: Final = ("executor", "worker", "driver", "broker", "store", "two at once", "pause")
PATIENCE_S: Final = 600
MAX_RUNS: Final = 100
REST_BATCH: Final = 20_000
"""Records of a micro-batch once nothing is killed any more: small ones would take longer than all before."""


@dataclass
class Scene:
    """All that runs."""

    scratch: Path
    broker: BrokerProcess
    store: RedisServer | ZooKeeperServer
    arguments: Sequence[str]
    chance: random.Random
    jobs: list[PipelineProcess] = field(default_factory=list)

    def start(self, *more: str) -> PipelineProcess:
        """Start a run of the job."""
        job = PipelineProcess(self.scratch / f"job-{len(self.jobs)}", self.broker.bootstrap, *self.arguments, *more)
        self.jobs.append(job)
        return job

    def end(self) -> None:
        """End all runs."""
        for job in self.jobs:
            job.kill()

    def going_on(self, job: PipelineProcess) -> PipelineProcess:
        """Return the job, or the next run of it if it has ended, once it has finished one micro-batch more."""
        before = len(job.progress)

        def further() -> bool:
            nonlocal job, before
            if job.ended:
                say(f"  it had ended: {job.errors.strip()[:200] or 'without a word'}")
                assert len(self.jobs) < MAX_RUNS, "runs end all the time"
                job, before = self.start(), 0
            return len(job.progress) > before

        eventually(further, f"the job goes on\n{job.errors}", PATIENCE_S)
        time.sleep(self.chance.random())  # so that what comes next meets any step
        return job


def say(text: str) -> None:
    """Tell whoever waits."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def happen(scene: Scene, event: str, job: PipelineProcess) -> PipelineProcess:
    """Have something happen to a run, and return the run that goes on."""
    match event:
        case "executor":
            say(f"  executors killed: {job.kill_executors()}")
        case "worker":
            say(f"  Python workers killed: {job.kill_workers()}")
        case "driver":
            job.kill()
        case "broker":
            scene.broker.kill()
            scene.broker.start()
        case "store":
            scene.store.kill()
            time.sleep(scene.chance.choice((0.0, 2.0, 8.0)))
            scene.store.start()
        case "two at once":
            other = scene.start()
            eventually(lambda: job.ended or other.ended, "one of two ends", PATIENCE_S)
            say(f"  refused: {(job if job.ended else other).errors.strip()[:120]}")
            job = other if job.ended else job
        case "pause":
            job.signal(signal.SIGSTOP)
            other = scene.going_on(scene.start())
            other.kill()
            job.signal(signal.SIGCONT)
            eventually(lambda: job.ended or len(job.progress) > 0, "it wakes", PATIENCE_S)
    return job


def run(scene: Scene, rounds: int) -> None:
    """Live through all events, each so many times, and archive the rest."""
    job = scene.going_on(scene.start())
    for event in scene.chance.sample(EVENTS * rounds, len(EVENTS) * rounds):
        say(event)
        job = scene.going_on(happen(scene, event, job))
    job.kill()
    say("the rest")
    for _ in range(3):
        last = scene.start("--available-now", "--max-offsets-per-trigger", str(REST_BATCH))
        if last.wait() == 0:
            return
        say(f"  again: {last.errors.strip()[:150]}")
    raise AssertionError("the last run does not end well")


def count(files: Sequence[str], records: int) -> None:
    """Have DuckDB count each offset."""
    import duckdb

    counts = 'count(*), count(DISTINCT "offset"), min("offset"), max("offset")'
    with duckdb.connect() as connection:
        query = f"SELECT partition, {counts} FROM read_parquet(?) GROUP BY 1 ORDER BY 1"
        rows = connection.execute(query, [list(files)]).fetchall()
    each = [len(range(partition, records, PARTITIONS)) for partition in range(PARTITIONS)]
    say(f"partition, records, offsets, first, last: {rows}")
    assert rows == [(partition, wanted, wanted, 0, wanted - 1) for partition, wanted in enumerate(each)]


@contextmanager
def placed(place: str, scratch: Path) -> Iterator[tuple[str, list[str], Callable[[str], list[str]]]]:
    """Give where the archive is, options for that, and what brings its files here, by the format."""
    from odradek.pipeline.local_store import LocalStore
    from odradek.pipeline.s3_store import S3Store, storage_options
    from odradek.pipeline.store import HadoopStore
    from tests.support.spark import spark_session

    def fetched(store: LocalStore | S3Store | HadoopStore, path: str) -> list[str]:
        (scratch / "fetched").mkdir()
        names = [name for name in store.files(path) if name.startswith("topic=")]
        for number, name in enumerate(names):
            (scratch / "fetched" / f"{number}.parquet").write_bytes(store.read(f"{path}/{name}") or b"")
        return [str(each) for each in (scratch / "fetched").iterdir()]

    def of_delta(path: str) -> list[str]:
        from deltalake import DeltaTable

        return list(DeltaTable(path).file_uris())

    def of_iceberg(path: str) -> list[str]:
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog("odradek", type="sql", uri=f"sqlite:///{path}/_odradek/catalog.db")
        return [task.file.file_path for task in catalog.load_table("odradek.archive").scan().plan_files()]

    if place == "hdfs":
        directory = scratch / "hdfs"
        directory.mkdir()
        with hdfs(directory) as address:

            def from_hdfs(kind: str) -> list[str]:
                del kind
                with spark_session() as spark:
                    return fetched(HadoopStore(spark), f"{address}/archive")

            yield f"{address}/archive", [], from_hdfs
    elif place == "s3":
        with s3_server() as options:
            yield (
                f"s3://{BUCKET}/archive",
                [f"--storage={name}={value}" for name, value in options.items()],
                lambda kind: fetched(S3Store(storage_options(options)), f"s3://{BUCKET}/archive"),
            )
    else:
        path = str(scratch / "archive")
        ways = {"delta": lambda: of_delta(path), "iceberg": lambda: of_iceberg(path)}
        yield path, [], lambda kind: ways.get(kind, lambda: fetched(LocalStore(), path))()


def main() -> None:
    """Do one run and say what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--place", choices=("local", "hdfs", "s3"), default="local")
    parser.add_argument("--format", choices=("parquet", "delta", "iceberg"), default="parquet")
    parser.add_argument("--offsets", choices=("zookeeper", "redis"), default="zookeeper")
    parser.add_argument("--records", type=int, default=60_000)
    parser.add_argument("--batch", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.format != "parquet" and given.place != "local":
        parser.error("what a table in S3 holds is not counted here: give --place local")
    with tempfile.TemporaryDirectory(prefix="odradek-kill-archive-") as name, ExitStack() as after:
        scratch = Path(name)
        broker = OdradekProcess(scratch / "broker")
        store = (ZooKeeperServer if given.offsets == "zookeeper" else RedisServer)(scratch / "store")
        for each in (broker, store):
            each.start()
            after.callback(each.kill)
        produce(broker.bootstrap, TOPIC, given.records)
        path, options, files = after.enter_context(placed(given.place, scratch))
        url = store.url() if isinstance(store, ZooKeeperServer) else store.url
        arguments = ["archive", TOPIC, "--output", path, "--format", given.format, "--offsets", url, *options]
        arguments += [
            "--max-offsets-per-trigger",
            str(given.batch),
            "--master",
            "local-cluster[2,1,700]",
            "--conf",
            "spark.executor.memory=700m",
        ]
        scene = Scene(scratch, broker, store, arguments, random.Random(given.seed))
        after.callback(scene.end)
        run(scene, given.rounds)
        count(files(given.format), given.records)
        say(f"each of {given.records:,} records is there once")


if __name__ == "__main__":
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with suppress(KeyboardInterrupt):
        main()
