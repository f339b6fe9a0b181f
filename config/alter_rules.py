"""Which dynamic values of brokers, groups and subscriptions are accepted.

Topics have theirs in config.topic. The rules and their order are Kafka 4.3's (DynamicBrokerConfig, GroupConfig,
ClientMetricsConfigs). Every refusal of a broker's value is a ConfigRequestError, because Kafka answers INVALID_REQUEST.
"""

import re
from collections.abc import Mapping

from odradek.config.definitions import UpdateMode, broker_definitions, client_metrics_definitions, group_definitions
from odradek.config.errors import ConfigError, ConfigRequestError
from odradek.config.layers import BrokerLayers, broker_definition
from odradek.config.listeners import FIXED_AT_START
from odradek.config.reading import BrokerConfigReader, check_rules
from odradek.config.topic import TopicConfig, topic_defaults

_PER_LISTENER_ONLY = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
_AT_LEAST_ONE = ("max.connections", "max.connection.creation.rate")
_MATCH_NAMES = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def check_broker(values: Mapping[str, str], layers: BrokerLayers, all_brokers: bool) -> None:
    """Refuse dynamic values of one broker, or of all, that Kafka refuses; ConfigRequestError says which and why."""
    try:
        _check_broker(values, layers, all_brokers)
    except ConfigRequestError:
        raise
    except ConfigError as error:
        raise ConfigRequestError(error.reason, key=error.key, value=error.value) from None


def _check_broker(values: Mapping[str, str], layers: BrokerLayers, all_brokers: bool) -> None:
    for name in values:
        definition = broker_definitions().get(name)
        if definition is not None and definition.scope is UpdateMode.READ_ONLY:
            raise ConfigRequestError("cannot be changed while the broker runs", key=name)
    for name in values:
        if name in _PER_LISTENER_ONLY:
            raise ConfigRequestError("can be changed for one listener only: listener.name.<name>.…", key=name)
        definition = broker_definition(name)
        if all_brokers and definition is not None and definition.scope is UpdateMode.PER_BROKER:
            raise ConfigRequestError("cannot be set for all brokers; name the broker", key=name)
    for name, text in values.items():
        definition = broker_definition(name)
        if definition is not None:
            definition.parse(text)
        if name in FIXED_AT_START and text != layers.static.get(name):
            raise ConfigRequestError("takes effect at start only; change the file and restart", key=name)
    after = (
        BrokerLayers(layers.static, values, layers.dynamic_broker)
        if all_brokers
        else BrokerLayers(layers.static, layers.dynamic_default, values)
    )
    changed = BrokerConfigReader(after.effective, {})
    check_rules(changed)
    _check_amounts(BrokerConfigReader(layers.effective, {}), changed)
    _check_local_retention(topic_defaults(after.effective))


def _check_amounts(before: BrokerConfigReader, after: BrokerConfigReader) -> None:
    for key in _THREADS:
        old, new = before.integer(key), after.integer(key)
        if new != old and not (new >= old // 2 and new <= old * 2 and new > 0):
            raise after.error(key, f"is {old}; one change can at most halve or double it")
    for key in _AT_LEAST_ONE:
        if after.integer(key) < 1 and after.integer(key) != before.integer(key):
            raise after.error(key, "expected at least 1")


def _check_local_retention(config: TopicConfig) -> None:
    for key, local, whole in (
        ("log.local.retention.ms", config.local_retention_ms, config.retention_ms),
        ("log.local.retention.bytes", config.local_retention_bytes, config.retention_bytes),
    ):
        if whole >= 0 and (local == -1 or local > whole):
            raise ConfigError(f"expected at most what log.retention keeps ({whole}), or -2 for as much", key=key)


def check_group(values: Mapping[str, str], broker: Mapping[str, str]) -> None:
    """Refuse configurations of a group that are unknown, not valid or beyond the broker's bounds; ConfigError."""
    for name in values:
        if name not in group_definitions():
            raise ConfigError("there is no such group configuration", key=name)
    for name, text in values.items():
        value = group_definitions()[name].parse(text)
        kind, _, rest = name.partition(".")
        rest = rest.removeprefix("num.")
        for bound, beyond in (("min", int.__lt__), ("max", int.__gt__)):
            definition = broker_definitions().get(f"group.{kind}.{bound}.{rest}")
            if definition is not None and isinstance(value, int):
                limit = definition.parse(broker.get(definition.name, definition.default or ""))
                if isinstance(limit, int) and beyond(value, limit):
                    raise ConfigError(f"beyond {definition.name}, which is {limit}", key=name, value=text)


def check_client_metrics(values: Mapping[str, str]) -> None:
    """Refuse a subscription that Kafka refuses: ConfigError for what cannot be read, a pattern or a number, and
    ConfigRequestError for a key that there is not or a number out of bounds."""
    for name in values:
        if name not in client_metrics_definitions():
            raise ConfigRequestError("there is no such client metrics configuration", key=name)
    for name, text in values.items():
        definition = client_metrics_definitions()[name]
        definition.check_type(text)
        try:
            value = definition.parse(text)
        except ConfigError as error:
            raise ConfigRequestError(error.reason, key=name, value=text) from None
        if name == "match" and isinstance(value, tuple):
            for pattern in value:
                _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    name, equals, expression = pattern.partition("=")
    try:
        readable = bool(equals) and name in _MATCH_NAMES and re.compile(expression) is not None
    except (re.error, RecursionError, OverflowError):
        readable = False
    if not readable:
        names = ", ".join(sorted(_MATCH_NAMES))
        raise ConfigError(f"expected name=regular expression, the name one of {names}", key="match", value=pattern)
