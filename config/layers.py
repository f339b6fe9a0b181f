"""The layers that a broker's configuration is made of, and how Kafka looks through them.

Owns the order of the layers (dynamic of this broker, dynamic of all brokers, given at start, Kafka's default) and which
keys stand in for each other (`log.retention.ms` before `.minutes` before `.hours`, a listener's own key before the
general one). Source: Kafka 4.3's DynamicBrokerConfig and ConfigHelper (KIP-226).
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from odradek.config.definitions import ConfigKey, broker_definitions, quota_definitions


class ConfigSource(IntEnum):
    """Where a value comes from, by its number in DescribeConfigs answers (KIP-226)."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigSynonym(NamedTuple):
    """One of the values that a configuration is chosen from, the one in force first."""

    name: str
    value: str | None
    source: ConfigSource


class BrokerLayers(NamedTuple):
    """The values of one broker by layer: given at start, dynamic for all brokers, dynamic for this one."""

    static: Mapping[str, str]
    dynamic_default: Mapping[str, str] = MappingProxyType({})
    dynamic_broker: Mapping[str, str] = MappingProxyType({})

    @property
    def effective(self) -> dict[str, str]:
        """The values in force, without defaults; a dynamic log.retention.ms also puts .minutes and .hours aside."""
        values = dict(self.static)
        for dynamic in (self.dynamic_default, self.dynamic_broker):
            for name in dynamic:
                if not _LISTENER_KEY.match(name):
                    for other in broker_synonyms(name):
                        values.pop(other, None)
            values.update(dynamic)
        return values


_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.+)\Z")
_MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """Return the broker keys that `name` is chosen from, itself among them, the finest unit first."""
    for family in _FAMILIES:
        if name in family:
            return family
    if name == _FLUSH[0]:
        return _FLUSH
    found = _LISTENER_KEY.match(name)
    if found:
        base = found[1]
        return name, next((one for one in _MECHANISM_KEYS if base.endswith(one)), base)
    return (name,)


def broker_definition(name: str) -> ConfigKey | None:
    """Return what is known of a key that a broker may have: its own, of one listener, or a dynamic quota."""
    definition = broker_definitions().get(name) or quota_definitions().get(name)
    if definition is None and _LISTENER_KEY.match(name):
        return broker_definitions().get(broker_synonyms(name)[1])
    return definition


def is_secret(name: str) -> bool:
    """Whether the value of a broker's config is for nobody's eyes, also where the name is that of one listener."""
    definition = broker_definitions().get(name) or broker_definition(name)
    return definition is not None and definition.sensitive and not name.endswith(("certificates", "certificate.chain"))


def find_synonyms(layers: BrokerLayers, name: str, sensitive: bool) -> list[ConfigSynonym]:
    """Return every value given for a broker key or what it falls back to, from the key itself on."""
    names = broker_synonyms(name)
    found: list[ConfigSynonym] = []
    for source, values in (
        (ConfigSource.DYNAMIC_BROKER, layers.dynamic_broker),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, layers.dynamic_default),
        (ConfigSource.STATIC_BROKER, layers.static),
    ):
        found += [ConfigSynonym(one, None if sensitive else values[one], source) for one in names if one in values]
    for one in names:
        definition = broker_definitions().get(one)
        if definition is not None and definition.default is not None:
            found.append(ConfigSynonym(one, None if sensitive else definition.default, ConfigSource.DEFAULT))
    first = next((index for index, one in enumerate(found) if one.name == name), len(found))
    return found[first:]
