"""The archive with real Spark, a real broker and kills: every record exactly once, as it was written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.integration.pipeline.conftest import StartJob
from tests.integration.pipeline.records import archived, expected, produce
from tests.support.broker import BrokerProcess
from tests.support.pipeline_job import RunJob
from tests.support.waiting import eventually

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

RECORDS = 1_600
A_BATCH = "200"
HIDDEN = Path("_odradek", "archive")
PATIENCE_S = 240


def _being_written(archive: Path) -> Callable[[], bool]:
    """Return a condition: a micro-batch has written data that is not committed yet."""
    return lambda: any((archive / HIDDEN / "staging").rglob("*.parquet"))


def _commits(archive: Path) -> int:
    return len(list((archive / HIDDEN / "commits").glob("*.json")))


def test_a_kill_of_the_driver(
    broker: BrokerProcess, start_job: StartJob, run_job: RunJob, topic: str, tmp_path: Path
) -> None:
    """After kill -9 of driver, JVM and workers, while a batch is written that follows a commit, the archive has every
    record exactly once, as it was written. Kills at every other step are those of a file system in memory.
    """
    archive = tmp_path / "archive"
    produce(broker.bootstrap, topic, RECORDS)
    arguments = ("archive", topic, "--output", str(archive), "--max-offsets-per-trigger", A_BATCH)
    job = start_job(broker, *arguments)
    eventually(lambda: _commits(archive) > 0, f"the first batch is committed\n{job.errors}", PATIENCE_S)
    eventually(_being_written(archive), "the second batch is being written", PATIENCE_S)
    job.kill()
    seen = archived(archive, topic)
    assert len({(each.partition, each.offset) for each in seen}) == len(seen), "doubles"
    run_job(broker.bootstrap, *arguments)
    assert archived(archive, topic) == expected(RECORDS)


def test_kills_of_the_broker_and_sigterm(
    new_broker: BrokerFactory, start_job: StartJob, run_job: RunJob, topic: str, tmp_path: Path
) -> None:
    """A job outlives kill -9 of the broker while it reads; SIGTERM then lets it finish its micro-batch, with exit code
    0; the next run goes on after it, and the archive has every record exactly once.
    """
    broker, archive = new_broker(), tmp_path / "archive"
    broker.start()
    produce(broker.bootstrap, topic, RECORDS, compression="zstd")
    arguments = ("archive", topic, "--output", str(archive), "--max-offsets-per-trigger", A_BATCH)
    job = start_job(broker, *arguments)
    for batches in (1, 2):
        job.wait_for_batches(batches)
        broker.kill()
        broker.start()
    job.wait_for_batches(4)
    assert job.terminate() == 0, job.errors
    checkpoint = archive / HIDDEN / "checkpoint"
    finished = [each for each in (checkpoint / "commits").iterdir() if each.name.isdigit()]
    assert len(job.progress) == len(finished) == _commits(archive), "its last batch was not finished"
    assert len(finished) < RECORDS // int(A_BATCH), "it had nothing more to do"
    last = run_job(broker.bootstrap, *arguments)
    assert archived(archive, topic) == expected(RECORDS)
    assert sum(each["rows"] for each in job.progress + last.progress) == RECORDS
    assert last.progress[-1]["lag"] == 0
