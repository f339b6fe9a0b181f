"""Values of options, which all sources here read alike: names, numbers, positions in topics.

Every function names the option in what it says of a mistake.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from pyspark_odradek.errors import OptionError
from pyspark_odradek.offsets import EARLIEST, LATEST, Offsets, TopicPartition

_SPARKS_OWN: Final = frozenset({"path", "checkpointlocation", "queryname"})
"""Options that Spark hands to every source and sink."""


_FORBIDDEN_SETTINGS: Final = {
    "auto.offset.reset": "where to begin is said by startingOffsets",
    "enable.auto.commit": "offsets are kept in Spark's checkpoint",
    "key.deserializer": "keys arrive as bytes; turn them into what you need in the DataFrame",
    "value.deserializer": "values arrive as bytes; turn them into what you need in the DataFrame",
    "interceptor.classes": "there is no Java client here",
}


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading begins or ends."""

    special: int | None = None
    """EARLIEST or LATEST for all partitions."""
    offsets: Offsets = field(default_factory=dict)
    timestamp: int | None = None
    """The first record of every partition that is not older."""
    timestamps: Offsets = field(default_factory=dict)


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


def one_of(given: Mapping[str, str], names: Sequence[str], required: bool) -> tuple[str | None, str]:
    """Return which of these options is given, and its value. Raises OptionError for two, and for none if required."""
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
    name, text = one_of(given, names, required=False)
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
