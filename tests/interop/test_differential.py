"""The same requests to Apache Kafka and to odradek get the same answers, but for the differences by intent."""

from collections.abc import Iterator

import pytest

from tests.interop.differential.compare import differences, summary
from tests.interop.differential.intended import INTENDED, outdated, unintended
from tests.interop.differential.play import play
from tests.interop.differential.scenarios import SCENARIOS
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.wire import WireClient
from tests.support.wire.schema import APIS

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


DROPPED_BY_KAFKA_4 = {
    "AlterReplicaLogDirs",
    "CreateAcls",
    "CreateDelegationToken",
    "DeleteAcls",
    "DescribeAcls",
    "DescribeDelegationToken",
    "ExpireDelegationToken",
    "Fetch",
    "ListOffsets",
    "OffsetCommit",
    "OffsetFetch",
    "CreateTopics",
    "DeleteTopics",
    "OffsetForLeaderEpoch",
    "RenewDelegationToken",
    "DescribeConfigs",
    "DescribeLogDirs",
    "WriteTxnMarkers",
}
"""APIs whose first versions Kafka 4 no longer offers (KIP-896); of Produce it still offers them."""


def test_the_same_versions_are_offered_but_for_those_that_kafka_4_dropped(pair: Pair) -> None:
    """Up to the same last one of each API; the first ones of some APIs only here."""
    kafka, odradek = (_offered(broker.port) for broker in pair)
    assert odradek.keys() <= kafka.keys()
    assert {name: last for name, (_, last) in odradek.items()} == {name: kafka[name][1] for name in odradek}
    earlier = {name for name, (first, _) in odradek.items() if first != kafka[name][0]}
    assert earlier == DROPPED_BY_KAFKA_4
    assert {first for first, _ in odradek.values()} == {0}


WITHOUT_BEHAVIOUR = {"share.version", "streams.version"}
"""Features that Kafka tells of, and that a client would act on in vain here."""


def test_the_same_features_are_told_but_for_those_that_are_not_served(pair: Pair) -> None:
    """With the same range, and where they are finalized, at the level of the directory."""
    for version in (3, 4):
        kafka, odradek = (_features(broker.port, version) for broker in pair)
        assert odradek[0] == {name: range for name, range in kafka[0].items() if name not in WITHOUT_BEHAVIOUR}
        assert odradek[1] == {
            **{name: level for name, level in kafka[1].items() if name not in WITHOUT_BEHAVIOUR},
            "metadata.version": (25, 25),
        }


def _features(port: int, version: int) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """Return what is supported and what is finalized, lowest and highest level by name."""
    with WireClient(port) as wire:
        answer = wire.ask("ApiVersions", version, client_software_name="test", client_software_version="1")
    return (
        {each["name"]: (each["min_version"], each["max_version"]) for each in answer["supported_features"]},
        {each["name"]: (each["min_version_level"], each["max_version_level"]) for each in answer["finalized_features"]},
    )


def _offered(port: int) -> dict[str, tuple[int, int]]:
    names = {info.key: name for name, info in APIS.items()}
    with WireClient(port) as wire:
        answer = wire.ask("ApiVersions", 0)
    return {names[one["api_key"]]: (one["min_version"], one["max_version"]) for one in answer["api_keys"]}


def test_differences_by_intent_belong_to_a_scenario() -> None:
    """An entry of the table for a scenario that does not exist would never be checked."""
    assert {entry.scenario for entry in INTENDED} <= set(SCENARIOS)
