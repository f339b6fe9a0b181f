"""Reading what several commands take in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from odradek.terminal.durations import duration_ms, is_duration
from odradek.terminal.errors import CommandError, WrongUsageError

_SIZE = re.compile(r"(\d{1,15})\s?([kmgt]i?b|b)", re.IGNORECASE)
_BYTES = {"b": 1} | {
    f"{unit}{suffix}": base**power
    for power, unit in enumerate("kmgt", 1)
    for suffix, base in (("ib", 1024), ("b", 1000))
}
_SIZE_NAMES = (".bytes", ".size", ".bytes.per.second")
_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")
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
    if name.endswith(_SIZE_NAMES):
        size = _SIZE.fullmatch(value.strip())
        return value if size is None else str(int(size[1]) * _BYTES[size[2].lower()])
    unit = _DURATION_UNITS.get(name.rpartition(".")[2])
    if unit is None or not is_duration(value.strip()):
        return value
    milliseconds = duration_ms(value.strip(), name)
    if milliseconds % unit:
        raise WrongUsageError(f"{name}={value}: give a whole number of {name.rpartition('.')[2]}")
    return str(milliseconds // unit)


@contextmanager
def units_told(given: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Add to a refusal, where the value of a config is no number, which units may stand in one.

    A broker knows of none, and tells of what is misspelt only that it is no number.
    """
    try:
        yield
    except CommandError as refused:
        for name, value in given:
            if config_counts(name) and not _INTEGER.fullmatch(value):
                raise CommandError(f"{refused}; {name} may be given as {config_counts(name)}, too") from refused
        raise


def config_counts(name: str) -> str | None:
    """Return examples of values with units of what a config counts; None where its name does not say what."""
    if name.endswith(_SIZE_NAMES):
        return "512KiB, 10MB or 1GiB"
    return "90s, 2h30m or 7d" if name.rpartition(".")[2] in _DURATION_UNITS else None


def duration_s(text: str, option: str) -> float:
    """Return the seconds in a number of them, or in a duration such as `500ms` or `2m`. Raises WrongUsageError."""
    if _SECONDS.fullmatch(text):
        return float(text)
    if is_duration(text):
        return duration_ms(text, option) / 1000
    raise WrongUsageError(f"{option} {text!r} is no time; give seconds, or such as 500ms, 90s or 2m")


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
