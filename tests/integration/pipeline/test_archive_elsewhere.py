"""The archive in S3, with the command, real Spark and a broker: DuckDB counts every offset once."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from odradek.pipeline.s3_store import S3Store, storage_options
from tests.integration.pipeline.records import PARTITIONS, produce, produce_more
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


def _files(s3: Mapping[str, str], archive: str, names: Iterable[str], scratch: Path) -> list[str]:
    """Bring files of an archive here, and return their paths."""
    store = S3Store(storage_options(s3))
    for number, name in enumerate(names):
        (scratch / f"{number}.parquet").write_bytes(store.read(f"{archive}/{name}") or b"")
    return [str(each) for each in scratch.glob("*.parquet")]


def test_parquet_in_s3(
    broker: BrokerProcess, run_job: RunJob, s3: Mapping[str, str], topic: str, tmp_path: Path
) -> None:
    """Without a connector and without a checkpoint an archive in S3 has each record once."""
    produce(broker.bootstrap, topic, RECORDS)
    storage = [f"--storage={name}={value}" for name, value in s3.items()]
    arguments = ["archive", topic, "--output", f"s3a://{BUCKET}/{topic}", "--max-offsets-per-trigger", "300"]
    done = run_job(broker.bootstrap, *arguments, *storage)
    assert (done.code, done.errors) == (0, "")
    assert sum(each["rows"] for each in done.progress) == RECORDS
    archive = f"s3://{BUCKET}/{topic}"
    names = S3Store(storage_options(s3)).files(archive)
    _each_once(_files(s3, archive, [name for name in names if name.startswith("topic=")], tmp_path))


def test_a_delta_table_in_s3(
    broker: BrokerProcess, run_job: RunJob, s3: Mapping[str, str], topic: str, tmp_path: Path
) -> None:
    """A Delta table in S3 has each record once, and a second run goes on after the first."""
    archive = f"s3://{BUCKET}/{topic}"
    storage = [f"--storage={name}={value}" for name, value in s3.items()]
    arguments = ["archive", topic, "--output", archive, "--format", "delta", *storage]
    produce(broker.bootstrap, topic, RECORDS // 2)
    first = run_job(broker.bootstrap, *arguments)
    assert (first.code, first.errors) == (0, "")
    produce_more(broker.bootstrap, topic, RECORDS)
    second = run_job(broker.bootstrap, *arguments)
    assert [sum(each["rows"] for each in run.progress) for run in (first, second)] == [RECORDS // 2] * 2
    uris = DeltaTable(archive, storage_options=storage_options(s3)).file_uris()
    _each_once(_files(s3, archive, [uri.removeprefix(f"{archive}/") for uri in uris], tmp_path))
