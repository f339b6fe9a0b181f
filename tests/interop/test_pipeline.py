"""The jobs on Apache Kafka itself: nothing in them is for one broker only."""

from pathlib import Path

import pytest

from tests.integration.pipeline.records import archived, expected, produce
from tests.support.broker import ApacheKafkaProcess
from tests.support.pipeline_process import PipelineProcess

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

RECORDS = 600


def test_an_archive_of_topics_of_apache_kafka(tmp_path: Path) -> None:
    """Topics of Apache Kafka are archived, every record once and as it was written."""
    kafka = ApacheKafkaProcess(tmp_path / "kafka")
    try:
        kafka.start()
        produce(kafka.bootstrap, "orders-1", RECORDS, compression="zstd")
        archive = tmp_path / "archive"
        arguments = ["archive", "--pattern", "orders-.*", "--output", str(archive), "--available-now"]
        job = PipelineProcess(tmp_path / "job", kafka.bootstrap, *arguments, "--max-offsets-per-trigger", "400")
        try:
            assert job.wait() == 0, job.errors
        finally:
            job.kill()
        assert archived(archive, "orders-1") == expected(RECORDS)
    finally:
        kafka.discard()
