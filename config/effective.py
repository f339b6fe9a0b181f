"""What a configuration is in force, and where it comes from: the content of DescribeConfigs answers.

Pure: the caller gives the layers and the overrides of a topic or group, and puts the entries into its message.
Sources and synonyms are Kafka's, oddities included: a list of synonyms starts at the key itself, so that a topic whose
retention comes from `log.retention.hours` says DEFAULT_CONFIG and names no synonym.

Source: Apache Kafka 4.3's answers (ConfigHelper), kept as expected tables in tests/unit/config.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from odradek.config.definitions import (
    ConfigKey,
    UpdateMode,
    broker_definitions,
    client_metrics_definitions,
    group_definitions,
    quota_definitions,
    topic_definitions,
)
from odradek.config.errors import ConfigError
from odradek.config.layers import BrokerLayers, ConfigSource, ConfigSynonym, broker_definition, find_synonyms
from odradek.config.topic import broker_value
from odradek.config.values import to_text, trim

UNKNOWN_TYPE = 0


class ConfigEntry(NamedTuple):
    """One configuration as DescribeConfigs shows it; `type` is Kafka's number, a sensitive value is None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: int
    documentation: str | None


def describe_topic(
    layers: BrokerLayers, overrides: Mapping[str, str], names: Collection[str] | None = None, documented: bool = False
) -> list[ConfigEntry]:
    """Return the configurations of a topic; all of them when `names` is None or empty."""
    broker = layers.effective
    entries = []
    for definition in _chosen(topic_definitions(), overrides, names):
        value = _topic_text(definition, broker, overrides)
        first = definition.synonyms[0].name if definition.synonyms else None
        synonyms = find_synonyms(layers, first, definition.sensitive) if first else []
        if definition.name in overrides:
            synonyms.insert(0, ConfigSynonym(definition.name, value, ConfigSource.TOPIC))
        entries.append(_entry(definition, definition.name, value, False, synonyms, documented))
    return entries


def describe_created_topic(layers: BrokerLayers, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """Return the configurations of a topic as CreateTopics answers them: texts as given, sources by layer (KIP-525)."""
    entries = []
    given = (
        (ConfigSource.DYNAMIC_BROKER, layers.dynamic_broker),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, layers.dynamic_default),
        (ConfigSource.STATIC_BROKER, layers.static),
    )
    for definition in _chosen(topic_definitions(), overrides, None):
        value, source = definition.default_text, ConfigSource.DEFAULT
        if definition.name in overrides:
            value, source = overrides[definition.name], ConfigSource.TOPIC
        else:
            for layer, values in given:
                found = next((one for one in definition.synonyms if one.name in values), None)
                if found is not None:
                    value, source = found.convert(values[found.name]), layer
                    break
        entries.append(
            ConfigEntry(definition.name, value, source, False, definition.sensitive, (), definition.type.code, None)
        )
    return entries


def describe_broker(
    layers: BrokerLayers, names: Collection[str] | None = None, documented: bool = False
) -> list[ConfigEntry]:
    """Return the configurations of this broker; all of them when `names` is None or empty."""
    if "node.id" in layers.static and "broker.id" not in layers.static:
        static = {**layers.static, "broker.id": layers.static["node.id"]}
        layers = BrokerLayers(static, layers.dynamic_default, layers.dynamic_broker)
    given = layers.effective
    listed = dict.fromkeys(name for name, one in broker_definitions().items() if not one.internal) | given
    entries = []
    for name in listed:
        if not names or name in names:
            synonyms = find_synonyms(layers, name, _is_sensitive(name))
            entries.append(_broker_entry(name, _broker_text(name, given), synonyms, documented))
    return entries


def describe_default_broker(
    layers: BrokerLayers, names: Collection[str] | None = None, documented: bool = False
) -> list[ConfigEntry]:
    """Return the dynamic configurations that all brokers have, which is what the broker named "" has."""
    entries = []
    for name, value in layers.dynamic_default.items():
        if not names or name in names:
            hidden = _is_sensitive(name)
            synonyms = [
                one for one in find_synonyms(layers, name, hidden) if one.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
            ]
            entries.append(_broker_entry(name, None if hidden else value, synonyms, documented))
    return entries


