"""Fixtures shared by all tests, and the rule for tests that need Apache Kafka itself.

`ODRADEK_TEST_BROKER=apache-kafka` makes the integration tests run against Apache Kafka instead of the project's own
broker: that is how they are known to be right.
"""

from __future__ import annotations

import gc
import os
import signal
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.integration.groups import BROKER_SETTINGS, Command, Member, MemberSettings
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.kafka_jars import missing_programs
from tests.support.pipeline_job import FinishedJob, RunJob
from tests.support.pipeline_job import run_job as run_pipeline_job
from tests.support.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGAINST_APACHE_KAFKA = os.environ.get("ODRADEK_TEST_BROKER") == "apache-kafka"
IN_CI = os.environ.get("CI") == "true"
LONG_ID = 200

hypothesis.settings.register_profile(
    "odradek",
    deadline=None,  # how long a busy machine takes says nothing
    # The same examples in each run: what is found one time in a thousand must not fail the run of somebody else's work.
    derandomize="ODRADEK_EXAMPLES" not in os.environ,
)
hypothesis.settings.load_profile("odradek")

BrokerFactory = Callable[..., BrokerProcess]
MemberFactory = Callable[[Command, MemberSettings], Member]


def pytest_configure(config: pytest.Config) -> None:
    """In continuous integration no test may be left out for want of a program.

    What a shell starts in the background ignores Ctrl-C, and so does all that it starts: the programs that tests
    interrupt would not end.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if IN_CI and missing_programs():
        raise pytest.UsageError(_interop_left_out())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the interop tests out where Java or Maven is missing, and start first what takes longest.

    That is what one worker must run one test after the other, interop tests before others; then come the rest of the
    interop tests, and what may take longer than others. What is short and bound to no worker fills the gaps, and
    nothing that takes a minute is left for the end, when the other workers have nothing more to do.
    """
    if missing_programs():
        config.hook.pytest_deselected(items=[item for item in items if _is_interop(item)])
        items[:] = [item for item in items if not _is_interop(item)]
    items.sort(key=_turn)


def pytest_collection_finish() -> None:
    """Let the garbage collector look no more at half a million objects of tests that wait for their turn."""
    gc.freeze()


def _turn(item: pytest.Item) -> tuple[bool, bool, bool]:
    marked = {mark.name for mark in item.iter_markers()}
    return "xdist_group" not in marked, "interop" not in marked, "timeout" not in marked


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long value by its length: each worker makes the names of all tests, and sends them around."""
    return f"{argname}-of-{len(val)}" if isinstance(val, (str, bytes)) and len(val) > LONG_ID else None


def _is_interop(item: pytest.Item) -> bool:
    return item.get_closest_marker("interop") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line that the interop tests were left out, where they were."""
    if missing_programs():
        terminalreporter.write_line(_interop_left_out())


def _interop_left_out() -> str:
    return f"interop tests are left out: {' and '.join(missing_programs())} not found (Java 17+ and Maven are needed)"


def _new_broker(directory: Path, overrides: Mapping[str, str] | None = None) -> BrokerProcess:
    kind = ApacheKafkaProcess if AGAINST_APACHE_KAFKA else OdradekProcess
    return kind(directory, overrides)


@pytest.fixture
def new_broker(tmp_path: Path) -> Iterator[BrokerFactory]:
    """Make brokers that a test starts, stops and kills as it likes; what still runs at its end is ended."""
    brokers: list[BrokerProcess] = []

    def make(overrides: Mapping[str, str] | None = None, directory: Path | None = None) -> BrokerProcess:
        broker = _new_broker(directory or tmp_path / f"broker-{len(brokers)}", overrides)
        brokers.append(broker)
        return broker

    yield make
    for broker in brokers:
        broker.discard()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A running broker with default settings that many tests share, each with topics of its own."""
    shared = _new_broker(tmp_path_factory.mktemp("shared-broker"))
    shared.start()
    yield shared
    assert shared.stop() == (143 if AGAINST_APACHE_KAFKA else 0), shared.log


@pytest.fixture(scope="session")
def groups_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A running broker that notices quickly when a member of a group is gone, shared by many tests."""
    shared = _new_broker(tmp_path_factory.mktemp("groups-broker"), BROKER_SETTINGS)
    shared.start()
    yield shared
    assert shared.stop() == (143 if AGAINST_APACHE_KAFKA else 0), shared.log


@pytest.fixture
def new_member() -> Iterator[MemberFactory]:
    """Start members of groups; those that still run at the end of the test are ended."""
    members: list[Member] = []

    def make(command: Command, settings: MemberSettings) -> Member:
        members.append(Member(command, settings))
        return members[-1]

    yield make
    for member in members:
        member.discard()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of Spark that all tests of the group `spark` share: they run one after another, in one process."""
    with spark_session() as session:
        yield session


@pytest.fixture
def run_job(spark: SparkSession) -> RunJob:
    """Run jobs of `odradek pipeline` to their end, in the session of Spark that tests share."""

    def run(bootstrap: str, *arguments: str) -> FinishedJob:
        job = run_pipeline_job(spark, bootstrap, *arguments)
        assert job.code == 0, job.errors
        return job

    return run


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses."""
    return f"t-{zlib.crc32(request.node.nodeid.encode()):x}"
