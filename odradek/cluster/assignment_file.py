"""Assignments as the JSON that kafka-reassign-partitions reads and writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from odradek.cluster.directory_moves import Replica
from odradek.cluster.offsets import Partition
from odradek.cluster.placement import Assignment
from odradek.terminal.errors import CommandError

VERSION: Final = 1
LARGEST: Final = 256 * 1024 * 1024
"""Of a file, in bytes: a million partitions are less."""
ANY: Final = "any"
"""The log directory of a replica that may be in any."""


class Plan(NamedTuple):
    """What a file wants."""

    replicas: dict[Partition, tuple[int, ...]]
    directories: dict[Replica, str]
    """Of those replicas that are to be in a certain log directory."""


def assignment_json(assignment: Assignment) -> dict[str, object]:
    """Return the document."""
    return {
        "version": VERSION,
        "partitions": [
            {"topic": topic, "partition": number, "replicas": list(replicas)}
            for (topic, number), replicas in sorted(assignment.items())
        ],
    }


def write_assignment(path: Path, assignment: Assignment) -> None:
    """Write the document to a file; OSError where that cannot be."""
    path.write_text(json.dumps(assignment_json(assignment)) + "\n")


def read_assignment(path: Path) -> Plan:
    """Return what a file holds; CommandError says what in it cannot be used, OSError that it cannot be read."""
    if path.stat().st_size > LARGEST:
        raise CommandError(f"{path} is no plan of replicas: it has more than {LARGEST:,} bytes")
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, Mapping) or document.get("version") != VERSION:
            raise ValueError(f'it has no "version": {VERSION}')
        return _plan(document["partitions"])
    except (ValueError, TypeError, KeyError, RecursionError) as wrong:
        reason = f"it lacks {wrong}" if isinstance(wrong, KeyError) else str(wrong)
        raise CommandError(
            f"{path} is no plan of replicas: {reason}; `odradek partitions reassign plan --save` writes one"
        ) from wrong


def _plan(given: Iterable[Mapping[str, Any]]) -> Plan:
    found = Plan({}, {})
    for each in given:
        topic, number, replicas = each["topic"], each["partition"], each["replicas"]
        if not isinstance(topic, str) or not all(type(one) is int and one >= 0 for one in (number, *replicas)):
            raise ValueError(f"a topic is a text, partition and replicas are numbers, but it has {each!r:.200}")
        if (topic, number) in found.replicas:
            raise ValueError(f"partition {number} of {topic} is in it twice")
        if not replicas or len(set(replicas)) < len(replicas):
            raise ValueError(f"partition {number} of {topic} has no replicas, or one broker twice")
        found.replicas[topic, number] = tuple(replicas)
        directories = each.get("log_dirs") or [ANY] * len(replicas)
        if len(directories) != len(replicas) or not all(isinstance(one, str) for one in directories):
            raise ValueError(f"partition {number} of {topic} has other than one log directory for each replica")
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != ANY:
                found.directories[Replica((topic, number), broker)] = directory
    return found
