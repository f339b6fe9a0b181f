"""Configs of topics, brokers and groups: each value with where it comes from, and changes one by one (KIP-339)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType

from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer


class ConfigResourceType(IntEnum):
    """What has configs, by its number in requests."""

    TOPIC = 2
    BROKER = 4
    CLIENT_METRICS = 16
    GROUP = 32

    @property
    def word(self) -> str:
        """What it is called, as `kafka-configs --entity-type` has it, of one."""
        return self.name.lower().replace("_", "-")


class ConfigOrigin(IntEnum):
    """Where the value of a config comes from, by its number in answers, with Kafka's names."""

    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8

    @classmethod
    def _missing_(cls, value: object) -> ConfigOrigin:  # noqa: ARG003 - whatever later versions have
        return cls.UNKNOWN_CONFIG


_TYPES = {
    ConfigResourceType.TOPIC: ResourceType.TOPIC,
    ConfigResourceType.BROKER: ResourceType.BROKER,
    ConfigResourceType.GROUP: ResourceType.GROUP,
}
"""Those that librdkafka knows, which numbers them in its own way."""


@dataclass(frozen=True, slots=True)
class Config:
    """One config; `value` is None where it has none, or is kept secret (`sensitive`)."""

    name: str
    value: str | None
    source: ConfigOrigin
    sensitive: bool
    read_only: bool

    @property
    def is_default(self) -> bool:
        """Nobody has set it."""
        return self.source == ConfigOrigin.DEFAULT_CONFIG


def describe_configs(cluster: ClusterClients, kind: ConfigResourceType, name: str) -> list[Config]:
    """Return the configs of a topic, a broker or a group, by name; CommandError where it does not exist."""
    resource = ConfigResource(_TYPES[kind], name)
    future = cluster.admin.describe_configs([resource], request_timeout=ANSWER_TIMEOUT_S)[resource]
    return _configs(answer(future, f"{kind.name.lower()} {name}"))


def describe_topic_configs(cluster: ClusterClients, names: Sequence[str]) -> dict[str, list[Config]]:
    """Return the configs of topics; CommandError where one does not exist."""
    if not names:
        return {}
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}
    futures = cluster.admin.describe_configs(list(resources.values()), request_timeout=ANSWER_TIMEOUT_S)
    return {name: _configs(answer(futures[each], f"topic {name}")) for name, each in resources.items()}


def alter_configs(
    cluster: ClusterClients,
    kind: ConfigResourceType,
    name: str,
    changes: Sequence[tuple[str, str]],
    deletions: Sequence[str],
) -> None:
    """Set some configs and take others back; CommandError with the broker's reason where it refuses, and then none."""
    entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in changes]
    entries += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in deletions]
    resource = ConfigResource(_TYPES[kind], name, incremental_configs=entries)
    futures = cluster.admin.incremental_alter_configs([resource], request_timeout=ANSWER_TIMEOUT_S)
    answer(futures[resource], f"{kind.name.lower()} {name}")


def _configs(entries: dict[str, ConfigEntry]) -> list[Config]:
    return [
        Config(
            name=each.name,
            value=None if each.is_sensitive else each.value,
            source=ConfigOrigin(ConfigSource(each.source).value),
            sensitive=bool(each.is_sensitive),
            read_only=bool(each.is_read_only),
        )
        for _, each in sorted(entries.items())
    ]
