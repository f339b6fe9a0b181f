"""Topic configuration: what a log is run with.

A topic key is resolved from, in this order: the topic's own override, the broker keys it falls back to (dynamic before
static, the finest unit first: ms, minutes, hours), Kafka's default. Knows nothing of where overrides are kept.

Source: Kafka 4.3's LogConfig and ServerTopicConfigSynonyms; ranges and defaults stand in config/tables/topic.txt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from odradek.config.definitions import ConfigKey, broker_definitions, topic_definitions
from odradek.config.errors import ConfigError
from odradek.config.values import Value, to_text

SEGMENT_BYTES_FOR_TESTS = "internal.segment.bytes"  # Kafka's own back door below the minimum of segment.bytes


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The configuration of one topic, typed; the field is the key with dots as underscores, units as in the key."""

    cleanup_policy: frozenset[str]
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delete_retention_ms: int
    file_delete_delay_ms: int
    flush_messages: int
    flush_ms: int
    follower_replication_throttled_replicas: tuple[str, ...]
    index_interval_bytes: int
    leader_replication_throttled_replicas: tuple[str, ...]
    local_retention_bytes: int
    local_retention_ms: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    message_timestamp_type: str
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    preallocate: bool
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    remote_storage_enable: bool
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool

    @property
    def compacted(self) -> bool:
        """Whether cleanup.policy contains compact, so that every record needs a key."""
        return "compact" in self.cleanup_policy

    @property
    def log_append_time(self) -> bool:
        """Whether the broker writes its own clock into batches."""
        return self.message_timestamp_type == "LogAppendTime"

    def with_overrides(self, overrides: Mapping[str, str]) -> "TopicConfig":
        """Return the configuration of a topic that has these overrides of its own; ConfigError names a bad one."""
        if not overrides:
            return self
        return _replaced(self, {key: _definition(key).parse(text) for key, text in overrides.items()})


def _definition(key: str) -> ConfigKey:
    definition = topic_definitions().get(key)
    if definition is None:
        raise ConfigError("there is no such topic configuration", key=key)
    return definition


def _field_value(key: str, value: Value) -> Value | frozenset[str]:
    return frozenset(value) if isinstance(value, tuple) and key == "cleanup.policy" else value


def _replaced(config: TopicConfig, values: Mapping[str, Value]) -> TopicConfig:
    fields: dict[str, Value | frozenset[str]] = {}
    for key, value in values.items():
        fields[key.replace(".", "_")] = _field_value(key, value)
    small = fields.pop(SEGMENT_BYTES_FOR_TESTS.replace(".", "_"), None)
    if small is not None:
        fields["segment_bytes"] = small
    return replace(config, **fields)  # type: ignore[arg-type]  # each value has the type its definition says


@cache
def kafka_defaults() -> TopicConfig:
    """Return what a topic gets when neither it nor the broker says anything."""
    fields: dict[str, Value | frozenset[str]] = {}
    for key, definition in topic_definitions().items():
        if definition.default is not None:
            fields[key.replace(".", "_")] = _field_value(key, definition.parse(definition.default))
    return TopicConfig(**fields)  # type: ignore[arg-type]  # a test holds every field against the table


def topic_defaults(broker: Mapping[str, str]) -> TopicConfig:
    """Return what a topic without overrides gets on a broker with these values, dynamic ones already on top."""
    values: dict[str, Value] = {}
    for key, definition in topic_definitions().items():
        resolved = broker_value(definition, broker)
        if resolved is not None:
            values[key] = resolved
    return _replaced(kafka_defaults(), values) if values else kafka_defaults()


def broker_value(definition: ConfigKey, broker: Mapping[str, str]) -> Value:
    """Return what the broker's values say about a topic key, in the topic key's unit; None when they say nothing."""
    for synonym in definition.synonyms:
        if synonym.name in broker:
            value = broker_definitions()[synonym.name].parse(broker[synonym.name])
            if synonym.name.startswith("log.retention.") and definition.name == "retention.ms":
                return max(value * synonym.scale, -1) if isinstance(value, int) else value
            return value * synonym.scale if isinstance(value, int) and synonym.scale != 1 else value
    return None


def topic_config(broker: Mapping[str, str], overrides: Mapping[str, str]) -> TopicConfig:
    """Return the configuration of one topic; for many topics use topic_defaults once and with_overrides for each."""
    return topic_defaults(broker).with_overrides(overrides)


def validate_overrides(overrides: Mapping[str, str], broker: Mapping[str, str] | None = None) -> None:
    """Refuse overrides that Kafka refuses: unknown keys, bad values, values that contradict each other.

    ConfigError names the key and what was expected; a client is answered INVALID_CONFIG.
    """
    for key in overrides:
        _definition(key)
    config = topic_config(broker or {}, overrides)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"min.compaction.lag.ms ({config.min_compaction_lag_ms}) is above "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    if config.remote_storage_enable:
        raise ConfigError(
            "tiered storage is not enabled on this broker",
            key="remote.storage.enable",
            value=to_text(config.remote_storage_enable),
        )
