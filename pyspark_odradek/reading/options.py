"""The options of the data source `odradek`, with the names and meanings of Spark's own `kafka` source.

Reading them checks everything that can be checked without a cluster, so that a mistake is told when the query starts.
Names are compared without regard to case, as Spark does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import EARLIEST, LATEST
from pyspark_odradek.option_values import (
    Position,
    assigned_partitions,
    boolean,
    duration_ms,
    given_options,
    kafka_settings,
    one_of,
    position_of,
    topic_names,
    whole_number,
)
from pyspark_odradek.topic_patterns import topic_pattern


class SubscribeOption(StrEnum):
    """The three ways to say what is read."""

    TOPICS = "subscribe"
    PATTERN = "subscribePattern"
    ASSIGN = "assign"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How and what to read."""

    kafka: Mapping[str, str]
    """Settings of the client, without the prefix `kafka.`."""
    subscription: SubscribeOption
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
    poll_timeout_s: float
    """For how long a broker that cannot be reached is tried again."""
    fetch_offset_retries: int | None
    """How often planning asks again where the cluster does not answer; None leaves that to the time."""
    fetch_offset_retry_interval_s: float | None
    """How long planning waits before it asks again; None leaves that to the settings of the client."""


_SUBSCRIPTIONS: Final = tuple(SubscribeOption)
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


def read_options(options: Mapping[str, str], streaming: bool | None) -> ReadOptions:
    """Return the options of a reader; None stands for one of which it is not known yet whether it streams.

    Raises:
        OptionError: one is missing, unknown, contradicts another, or has no valid value.
    """
    given = given_options(options, _KNOWN)
    subscription, what = one_of(given, _SUBSCRIPTIONS, required=True)
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
    interval = whole_number(given, "fetchOffset.retryIntervalMs", least=0)
    return ReadOptions(
        kafka=kafka_settings(options),
        subscription=SubscribeOption(subscription),
        topics=topic_names(what, subscription) if subscription == SubscribeOption.TOPICS else (),
        pattern=topic_pattern(what, subscription) if subscription == SubscribeOption.PATTERN else None,
        assigned=assigned_partitions(what) if subscription == SubscribeOption.ASSIGN else {},
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
        poll_timeout_s=(whole_number(given, "kafkaConsumer.pollTimeoutMs", least=1) or 60_000) / 1000,
        fetch_offset_retries=whole_number(given, "fetchOffset.numRetries", least=0),
        fetch_offset_retry_interval_s=None if interval is None else interval / 1000,
    )


def _strategy(given: Mapping[str, str]) -> bool:
    value = given.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
    if value not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy must be error or latest, not {value!r}")
    return value == "latest"