def describe_group(
    layers: BrokerLayers, overrides: Mapping[str, str], names: Collection[str] | None = None, documented: bool = False
) -> list[ConfigEntry]:
    """Return the configurations of a group; all of them when `names` is None or empty."""
    broker = layers.effective
    entries = []
    for definition in _chosen(group_definitions(), overrides, names):
        broker_key = f"group.{definition.name}"
        fallback = broker_definitions().get(broker_key)
        text = overrides.get(definition.name, broker.get(broker_key, definition.default or ""))
        value = _shown(definition, text)
        if fallback is None:
            synonyms = [ConfigSynonym(definition.name, definition.default, ConfigSource.DEFAULT)]
        else:
            synonyms = find_synonyms(layers, broker_key, definition.sensitive)
        if definition.name in overrides:
            synonyms.insert(0, ConfigSynonym(definition.name, value, ConfigSource.GROUP))
        entries.append(_entry(definition, definition.name, value, False, synonyms, documented))
    return entries


def describe_client_metrics(
    overrides: Mapping[str, str], names: Collection[str] | None = None, documented: bool = False
) -> list[ConfigEntry]:
    """Return the configurations of a subscription to clients' metrics (KIP-714); all when `names` is None or empty."""
    entries = []
    for definition in _chosen(client_metrics_definitions(), overrides, names):
        text = overrides.get(definition.name, definition.default or "")
        value = _shown(definition, text)
        given = definition.name in overrides
        synonyms = [ConfigSynonym(definition.name, value, ConfigSource.CLIENT_METRICS)] if given else []
        entries.append(_entry(definition, definition.name, value, False, synonyms, documented))
    return entries


def _chosen(
    table: Mapping[str, ConfigKey], overrides: Mapping[str, str], names: Collection[str] | None
) -> Iterable[ConfigKey]:
    for name, definition in table.items():
        if (not definition.internal or name in overrides) and (not names or name in names):
            yield definition


def _shown(definition: ConfigKey, text: str | None) -> str | None:
    """Return a text as Kafka shows the value that it means; one that means nothing (stored elsewhere) as it is."""
    if text is None:
        return None
    try:
        return to_text(definition.parse(text))
    except ConfigError:
        return trim(text)


def _topic_text(definition: ConfigKey, broker: Mapping[str, str], overrides: Mapping[str, str]) -> str | None:
    if definition.name in overrides:
        return _shown(definition, overrides[definition.name])
    try:
        value = broker_value(definition, broker)
    except ConfigError:
        value = None
    return _shown(definition, definition.default) if value is None else to_text(value)


def _is_sensitive(name: str) -> bool:
    definition = broker_definition(name)
    return definition is None or definition.sensitive


def _broker_text(name: str, given: Mapping[str, str]) -> str | None:
    if _is_sensitive(name):
        return None
    definition = broker_definitions().get(name)
    if definition is None:
        return given[name]
    return _shown(definition, given.get(name, definition.default))


def _broker_entry(name: str, value: str | None, synonyms: list[ConfigSynonym], documented: bool) -> ConfigEntry:
    exact = broker_definitions().get(name) or quota_definitions().get(name)
    read_only = exact is None or exact.scope is UpdateMode.READ_ONLY
    definition = broker_definition(name)
    if definition is not None:
        return _entry(definition, name, value, read_only, synonyms, documented and exact is not None)
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(name, None, source, True, True, tuple(synonyms), UNKNOWN_TYPE, None)


def _entry(
    definition: ConfigKey,
    name: str,
    value: str | None,
    read_only: bool,
    synonyms: list[ConfigSynonym],
    documented: bool,
) -> ConfigEntry:
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    documentation = definition.documentation if documented else None
    shown = None if definition.sensitive else value
    return ConfigEntry(
        name, shown, source, read_only, definition.sensitive, tuple(synonyms), definition.type.code, documentation
    )
