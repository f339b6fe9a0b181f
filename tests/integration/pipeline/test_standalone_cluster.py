"""A job that spark-submit starts on a standalone Spark. It takes minutes of seven JVMs, so it runs where it is wanted
(`ODRADEK_SPARK_CLUSTER=1 pytest -n 0 tests/integration/pipeline/test_standalone_cluster.py`).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.pipeline.records import archived, expected, produce
from tests.support.broker import REPOSITORY, BrokerProcess
from tests.support.distributions import build
from tests.support.standalone_spark import StandaloneSpark

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        "ODRADEK_SPARK_CLUSTER" not in os.environ, reason="ODRADEK_SPARK_CLUSTER=1 has it start a cluster of Spark"
    ),
]

COUNT = 3_000


@pytest.fixture
def spark_cluster(tmp_path: Path) -> Iterator[StandaloneSpark]:
    """One master and two workers."""
    cluster = StandaloneSpark(tmp_path / "spark")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def test_a_submitted_job(spark_cluster: StandaloneSpark, broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    """Master and name come from spark-submit, the code from a wheel that both workers are sent, and every record is in
    the archive once."""
    produce(broker.bootstrap, topic, COUNT)
    (wheel,) = build(REPOSITORY, tmp_path / "dist", "--wheel").iterdir()
    job = ["archive", topic, "--bootstrap-server", broker.bootstrap, "--output", str(tmp_path / "archive")]
    done = spark_cluster.submit(REPOSITORY / "examples" / "spark_submit.py", wheel, *job, "--available-now")
    assert done.returncode == 0, done.stderr
    assert spark_cluster.executors() == ["worker-0", "worker-1"]
    assert len(list(tmp_path.glob(f"spark/worker-*/app-*/*/{wheel.name}"))) == 2
    assert archived(tmp_path / "archive", topic) == expected(COUNT)
