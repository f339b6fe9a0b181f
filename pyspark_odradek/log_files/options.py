"""The options of the data source `odradek-log`; those that `odradek` has, too, mean the same here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import EARLIEST, LATEST
from pyspark_odradek.option_values import (
    Position,
    assigned_partitions,
    boolean,
    given_options,
    position_of,
    topic_names,
    whole_number,
)
from pyspark_odradek.topic_patterns import topic_pattern

DEFAULT_TASK_BYTES: Final = 64 * 1024 * 1024
_START: Final = ("startingOffsets", "startingTimestamp")
_END: Final = ("endingOffsets", "endingTimestamp")
_CHOICES: Final = ("topic", "topicPattern", "assign")
_ISOLATION: Final = "kafka.isolation.level"
_KNOWN: Final = {
    name.lower(): name
    for name in (
        *_START,
        *_END,
        *_CHOICES,
        "path",
        "filterPushdown",
        "includeHeaders",
        "isolation.level",
        "mode",
        "maxBytesPerTask",
        "minPartitions",
    )
}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What is read from where, and how."""

    path: str
    """Absolute: a log directory, or the directory of one partition."""
    topics: tuple[str, ...]
    """Empty: all but internal ones."""
    pattern: re.Pattern[str] | None
    assigned: Mapping[str, tuple[int, ...]]
    start: Position
    end: Position
    read_committed: bool
    skip_damaged: bool
    include_headers: bool
    filter_pushdown: bool
    """Whether filters of the query choose the bytes that are read; see `reader.FilteringLogReader` for the danger."""
    task_bytes: int
    min_partitions: int | None


def log_options(options: Mapping[str, str]) -> LogOptions:
    """Return the options of a reader. Raises OptionError: one is missing, unknown, or has no valid value."""
    by_name = dict(options)
    for name in options:
        if name.lower() == _ISOLATION:
            by_name["isolation.level"] = by_name.pop(name)
        elif name.lower().startswith("kafka."):
            raise OptionError(f"{name} means nothing here: odradek-log reads files, and no cluster is asked")
    given = given_options(by_name, _KNOWN)
    path = given.get("path", "").strip()
    if not path:
        raise OptionError("the option path is missing: a log directory, or the directory of one partition")
    if len(chosen := [name for name in _CHOICES if name in given]) > 1:
        raise OptionError(f"only one of {' and '.join(chosen)} can be given")
    return LogOptions(
        path=os.path.abspath(re.sub("^file:(//)?(?=/)", "", path)),
        topics=topic_names(given["topic"], "topic") if "topic" in given else (),
        pattern=topic_pattern(given["topicPattern"], "topicPattern") if "topicPattern" in given else None,
        assigned=assigned_partitions(given["assign"]) if "assign" in given else {},
        start=position_of(given, _START, Position(EARLIEST), "startingOffsets"),
        end=position_of(given, _END, Position(LATEST), "endingOffsets"),
        read_committed=_one_of(given, "isolation.level", ("read_uncommitted", "read_committed")) == "read_committed",
        skip_damaged=_one_of(given, "mode", ("failfast", "dropmalformed")) == "dropmalformed",
        include_headers=boolean(given, "includeHeaders", default=False),
        filter_pushdown=boolean(given, "filterPushdown", default=False),
        task_bytes=whole_number(given, "maxBytesPerTask", least=1) or DEFAULT_TASK_BYTES,
        min_partitions=whole_number(given, "minPartitions", least=1),
    )


def _one_of(given: Mapping[str, str], name: str, values: tuple[str, str]) -> str:
    value = given.get(name, values[0]).strip().lower()
    if value not in values:
        raise OptionError(f"{name} must be {' or '.join(values)}, not {given[name]!r}")
    return value
