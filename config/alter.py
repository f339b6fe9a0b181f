"""Changes of dynamic configuration: what AlterConfigs and IncrementalAlterConfigs make of the values stored so far.

Pure: current values and a request in, new values out, or an error; nothing is stored here. A ConfigError answers
INVALID_CONFIG, a ConfigRequestError INVALID_REQUEST, an UnknownOperationError UNKNOWN_SERVER_ERROR; which situation
gives which was read off Apache Kafka 4.3 (ConfigAdminManager, ConfigurationControlManager) and stands as a table in
tests/unit/config/test_alter.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple

from odradek.config.alter_rules import check_broker, check_client_metrics, check_group
from odradek.config.definitions import (
    ConfigKey,
    broker_definitions,
    client_metrics_definitions,
    group_definitions,
    topic_definitions,
)
from odradek.config.errors import ConfigError, ConfigRequestError, UnknownOperationError
from odradek.config.layers import BrokerLayers
from odradek.config.topic import validate_overrides
from odradek.config.values import ConfigType, trim


class AlterConfigOp(IntEnum):
    """What one entry of IncrementalAlterConfigs does, by its number on the wire (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterTarget(Enum):
    """What the configuration belongs to."""

    TOPIC = "topic"
    BROKER = "broker"
    ALL_BROKERS = "all brokers"
    GROUP = "group"
    CLIENT_METRICS = "client metrics"


class ConfigChange(NamedTuple):
    """One entry of a request; `operation` is the number on the wire, checked here."""

    name: str
    operation: int
    value: str | None


class AlterContext(NamedTuple):
    """What a change is judged by: the broker's layers, and whether eligible leader replicas (KIP-966) are in use."""

    layers: BrokerLayers
    eligible_leader_replicas: bool = False


MIN_INSYNC = "min.insync.replicas"


def check_form(changes: Sequence[ConfigChange]) -> None:
    """Refuse changes that make no sense whatever they are of: a key twice, no value. Raises ConfigRequestError."""
    twice = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if twice:
        raise ConfigRequestError("stands twice in one request", key=twice[0])
    for change in changes:
        if change.value is None and change.operation != AlterConfigOp.DELETE:
            raise ConfigRequestError("a null value is not supported; DELETE goes back to the default", key=change.name)


def alter(target: AlterTarget, current: Mapping[str, str], changes: Sequence[ConfigChange]) -> dict[str, str]:
    """Return the values after an incremental change of those stored for a topic, a broker, all brokers, a group.

    The form of the changes was checked before, the new values are judged by `check`. Raises ConfigError where a list
    is meant and there is none, UnknownOperationError (of a broker: ConfigRequestError).
    """
    values = dict(current)
    for change in changes:
        _apply(target, values, change)
    return values


def check(
    target: AlterTarget, current: Mapping[str, str], values: Mapping[str, str], surroundings: AlterContext
) -> None:
    """Refuse values that may not follow on the current ones; raises ConfigError or ConfigRequestError."""
    if target is AlterTarget.TOPIC:
        validate_overrides(values, surroundings.layers.effective)
    elif target is AlterTarget.GROUP:
        check_group(values, surroundings.layers.effective)
    elif target is AlterTarget.CLIENT_METRICS:
        check_client_metrics(values)
    else:
        check_broker(values, surroundings.layers, target is AlterTarget.ALL_BROKERS)
        if surroundings.eligible_leader_replicas:
            _check_min_insync(target, current, values)


def _apply(target: AlterTarget, values: dict[str, str], change: ConfigChange) -> None:
    name, value = change.name, change.value or ""
    if change.operation == AlterConfigOp.DELETE:
        values.pop(name, None)
    elif change.operation == AlterConfigOp.SET:
        values[name] = value
    elif change.operation in (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT):
        values[name] = _edit_list(target, values.get(name), change)
    else:
        kind = ConfigRequestError if target in (AlterTarget.BROKER, AlterTarget.ALL_BROKERS) else UnknownOperationError
        raise kind(f"there is no operation number {change.operation}", key=name)


def _edit_list(target: AlterTarget, stored: str | None, change: ConfigChange) -> str:
    operation, definition = AlterConfigOp(change.operation), _table(target).get(change.name)
    if definition is None or definition.type is not ConfigType.LIST or target is AlterTarget.CLIENT_METRICS:
        raise ConfigError(f"{operation.name} works on lists, and this is none", key=change.name)
    text = stored if stored is not None else definition.default or ""
    elements = [one for one in map(trim, text.split(",")) if one]
    named = _split(change.value or "")
    if operation is AlterConfigOp.APPEND:
        there = set(elements)
        return ",".join(elements + [one for one in dict.fromkeys(named) if one not in there])
    left = Counter(named)  # each takes away one; a request may name a hundred thousand
    kept = []
    for one in elements:
        if left[one] > 0:
            left[one] -= 1
        else:
            kept.append(one)
    return ",".join(kept)


def _split(text: str) -> list[str]:
    """Return the elements of a request's list, trimmed; "" is one empty element, which APPEND then refuses."""
    return [trim(one) for one in text.split(",")]


def _table(target: AlterTarget) -> Mapping[str, ConfigKey]:
    if target is AlterTarget.TOPIC:
        return topic_definitions()
    if target is AlterTarget.GROUP:
        return group_definitions()
    if target is AlterTarget.CLIENT_METRICS:
        return client_metrics_definitions()
    return broker_definitions()


def _check_min_insync(target: AlterTarget, current: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Hold min.insync.replicas the same on all brokers, as eligible leader replicas need it (KIP-966)."""
    if target is AlterTarget.BROKER and values.get(MIN_INSYNC) != current.get(MIN_INSYNC):
        raise ConfigError('is the same on all brokers here; set it on the broker named ""', key=MIN_INSYNC)
    if target is AlterTarget.ALL_BROKERS and MIN_INSYNC in current and MIN_INSYNC not in values:
        raise ConfigError("cannot be removed from all brokers; set it to another value", key=MIN_INSYNC)
