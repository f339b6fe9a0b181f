"""The archive in S3, with the command, real Spark and a broker: DuckDB counts every offset once."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from odradek.pipeline.s3_store import S3Store, storage_options
from tests.integration.pipeline.records import PARTITIONS, produce
from tests.support.broker import BrokerProcess
from tests.support.pipeline_job import RunJob
from tests.support.s3_server import BUCKET, s3_server

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

RECORDS = 600


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """The options of --storage for a server that speaks S3."""
    with s3_server() as options:
        yield options


def _each_once(files: list[str]) -> None:
    """Check with DuckDB that the files have each offset of each partition once."""
    import duckdb

    counts = 'count(*), count(DISTINCT "offset"), min("offset"), max("offset")'
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT partition, {counts} FROM read_parquet(?) GROUP BY 1 ORDER BY 1", [files])
        rows = found.fetchall()
    each = RECORDS // PARTITIONS
    assert rows == [(partition, each, each, 0, each - 1) for partition in range(PARTITIONS)]


def test_parquet_in_s3(
    broker: BrokerProcess, run_job: RunJob, s3: Mapping[str, str], topic: str, tmp_path: Path
) -> None:
    """Without a connector and without a checkpoint an archive in S3 has each record once; a second run goes on."""
    produce(broker.bootstrap, topic, RECORDS)
    arguments = ["archive", topic, "--output", f"s3a://{BUCKET}/{topic}", "--max-offsets-per-trigger", "300"]
    for name, value in s3.items():
        arguments += ["--storage", f"{name}={value}"]
    done = run_job(broker.bootstrap, *arguments)
    assert (done.code, done.errors) == (0, "")
    assert sum(each["rows"] for each in done.progress) == RECORDS
    again = run_job(broker.bootstrap, *arguments)
    assert (again.code, sum(each["rows"] for each in again.progress)) == (0, 0)
    store = S3Store(storage_options(s3))
    names = [name for name in store.files(f"s3://{BUCKET}/{topic}") if name.startswith("topic=")]
    for number, name in enumerate(names):
        (tmp_path / f"{number}.parquet").write_bytes(store.read(f"s3://{BUCKET}/{topic}/{name}") or b"")
    _each_once([str(each) for each in tmp_path.glob("*.parquet")])
