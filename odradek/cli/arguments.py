"""Reading what several commands take in the same form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from odradek.terminal.errors import WrongUsageError


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
