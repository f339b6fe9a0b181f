"""Offsets of a group, from the cluster where it reads to a copy of its topics: what is moved where, and what stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import ConsumerRun, StopOffsets, batches, read_from
from odradek.cluster.disconnects import Tell
from odradek.cluster.offsets import Offsets, Partition, earliest, latest
from odradek.cluster.origins import CopyFound, origin_of, place_in_copy
from odradek.terminal.errors import CommandError, WrongUsageError

_LONGEST_PATTERN = 1000
_SETTINGS = {
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 10,  # the next place is looked at only when the broker has answered for this one
    "fetch.message.max.bytes": 64 * 1024,
}


@dataclass(frozen=True, slots=True)
class TranslatedOffset:
    """One offset of a group where it reads now, and what it goes on with in the copy."""

    group: str
    source: Partition
    committed: int
    target: Partition
    before: int | None
    """What the group has committed there."""
    after: int | None
    """What it goes on with there; None where there is no such partition."""


@dataclass(frozen=True, slots=True)
class TopicRename:
    """A pattern for whole names of topics, and what they are called in the copy: `$1` is its first group."""

    pattern: re.Pattern[str]
    becomes: str


def topic_rename(pattern: str, becomes: str) -> TopicRename:
    """Return a rename. Raises WrongUsageError for what cannot be one."""
    if len(pattern) > _LONGEST_PATTERN:
        raise WrongUsageError(f"--rename: the pattern has more than {_LONGEST_PATTERN} characters")
    try:
        compiled = re.compile(pattern)
    except re.error as wrong:
        raise WrongUsageError(f"--rename: {pattern!r} is no regular expression: {wrong}") from None
    for number in re.findall(r"\$(\d)", becomes):
        if int(number) > compiled.groups:
            raise WrongUsageError(f"--rename: {pattern!r} has no group {number}, which {becomes!r} names")
    return TopicRename(compiled, becomes)


def renamed(topic: str, renames: Iterable[TopicRename]) -> str:
    """Return what a topic is called in the copy, by the first rename whose pattern is its whole name."""
    for each in renames:
        if found := each.pattern.fullmatch(topic):
            return re.sub(r"\$(\d)", lambda digit: found[int(digit[1])] or "", each.becomes)
    return topic


def planned(
    group: str,
    committed: Offsets,
    names: Callable[[str], str],
    before: Offsets,
    existing: Collection[Partition],
    places: Callable[[Mapping[Partition, int], Partition], int],
    overwrite: bool,
) -> list[TranslatedOffset]:
    """Return what becomes of the offsets of a group, in the order of partitions.

    Where several topics are copied into one, it goes on from the first of their places. An offset that the group has
    committed in the copy and that is further stays, unless `overwrite` is asked for. `places` returns the place in a
    partition of the copy that stands for offsets of its originals.
    """
    originals: dict[Partition, dict[Partition, int]] = {}
    for (topic, number), offset in committed.items():
        originals.setdefault((names(topic), number), {})[topic, number] = offset
    rows = []
    for target, offsets in originals.items():
        after, known = (places(offsets, target) if target in existing else None), before.get(target)
        if after is not None and known is not None and not overwrite:
            after = max(after, known)
        rows += [TranslatedOffset(group, each, offset, target, known, after) for each, offset in offsets.items()]
    return sorted(rows, key=lambda row: row.source)


def changes_of(rows: Iterable[TranslatedOffset], group: str) -> dict[Partition, int]:
    """Return the offsets to commit for a group in the copy."""
    return {
        row.target: row.after
        for row in rows
        if row.group == group and row.after is not None and row.after != row.before
    }


class CopiedPlaces:
    """Finds places in the topics of a copy, by reading a record here and there. Close it afterwards."""

    def __init__(self, copy: ClusterClients, tell: Tell) -> None:
        self._copy = copy
        self._tell = tell
        self._reading: ConsumerRun | None = None

    def close(self) -> None:
        """Close the consumer."""
        if self._reading is not None:
            self._reading.consumer.close()

    def place(self, originals: Mapping[Partition, int], target: Partition) -> int:
        """Return the offset in a partition from which it has everything from these offsets of its originals on.

        Raises CommandError where its records do not say where they are from.
        """
        first = earliest(self._copy.admin, [target])[target]
        end = latest(self._copy.admin, [target])[target]
        return min(self._place(each, offset, target, first, end) for each, offset in originals.items())

    def _place(self, original: Partition, offset: int, target: Partition, first: int, end: int) -> int:
        seen: list[CopyFound] = []

        def find(at: int, until: int) -> CopyFound | None:
            found = self._first_copy(original, target, at, until)
            seen.extend([found] if found else [])
            return found

        place = place_in_copy(first, end, offset, find)
        if first < end and not seen:
            topic, number = original
            raise CommandError(
                f"partition {target[1]} of {target[0]} at {self._copy.bootstrap} has records, but none that says it is"
                f" from partition {number} of {topic}: relay with --source-header and --keep-partitions"
            )
        return place

    def _first_copy(self, original: Partition, target: Partition, at: int, until: int) -> CopyFound | None:
        reading = self._begin(target, at, until)
        for records in batches(reading, lambda: False):
            for record in records:
                headers: Any = record.headers()  # whose declared types are for writing
                origin = origin_of(headers or ())
                if origin is None or origin.topic != original[0]:
                    continue
                if origin.partition != original[1]:
                    raise CommandError(
                        f"partition {target[1]} of {target[0]} at {self._copy.bootstrap} has records from partition"
                        f" {origin.partition} of {origin.topic}, too: relay with --keep-partitions"
                    )
                position = record.offset()
                assert position is not None, "a record has its place"
                return CopyFound(position, origin.offset)
        return None

    def _begin(self, target: Partition, at: int, until: int) -> ConsumerRun:
        ends = StopOffsets({target: until})
        if self._reading is None:
            self._reading = read_from(self._copy, {target: at}, ends, self._tell, _SETTINGS)
            return self._reading
        consumer = self._reading.consumer
        consumer.assign([TopicPartition(*target, at)])
        return ConsumerRun(consumer, ends, self._reading.disconnects, {target: at})


def translatable(committed: Offsets, topics: Sequence[str] | None) -> dict[Partition, int]:
    """Return the offsets of these topics, of all if none are named."""
    return {each: offset for each, offset in committed.items() if not topics or each[0] in topics}
