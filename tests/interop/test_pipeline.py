"""The jobs on Apache Kafka itself: nothing in them is for one broker only."""

import json
from pathlib import Path

import pytest

from tests.integration.pipeline.records import archived, expected, produce
from tests.support.broker import ApacheKafkaProcess
from tests.support.pipeline_job import RunJob

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

RECORDS = 600


def test_an_archive_of_topics_of_apache_kafka(kafka: ApacheKafkaProcess, run_job: RunJob, tmp_path: Path) -> None:
    """Topics of Apache Kafka are archived, every record once and as it was written."""
    produce(kafka.bootstrap, "archived-1", RECORDS, compression="zstd")
    archive = tmp_path / "archive"
    arguments = ("archive", "--pattern", "archived-.*", "--output", str(archive))
    run_job(kafka.bootstrap, *arguments, "--max-offsets-per-trigger", "400")
    assert archived(archive, "archived-1") == expected(RECORDS)


def test_a_relay_and_a_word_count_on_apache_kafka(kafka: ApacheKafkaProcess, run_job: RunJob, tmp_path: Path) -> None:
    """What one job writes to a topic of Apache Kafka another one reads there, all of it once."""
    produce(kafka.bootstrap, "orders", RECORDS)
    select = ("--select", "'one word, another word' AS value")
    run_job(kafka.bootstrap, "relay", "orders", "--to", "words", *select, "--checkpoint", str(tmp_path / "at"))
    shown = run_job(kafka.bootstrap, "wordcount", "words").output.splitlines()
    assert json.loads(shown[-1])["words"] == [
        {"word": "word", "count": 2 * RECORDS},
        {"word": "another", "count": RECORDS},
        {"word": "one", "count": RECORDS},
    ]
