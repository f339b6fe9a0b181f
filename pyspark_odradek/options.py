"""The options of the data source `odradek`, with the names and meanings of Spark's own `kafka` source.

Reading them checks everything that can be checked without a cluster, so that a mistake is told when the query starts.
Names are compared without regard to case, as Spark does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import EARLIEST, LATEST, Offsets, TopicPartition


class Subscription(StrEnum):
    """The three ways to say what is read."""

    TOPICS = "subscribe"
    PATTERN = "subscribePattern"
    ASSIGN = "assign"


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading begins or ends."""

    special: int | None = None
    """EARLIEST or LATEST for all partitions."""
    offsets: Offsets = field(default_factory=dict)
    timestamp: int | None = None
    """The first record of every partition that is not older."""
    timestamps: Offsets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How and what to read."""

    kafka: Mapping[str, str]
    """Settings of the client, without the prefix `kafka.`."""
    subscription: Subscription
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    assigned: Mapping[str, tuple[int, ...]]
    start: Position
    end: Position
    unknown_timestamp_is_latest: bool
    """Whether a partition without a record at or after the timestamp is read from its end; an error otherwise."""
    fail_on_data_loss: bool
    include_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    group_id_prefix: str
    patience_s: float
    """For how long a broker that cannot be reached is tried again."""


_SUBSCRIPTIONS: Final = tuple(Subscription)
_START: Final = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_END: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_OTHERS: Final = (
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_KNOWN: Final = {name.lower(): name for name in (*_SUBSCRIPTIONS, *_START, *_END, *_OTHERS)}
_FORBIDDEN_SETTINGS: Final = {
    "auto.offset.reset": "where to begin is said by startingOffsets",
    "enable.auto.commit": "offsets are kept in Spark's checkpoint",
    "key.deserializer": "keys arrive as bytes; turn them into what you need in the DataFrame",
    "value.deserializer": "values arrive as bytes; turn them into what you need in the DataFrame",
    "interceptor.classes": "there is no Java client here",
}
_SPARKS_OWN: Final = frozenset({"path", "checkpointlocation", "queryname"})
"""Options that Spark hands to every source and sink."""


def read_options(options: Mapping[str, str], streaming: bool | None) -> ReadOptions:
    """Return the options of a reader; None stands for one of which it is not known yet whether it streams.

    Raises:
        OptionError: one is missing, unknown, contradicts another, or has no valid value.
    """
    given = given_options(options, _KNOWN)
    subscription, what = _one_of(given, _SUBSCRIPTIONS, required=True)
    assert subscription is not None
    if streaming and (ends := [name for name in _END if name in given]):
        raise OptionError(f"{ends[0]} is only for batch queries: a streaming query has no end")
    start = position_of(given, _START, Position(LATEST if streaming else EARLIEST), "startingOffsets")
    end = position_of(given, _END, Position(LATEST), "endingOffsets")
    if streaming is False and LATEST in (start.special, *start.offsets.values()):
        raise OptionError("startingOffsets cannot be latest in a batch query: there would be nothing to read")
    if EARLIEST in end.offsets.values():
        raise OptionError("endingOffsets cannot be earliest (-2): there would be nothing to read")
    most = whole_number(given, "maxOffsetsPerTrigger", least=1)
    fewest = whole_number(given, "minOffsetsPerTrigger", least=1)
    if most is not None and fewest is not None and fewest > most:
        raise OptionError(f"minOffsetsPerTrigger ({fewest}) is more than maxOffsetsPerTrigger ({most})")
    return ReadOptions(
        kafka=kafka_settings(options),
        subscription=Subscription(subscription),
        topics=topic_names(what, subscription) if subscription == Subscription.TOPICS else (),
        pattern=pattern_of(what, subscription) if subscription == Subscription.PATTERN else None,
        assigned=assigned_partitions(what) if subscription == Subscription.ASSIGN else {},
        start=start,
        end=end,
        unknown_timestamp_is_latest=_strategy(given),
        fail_on_data_loss=boolean(given, "failOnDataLoss", default=True),
        include_headers=boolean(given, "includeHeaders", default=False),
        min_partitions=whole_number(given, "minPartitions", least=1),
        max_records_per_partition=whole_number(given, "maxRecordsPerPartition", least=1),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=fewest,
        max_trigger_delay_ms=duration_ms(given.get("maxTriggerDelay", "15m"), "maxTriggerDelay"),
        group_id_prefix=given.get("groupIdPrefix", "spark-kafka-source"),
        patience_s=(whole_number(given, "kafkaConsumer.pollTimeoutMs", least=1) or 60_000) / 1000,
    )


def kafka_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the client, without their prefix `kafka.`. Raises OptionError."""
    settings = {
        name[len("kafka.") :].lower(): value for name, value in options.items() if name.lower().startswith("kafka.")
    }
    for name in settings:
        if name in _FORBIDDEN_SETTINGS:
            raise OptionError(f"kafka.{name} cannot be set: {_FORBIDDEN_SETTINGS[name]}")
    if not settings.get("bootstrap.servers", "").strip():
        raise OptionError("the option kafka.bootstrap.servers is missing, for example 127.0.0.1:9092")
    return settings


