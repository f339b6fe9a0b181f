"""The reader works with the lowest versions that it says it works with."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.pipeline.interpreter import worker_interpreter
from tests.support.broker import REPOSITORY, OdradekProcess
from tests.support.lowest_spark import ensure_lowest_spark

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

PER_PARTITION = 800
VALUE = b"v" * 200
"""So much that the compiled loops read it."""


def test_the_lowest_version_reads(tmp_path: Path) -> None:
    """Batch and streaming, headers, splitting and errors are as with the newest; limits are refused."""
    python = ensure_lowest_spark()
    broker = OdradekProcess(tmp_path / "broker")
    broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("t", 2, 1)])["t"].result(60)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(2 * PER_PARTITION):
            producer.produce("t", VALUE, b"k", number % 2, timestamp=1_700_000_000_000, headers=[("h", b"x")])
        assert producer.flush(60) == 0
        smoke = REPOSITORY / "tests" / "support" / "spark_smoke.py"
        workers = worker_interpreter(tmp_path, str(python))
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYSPARK_PYTHON": workers}
        environment["PYSPARK_DRIVER_PYTHON"] = (
            workers  # it finds the sources, and the newest Spark's tests leave theirs
        )
        command = [str(python), str(smoke), broker.bootstrap, "t", str(tmp_path)]
        done = subprocess.run(
            command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
    finally:
        broker.discard()
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["version"] == "4.0.0"
    assert found["rows"] == found["written"] == 2 * PER_PARTITION
    assert found["first"] == [["k", len(VALUE), 0, 1_700_000_000_000, "h"]] * 2
    assert found["batches"] == [2 * PER_PARTITION]
    assert "there is no topic nowhere" in found["unknown"]
    assert "need Spark 4.2 or newer" in found["limited"]
