"""The same requests to Apache Kafka and to odradek get the same answers, but for the differences by intent."""

from collections.abc import Iterator

import pytest

from tests.interop.differential.compare import differences, summary
from tests.interop.differential.intended import INTENDED, outdated, unintended
from tests.interop.differential.play import play
from tests.interop.differential.scenarios import SCENARIOS
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

Pair = tuple[BrokerProcess, BrokerProcess]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A fresh Apache Kafka and a fresh odradek with the same settings, for the scenarios alone."""
    brokers = (
        ApacheKafkaProcess(tmp_path_factory.mktemp("kafka")),
        OdradekProcess(tmp_path_factory.mktemp("odradek")),
    )
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.discard()


@pytest.mark.parametrize("name", SCENARIOS)
def test_answers_equal_those_of_apache_kafka(pair: Pair, name: str) -> None:
    """Every field of every answer at every version, where it is not a difference by intent."""
    kafka, odradek = (play(SCENARIOS[name], broker.port) for broker in pair)
    found = differences(kafka, odradek)
    unequal = unintended(name, found)
    if unequal:
        pytest.fail(
            f"{len({each.answer for each in unequal})} of {len(kafka)} answers differ:\n{summary(unequal)}",
            pytrace=False,
        )
    assert not outdated(name, found), "these differences by intent are none any more"


def test_differences_by_intent_belong_to_a_scenario() -> None:
    """An entry of the table for a scenario that does not exist would never be checked."""
    assert {entry.scenario for entry in INTENDED} <= set(SCENARIOS)