def given_options(options: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the options by their proper names, those of the client left out; `known` has them by lower case.

    Raises:
        OptionError: there is no such option.
    """
    given = {}
    for name, value in options.items():
        lower = name.lower()
        if lower in known:
            given[known[lower]] = value
        elif not lower.startswith("kafka.") and lower not in _SPARKS_OWN:
            near = get_close_matches(lower, known, 1)
            hint = f"; did you mean {known[near[0]]}?" if near else f"; there are {', '.join(sorted(known.values()))}"
            raise OptionError(f"there is no option {name}{hint}")
    return given


def _one_of(given: Mapping[str, str], names: Sequence[str], required: bool) -> tuple[str | None, str]:
    found = [name for name in names if name in given]
    if len(found) > 1:
        raise OptionError(f"only one of {' and '.join(found)} can be given")
    if found:
        return found[0], given[found[0]]
    if required:
        raise OptionError(f"one of the options {', '.join(names)} must say what is read")
    return None, ""


def topic_names(text: str, name: str) -> tuple[str, ...]:
    """Return the names of topics, each once. Raises OptionError where there is none."""
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics:
        raise OptionError(f"{name} must name one topic or several, separated by commas")
    return topics


def pattern_of(text: str, name: str) -> re.Pattern[str]:
    """Return a pattern for names of topics. Raises OptionError."""
    try:
        return re.compile(text)
    except re.error as wrong:
        raise OptionError(f"{name} {text!r} is no regular expression: {wrong}") from wrong


def assigned_partitions(text: str) -> dict[str, tuple[int, ...]]:
    """Return the partitions of each topic that the option `assign` names. Raises OptionError."""
    example = '{"topic": [0, 1]}'
    assigned = {}
    for topic, partitions in _object(text, "assign", example).items():
        if not isinstance(partitions, list) or not all(_is_count(partition) for partition in partitions):
            raise OptionError(f"assign must be like {example}, it has {json.dumps(partitions)} for topic {topic}")
        assigned[topic] = tuple(sorted(set(partitions)))
    if not any(assigned.values()):
        raise OptionError(f"assign names no partition; it must be like {example}")
    return assigned


def position_of(given: Mapping[str, str], names: Sequence[str], default: Position, of_offsets: str) -> Position:
    """Return where reading begins or ends; at most one of `names` can be given. Raises OptionError."""
    name, text = _one_of(given, names, required=False)
    if name is None:
        return default
    if name == of_offsets:
        special = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
        if special is not None:
            if special == EARLIEST and name.startswith("ending"):
                raise OptionError("endingOffsets cannot be earliest: there would be nothing to read")
            return Position(special)
        return Position(None, partition_offsets(text, name))
    if name.endswith("Timestamp") and not name.endswith("ByTimestamp"):
        if not text.strip().isdigit():
            raise OptionError(f"{name} must be milliseconds since 1970, not {text!r}")
        return Position(timestamp=int(text))
    return Position(timestamps=partition_offsets(text, name))


def partition_offsets(text: str, name: str) -> Offsets:
    """Read offsets or timestamps by topic and partition, as JSON. Raises OptionError."""
    example = '{"topic": {"0": 23, "1": -2}}'
    found: Offsets = {}
    for topic, partitions in _object(text, name, example).items():
        if not isinstance(partitions, dict):
            raise OptionError(f"{name} must be like {example}, it has {json.dumps(partitions)} for topic {topic}")
        for partition, offset in partitions.items():
            if not partition.isdigit() or not isinstance(offset, int) or isinstance(offset, bool):
                raise OptionError(f"{name} must be like {example}, it has {partition!r}: {json.dumps(offset)}")
            if offset < (EARLIEST if name.endswith("Offsets") else 0):
                raise OptionError(f"{name} has {offset} for partition {partition} of topic {topic}: no such offset")
            found[TopicPartition(topic, int(partition))] = offset
    return found


def _object(text: str, name: str, example: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as wrong:
        raise OptionError(f"{name} is no JSON ({wrong}); it must be like {example}") from wrong
    if not isinstance(value, dict) or not value:
        raise OptionError(f"{name} must be a JSON object like {example}, not {text}")
    return value


def _strategy(given: Mapping[str, str]) -> bool:
    value = given.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
    if value not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy must be error or latest, not {value!r}")
    return value == "latest"


def boolean(given: Mapping[str, str], name: str, default: bool) -> bool:
    """Return an option that is true or false. Raises OptionError."""
    value = given.get(name, str(default)).strip().lower()
    if value not in ("true", "false"):
        raise OptionError(f"{name} must be true or false, not {given[name]!r}")
    return value == "true"


def whole_number(given: Mapping[str, str], name: str, least: int) -> int | None:
    """Return an option that is a number, None where it is not given. Raises OptionError."""
    text = given.get(name)
    if text is None:
        return None
    if not text.strip().isdigit() or int(text) < least:
        raise OptionError(f"{name} must be a whole number of at least {least}, not {text!r}")
    return int(text)


_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "": 1}


def duration_ms(text: str, name: str) -> int:
    """Return a duration like 500ms, 30s, 15m or 1h in milliseconds. Raises OptionError."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS_MS:
        raise OptionError(f"{name} must be a duration like 30s or 15m, not {text!r}")
    return int(match[1]) * _UNITS_MS[match[2]]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
