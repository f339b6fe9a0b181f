"""Topic configuration: resolution through the broker's keys, and overrides that Kafka 4.3 accepts or refuses."""

from dataclasses import replace

import pytest

from odradek.config.errors import ConfigError
from odradek.config.topic import TopicConfig, kafka_defaults, topic_config, topic_defaults, validate_overrides


def test_without_anything_a_topic_has_kafkas_defaults() -> None:
    """Spot checks; the table itself is held against Kafka's elsewhere."""
    config = topic_config({}, {})
    assert config is kafka_defaults()
    assert (config.segment_bytes, config.segment_ms, config.retention_ms) == (1 << 30, 604_800_000, 604_800_000)
    assert (config.cleanup_policy, config.compacted, config.log_append_time) == (frozenset({"delete"}), False, False)


@pytest.mark.parametrize(
    ("broker", "field", "value"),
    [
        ({"log.retention.hours": "2"}, "retention_ms", 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "retention_ms", 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, "retention_ms", 4),
        ({"log.retention.ms": "-5"}, "retention_ms", -1),
        ({"log.retention.hours": "-1"}, "retention_ms", -1),
        ({"log.roll.hours": "1"}, "segment_ms", 3_600_000),
        ({"log.roll.hours": "1", "log.roll.ms": "5"}, "segment_ms", 5),
        ({"log.roll.jitter.hours": "1"}, "segment_jitter_ms", 3_600_000),
        ({"log.flush.scheduler.interval.ms": "9"}, "flush_ms", 9),
        ({"log.flush.scheduler.interval.ms": "9", "log.flush.interval.ms": "8"}, "flush_ms", 8),
        ({"message.max.bytes": "77"}, "max_message_bytes", 77),
        ({"log.cleanup.policy": "compact , delete"}, "cleanup_policy", frozenset({"compact", "delete"})),
        ({"log.cleaner.min.cleanable.ratio": "0.1"}, "min_cleanable_dirty_ratio", 0.1),
        ({"log.preallocate": "TRUE"}, "preallocate", True),
        ({"min.insync.replicas": "2"}, "min_insync_replicas", 2),
        ({"log.message.timestamp.type": "LogAppendTime"}, "log_append_time", True),
        ({"num.partitions": "5", "my.own": "x"}, "retention_ms", 604_800_000),
    ],
)
def test_the_brokers_keys_stand_behind_the_topics(broker: dict[str, str], field: str, value: object) -> None:
    """The finest unit first, converted to the topic's."""
    assert getattr(topic_defaults(broker), field) == value


def test_an_override_wins_over_the_broker() -> None:
    """The topic's own value is the last word, and only its own key changes."""
    broker = {"log.retention.ms": "5", "log.segment.bytes": "2000000"}
    config = topic_config(broker, {"retention.ms": "7", "cleanup.policy": "compact"})
    expected = replace(topic_defaults(broker), retention_ms=7, cleanup_policy=frozenset({"compact"}))
    assert config == expected
    assert config.compacted


def test_the_key_for_tests_sets_the_segment_size() -> None:
    """internal.segment.bytes goes below the minimum of segment.bytes, and wins over it."""
    assert topic_config({}, {"internal.segment.bytes": "100"}).segment_bytes == 100
    assert topic_config({}, {"segment.bytes": "1048576", "internal.segment.bytes": "100"}).segment_bytes == 100


def test_topic_configs_are_values() -> None:
    """Equal when their content is, usable as keys."""
    assert len({topic_config({}, {"retention.ms": "5"}), topic_config({}, {"retention.ms": " 5 "})}) == 1
    assert isinstance(topic_config({}, {"retention.ms": "5"}), TopicConfig)


ACCEPTED = [
    {},
    {"retention.ms": " 7001 "},
    {"retention.ms": "-1"},
    {"cleanup.policy": ""},
    {"cleanup.policy": "delete,delete"},
    {"preallocate": "TRUE"},
    {"segment.bytes": "1048576"},
    {"internal.segment.bytes": "100"},
    {"min.insync.replicas": "3"},
    {"min.cleanable.dirty.ratio": "1"},
    {"leader.replication.throttled.replicas": "0:1,"},
    {"leader.replication.throttled.replicas": "*"},
    {"remote.storage.enable": "false"},
    {"local.retention.ms": "999999999999"},
]
REFUSED = [
    ({"nope": "1"}, "nope"),
    ({"": "1"}, ""),
    ({"segment.ms": "x", "nope": "1"}, "nope"),
    ({"retention.ms": ""}, "retention.ms"),
    ({"retention.ms": "x"}, "retention.ms"),
    ({"retention.ms": "-2"}, "retention.ms"),
    ({"retention.ms": "99999999999999999999"}, "retention.ms"),
    ({"cleanup.policy": "delete,"}, "cleanup.policy"),
    ({"cleanup.policy": "none"}, "cleanup.policy"),
    ({"compression.type": "GZIP"}, "compression.type"),
    ({"compression.type": "none"}, "compression.type"),
    ({"compression.gzip.level": "0"}, "compression.gzip.level"),
    ({"compression.gzip.level": "10"}, "compression.gzip.level"),
    ({"preallocate": "yes"}, "preallocate"),
    ({"segment.bytes": "1048575"}, "segment.bytes"),
    ({"message.timestamp.type": "createtime"}, "message.timestamp.type"),
    ({"min.cleanable.dirty.ratio": "1.1"}, "min.cleanable.dirty.ratio"),
    ({"min.insync.replicas": "0"}, "min.insync.replicas"),
    ({"leader.replication.throttled.replicas": "0:1,*"}, "leader.replication.throttled.replicas"),
    ({"remote.storage.enable": "true"}, "remote.storage.enable"),
    ({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, None),
]


@pytest.mark.parametrize("overrides", ACCEPTED)
def test_overrides_that_kafka_accepts(overrides: dict[str, str]) -> None:
    """As Apache Kafka answered CreateTopics and IncrementalAlterConfigs with NONE."""
    validate_overrides(overrides)


@pytest.mark.parametrize(("overrides", "key"), REFUSED)
def test_overrides_that_kafka_refuses(overrides: dict[str, str], key: str | None) -> None:
    """As Apache Kafka answered INVALID_CONFIG; unknown names are found before bad values."""
    with pytest.raises(ConfigError) as caught:
        validate_overrides(overrides)
    assert caught.value.key == key


def test_an_override_is_judged_together_with_the_brokers_values() -> None:
    """A lag that is fine by itself contradicts the broker's."""
    validate_overrides({"min.compaction.lag.ms": "10"})
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms \(10\) is above"):
        validate_overrides({"min.compaction.lag.ms": "10"}, {"log.cleaner.max.compaction.lag.ms": "5"})
