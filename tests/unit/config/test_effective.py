"""DescribeConfigs, against whole answers of Apache Kafka 4.3.

answers/server.properties is the file that Kafka ran with; static_*.jsonl are its answers then, dynamic_*.jsonl those
after the changes below. Each line: name, value, source, read only, sensitive, type, synonyms.
"""

import json
from pathlib import Path

import pytest

from odradek.config.definitions import broker_definitions
from odradek.config.effective import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_created_topic,
    describe_default_broker,
    describe_group,
    describe_topic,
)
from odradek.config.layers import BrokerLayers, ConfigSource, ConfigSynonym
from odradek.config.loading import load_settings

ANSWERS = Path(__file__).parent / "answers"
OVERRIDES = {
    "cleanup.policy": "compact , delete",
    "retention.ms": " 7000 ",
    "preallocate": "FALSE",
    "min.cleanable.dirty.ratio": "1",
    "segment.bytes": "+1048576",
    "compression.type": "lz4",
}
ALL_BROKERS = {"min.insync.replicas": "1"}
"""What Kafka 4.3 writes for all brokers of a new cluster (KIP-966)."""


def layers(label: str) -> BrokerLayers:
    static = load_settings(str(ANSWERS / "server.properties")).values
    if label == "static":
        return BrokerLayers(static, ALL_BROKERS)
    return BrokerLayers(
        static,
        {
            **ALL_BROKERS,
            "log.retention.ms": "999999999",
            "message.max.bytes": "2500000",
            "log.roll.jitter.ms": "9",
            "my.dyn": "1",
        },
        {
            "log.retention.ms": "-5",
            "compression.type": "zstd",
            "log.flush.interval.ms": "1000",
            "listener.name.plaintext.max.connections": "99",
            "listener.name.plaintext.ssl.keystore.type": "PEM",
            "leader.replication.throttled.rate": "5000",
        },
    )


def rows(entries: list[ConfigEntry]) -> dict[str, list[object]]:
    table: dict[str, list[object]] = {}
    for one in entries:
        synonyms = [[synonym.name, synonym.value, synonym.source] for synonym in one.synonyms]
        table[one.name] = [one.name, one.value, one.source, one.read_only, one.sensitive, one.type, synonyms]
    assert len(table) == len(entries)
    return table


def answer(name: str) -> dict[str, list[object]]:
    lines = (ANSWERS / f"{name}.jsonl").read_text().splitlines()
    return {row[0]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("label", ["static", "dynamic"])
def test_a_broker_is_described_as_kafka_does(label: str) -> None:
    """All keys, values, sources, flags and synonyms of the broker."""
    assert rows(describe_broker(layers(label))) == answer(f"{label}_broker")


@pytest.mark.parametrize("label", ["static", "dynamic"])
def test_all_brokers_are_described_as_kafka_does(label: str) -> None:
    """The broker named "" has only what was set for all brokers."""
    assert rows(describe_default_broker(layers(label))) == answer(f"{label}_all_brokers")


@pytest.mark.parametrize("label", ["static", "dynamic"])
def test_a_topic_is_described_as_kafka_does(label: str) -> None:
    """With and without overrides of its own."""
    assert rows(describe_topic(layers(label), {})) == answer(f"{label}_topic")
    assert rows(describe_topic(layers(label), OVERRIDES)) == answer(f"{label}_topic_with_overrides")


def test_a_created_topic_is_described_as_kafka_does() -> None:
    """CreateTopics answers texts as they were given, and looks through the layers one by one."""
    overrides = {key: OVERRIDES[key] for key in ("cleanup.policy", "retention.ms", "preallocate")}
    entries = describe_created_topic(layers("dynamic"), overrides)
    shown = [[one.name, one.value, one.source, one.read_only, one.sensitive] for one in entries]
    expected = [json.loads(line) for line in (ANSWERS / "dynamic_created_topic.jsonl").read_text().splitlines()]
    assert shown == expected


def test_a_group_is_described_as_kafka_does() -> None:
    """A group's own value before the broker's default for all groups."""
    assert rows(describe_group(layers("static"), {})) == answer("static_group")
    assert rows(describe_group(layers("dynamic"), {"consumer.session.timeout.ms": "50000"})) == answer("dynamic_group")


def test_a_subscription_to_metrics_is_described_as_kafka_does() -> None:
    """Defaults have no synonyms, a given value has itself."""
    entries = {one.name: one for one in describe_client_metrics({"interval.ms": "1000"})}
    assert entries["interval.ms"][1:4] == ("1000", ConfigSource.CLIENT_METRICS, False)
    assert entries["interval.ms"].synonyms == (ConfigSynonym("interval.ms", "1000", ConfigSource.CLIENT_METRICS),)
    assert entries["match"][1:3] == ("", ConfigSource.DEFAULT)
    assert entries["match"].synonyms == ()


def test_names_choose_and_no_names_mean_all() -> None:
    """An empty list of keys is the same as none; a key that there is not is left out."""
    given = layers("static")
    assert [one.name for one in describe_topic(given, {}, ["retention.ms", "nope"])] == ["retention.ms"]
    assert [one.name for one in describe_broker(given, ["num.partitions", "nope"])] == ["num.partitions"]
    assert [one.name for one in describe_default_broker(given, ["nope"])] == []
    assert len(describe_topic(given, {}, [])) == len(describe_topic(given, {}))
    assert len(describe_group(given, {}, ["nope"])) == 0


def test_documentation_is_given_when_asked_for() -> None:
    """Our sentence for each key that is known, none otherwise."""
    given = layers("static")
    (entry,) = describe_topic(given, {}, ["retention.ms"], documented=True)
    assert entry.documentation
    assert entry.documentation.startswith("How long records are kept")
    (entry,) = describe_topic(given, {}, ["retention.ms"])
    assert entry.documentation is None
    texts = {one.name: one.documentation for one in describe_broker(given, documented=True)}
    assert {name for name, text in texts.items() if not text} == {
        "listener.name.plaintext.max.connections",
        "listener.name.plaintext.ssl.keystore.password",
        "my.custom",
        "segment.bytes",
    }
    assert texts["num.partitions"] == broker_definitions()["num.partitions"].documentation


def test_internal_keys_are_listed_only_when_given() -> None:
    """As Kafka keeps them out of sight."""
    names = [one.name for one in describe_topic(layers("static"), {})]
    assert "internal.segment.bytes" not in names
    entries = describe_topic(layers("static"), {"internal.segment.bytes": "100"}, ["internal.segment.bytes"])
    assert [(one.value, one.source) for one in entries] == [("100", ConfigSource.TOPIC)]


def test_stored_values_that_mean_nothing_are_shown_as_they_are() -> None:
    """What somebody else wrote into the metadata log must not make DescribeConfigs fail."""
    odd = BrokerLayers({"node.id": "1"}, {}, {"message.max.bytes": " many ", "log.retention.ms": "x"})
    shown = {one.name: one.value for one in describe_broker(odd)}
    assert (shown["message.max.bytes"], shown["broker.id"]) == ("many", "1")
    topic = {one.name: one.value for one in describe_topic(odd, {"segment.ms": "soon"})}
    assert (topic["max.message.bytes"], topic["retention.ms"], topic["segment.ms"]) == ("1048588", "604800000", "soon")


def test_secrets_are_never_shown() -> None:
    """Neither a password nor a value whose meaning is unknown."""
    given = BrokerLayers(
        {"ssl.key.password": "hush", "my.own": "hush", "listener.name.a.plain.sasl.jaas.config": "hush"}
    )
    assert "hush" not in str(describe_broker(given))
