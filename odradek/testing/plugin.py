"""Fixtures for pytest, which finds this module by its entry point: a broker for the session, topics for tests.

    def test_orders(kafka_broker, kafka_topic):
        producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})

Another `kafka_broker_settings` of scope session in a conftest.py gives the broker other configs. With pytest-xdist each
worker has a broker of its own. What the broker said during a test that failed stands beside what the test printed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from odradek.testing.broker import Broker  # imported where a test wants one: most sessions have no use for it

_BROKER: pytest.StashKey[Broker] = pytest.StashKey()
_SAID_BEFORE: pytest.StashKey[int] = pytest.StashKey()


@pytest.fixture(scope="session")
def kafka_broker_settings() -> Mapping[str, str]:
    """Return configs of the broker, by Kafka's names; to be overridden in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def kafka_broker(kafka_broker_settings: Mapping[str, str], request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Start a broker for all tests of the session, and remove it at the end."""
    from odradek.testing.broker import Broker

    with Broker(kafka_broker_settings) as broker:
        request.config.stash[_BROKER] = broker
        try:
            yield broker
        finally:
            del request.config.stash[_BROKER]


@pytest.fixture
def kafka_topic(kafka_broker: Broker) -> str:
    """Make a topic with one partition and a fresh name, and return the name."""
    return kafka_broker.topic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note how much the broker had said before a test."""
    broker = item.config.stash.get(_BROKER, None)
    item.stash[_SAID_BEFORE] = 0 if broker is None else len(broker.log)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a test that failed what the broker said meanwhile."""
    report = yield
    broker = item.config.stash.get(_BROKER, None)
    if report.failed and broker is not None and "kafka_broker" in getattr(item, "fixturenames", ()):
        said = broker.log[item.stash.get(_SAID_BEFORE, 0) :]
        report.sections.append((f"Kafka broker log ({report.when})", said or "(nothing)"))
    return report
