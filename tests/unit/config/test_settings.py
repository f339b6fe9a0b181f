"""Typed settings: every field from its key, rules between keys, dynamic values on top."""

import pytest

from odradek.config.definitions import broker_definitions
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings, build_settings

LAYOUT = {
    "authorization",
    "http_listener",
    "quorum",
    "controller_listeners",
    "controller_protocol",
    "listeners",
    "advertised_listeners",
    "inter_broker_listener_name",
    "log_dirs",
    "metadata_log_dir",
    "max_connections_per_ip_overrides",
    "topic_defaults",
    "values",
    "origins",
    "dynamic",
    "warnings",
}


def key_of(field: str) -> str:
    return next(key for key in broker_definitions() if key.replace(".", "_") == field)


def test_fields_are_keys_and_hold_kafkas_defaults() -> None:
    """Every plain field is the key with dots as underscores; without a value it has the table's default."""
    settings = build_settings({}, {})
    for field in BrokerSettings._fields:
        if field not in LAYOUT | {"node_id"}:
            definition = broker_definitions()[key_of(field)]
            default = None if definition.default is None else definition.parse(definition.default)
            assert getattr(settings, field) == default, field


def test_settings_are_frozen() -> None:
    """Nobody changes settings in place."""
    with pytest.raises(AttributeError):
        load_settings().num_partitions = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    "override",
    [
        "log.roll.ms=0",
        "log.roll.jitter.ms=-1",
        "log.retention.ms=0",
        "log.retention.minutes=0",
        "log.retention.hours=0",
        "queued.max.request.bytes=100",
        "max.connections.per.ip=0",
        "connection.failed.authentication.delay.ms=600000",
        "log.cleaner.threads=0",
        "log.cleaner.dedupe.buffer.size=1000",
        "log.cleaner.dedupe.buffer.size=1048576",
        "replica.fetch.wait.max.ms=30001",
        "max.connections.per.ip.overrides=127.0.0.1:x",
        "max.connections.per.ip.overrides=nohost",
        "max.connections.per.ip.overrides=:5",
        "max.connections.per.ip.overrides=a:99999999999",
    ],
)
def test_values_that_contradict_others_are_refused(override: str) -> None:
    """Kafka's rules between keys; the error names the key that was given."""
    key, _, value = override.partition("=")
    with pytest.raises(ConfigError) as caught:
        load_settings(None, [override])
    assert (caught.value.key, caught.value.value, caught.value.origin) == (key, value, "--override")


@pytest.mark.parametrize(
    "overrides",
    [
        ["log.retention.ms=-5"],
        ["log.retention.ms=1", "log.retention.hours=0"],
        ["queued.max.request.bytes=0"],
        ["queued.max.request.bytes=104857600"],
        ["max.connections.per.ip=0", "max.connections.per.ip.overrides=127.0.0.1:5"],
    ],
)
def test_values_that_kafka_accepts_are_accepted(overrides: list[str]) -> None:
    """The other side of the same rules."""
    load_settings(None, overrides)


def test_connection_overrides() -> None:
    """Address or name to number; the last colon separates, brackets are taken off, the last entry counts."""
    settings = load_settings(None, ["max.connections.per.ip.overrides=127.0.0.1:5, ::1:6,[::2]:7,127.0.0.1:8,"])
    assert settings.max_connections_per_ip_overrides == {"127.0.0.1": 8, "::1": 6, "::2": 7}


def test_dynamic_values_lie_on_top_and_replace_earlier_ones() -> None:
    """What was set while the broker ran; deleting it gives back what the file says."""
    settings = load_settings(None, ["message.max.bytes=2000", "log.retention.hours=1"])
    changed = settings.with_dynamic({"message.max.bytes": "3000", "log.retention.ms": "5", "max.connections": "7"})
    assert changed.topic_defaults.max_message_bytes == 3000
    assert changed.topic_defaults.retention_ms == 5
    assert changed.max_connections == 7
    assert changed.values == settings.values
    assert changed.dynamic == {"message.max.bytes": "3000", "log.retention.ms": "5", "max.connections": "7"}
    assert changed.effective == {
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "log.dirs": "./odradek-data",
        "message.max.bytes": "3000",
        "node.id": "1",
        "process.roles": "broker,controller",
        "log.retention.ms": "5",
        "max.connections": "7",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.assignment.interval.ms": "0",
    }
    assert changed.with_dynamic({}) == settings
    assert settings.effective == settings.values


def test_stored_dynamic_values_that_cannot_be_used_are_ignored_and_reported() -> None:
    """A bad value in the metadata log must not keep the broker from starting."""
    settings = load_settings()
    stored = {
        "num.partitions": "5",
        "listeners": "PLAINTEXT://:1",
        "my.own": "1",
        "message.max.bytes": "x",
        "log.retention.ms": "0",
        "compression.type": "gzip",
    }
    changed = settings.with_dynamic(stored)
    assert changed.dynamic == {"compression.type": "gzip"}
    assert changed.topic_defaults.compression_type == "gzip"
    assert changed.listeners == settings.listeners
    assert {warning.key for warning in changed.warnings} == set(stored) - {"compression.type"}
    assert all(warning.origin == "metadata log" for warning in changed.warnings)


def test_a_dynamic_value_for_one_listener_takes_effect() -> None:
    """Its key is the listener's, what it may be is said by the key behind it."""
    key = "listener.name.plaintext.ssl.keystore.location"
    changed = load_settings().with_dynamic({key: "/new", "listener.name.plaintext.ssl.client.auth": "perhaps"})
    assert changed.of_listener("PLAINTEXT").text("ssl.keystore.location") == "/new"
    assert [one.key for one in changed.warnings] == ["listener.name.plaintext.ssl.client.auth"]
