"""Fixtures of the tests of jobs: real processes, ended afterwards."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import IN_CI
from tests.support import redis_server
from tests.support.broker import BrokerProcess
from tests.support.pipeline_process import PipelineProcess

StartJob = Callable[..., PipelineProcess]


@pytest.fixture
def start_job(tmp_path: Path) -> Iterator[StartJob]:
    """Start jobs; those that still run at the end of the test are ended."""
    jobs: list[PipelineProcess] = []
    numbers = count()

    def start(broker: BrokerProcess, *arguments: str) -> PipelineProcess:
        jobs.append(PipelineProcess(tmp_path / f"job-{next(numbers)}", broker.bootstrap, *arguments))
        return jobs[-1]

    yield start
    for job in jobs:
        job.kill()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[redis_server.RedisServer]:
    """A running Redis of the test's own."""
    if redis_server.missing() and not IN_CI:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    server = redis_server.RedisServer(tmp_path / "redis")
    server.start()
    yield server
    server.kill()
