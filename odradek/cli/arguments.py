"""Reading what several commands take in the same form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from odradek.terminal.errors import WrongUsageError

_SIZE = re.compile(r"(\d{1,15})\s?([kmgt]i?b|b)", re.IGNORECASE)
_BYTES = {"b": 1} | {
    f"{unit}{suffix}": base**power
    for power, unit in enumerate("kmgt", 1)
    for suffix, base in (("ib", 1024), ("b", 1000))
}
_DURATION = re.compile(r"(?:\d{1,15}(?:ms|[smhdw]))+")
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdw])")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION_UNITS = {"ms": 1, "seconds": 1_000, "minutes": 60_000, "hours": 3_600_000}
"""What configs count whose names end so, in milliseconds."""


class Acks(StrEnum):
    """Who must have a record before it counts as produced."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class ProducerCompression(StrEnum):
    """How batches are compressed."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


def pairs(given: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Return what was given as `NAME=VALUE`, in order; WrongUsageError for what has no name or no `=`."""
    result = []
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise WrongUsageError(f"{option} {each!r} is no NAME=VALUE")
        result.append((name.strip(), value))
    return result


def assignment(given: str) -> list[list[int]]:
    """Return the replicas of each partition in `1:2,2:3`: first partition on brokers 1 and 2, second on 2 and 3."""
    try:
        replicas = [[int(broker) for broker in partition.split(":")] for partition in given.split(",")]
    except ValueError:
        raise WrongUsageError(
            f"--replica-assignment {given!r} is no list of brokers; give those of a partition as 1:2 and separate "
            "partitions with commas"
        ) from None
    if any(len(set(each)) != len(each) for each in replicas):
        raise WrongUsageError(f"--replica-assignment {given!r} names a broker twice for one partition")
    if len({len(each) for each in replicas}) > 1:
        raise WrongUsageError(f"--replica-assignment {given!r} gives partitions different numbers of replicas")
    return replicas


def config_pairs(given: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Return configs given as `NAME=VALUE`, with durations and sizes as the numbers that Kafka takes."""
    return [(name, config_value(name, value)) for name, value in pairs(given, option)]


def config_value(name: str, value: str) -> str:
    """Return a value with a unit in the unit of its config, by the end of its name; any other value as it is.

    `retention.ms=7d` is 604800000, `segment.bytes=1GiB` is 1073741824. WrongUsageError where a duration is no whole
    number of what the config counts.
    """
    if name.endswith((".bytes", ".size", ".bytes.per.second")):
        size = _SIZE.fullmatch(value.strip())
        return value if size is None else str(int(size[1]) * _BYTES[size[2].lower()])
    unit = _DURATION_UNITS.get(name.rpartition(".")[2])
    if unit is None or not _DURATION.fullmatch(value.strip()):
        return value
    milliseconds = sum(int(count) * _MILLISECONDS[each] for count, each in _DURATION_PART.findall(value))
    if milliseconds % unit:
        raise WrongUsageError(f"{name}={value}: give a whole number of {name.rpartition('.')[2]}")
    return str(milliseconds // unit)


def regular_expression(option: str, text: str) -> re.Pattern[str]:
    """Return the expression; WrongUsageError where it is none."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as wrong:
        raise WrongUsageError(f"{option} {text!r} is no regular expression: {wrong}") from None


def topic_partitions(given: str) -> tuple[str, list[int]]:
    """Return topic and partitions of `orders` (no partitions: all of them) or `orders:0,2`."""
    name, colon, numbers = given.partition(":")
    if not colon:
        return name, []
    try:
        return name, sorted({int(each) for each in numbers.split(",")})
    except ValueError:
        raise WrongUsageError(f"--topic {given!r} is neither TOPIC nor TOPIC:PARTITION,PARTITION") from None


def broker_ids(given: str, option: str) -> list[int]:
    """Return the ids of `1,2,3`, each once; WrongUsageError for what is none."""
    try:
        return sorted({int(each) for each in given.split(",")})
    except ValueError:
        raise WrongUsageError(
            f"{option} {given!r} is no list of brokers; give their ids with commas between them"
        ) from None
