"""Where partitions begin and end, and which offset an offset spec means in each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer
from odradek.cluster.offset_spec import AtOffset, BeforeLatest, Earliest, ForTimestamp, Latest, OffsetSpecification

Partition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = Mapping[Partition, int]


def earliest(admin: AdminClient, partitions: Collection[Partition]) -> dict[Partition, int]:
    """Return the offset of the first record of each partition."""
    return _list(admin, dict.fromkeys(partitions, OffsetSpec.earliest()))


def latest(admin: AdminClient, partitions: Collection[Partition]) -> dict[Partition, int]:
    """Return the offset after the last record of each partition."""
    return _list(admin, dict.fromkeys(partitions, OffsetSpec.latest()))


def find(admin: AdminClient, partitions: Collection[Partition], spec: OffsetSpecification) -> dict[Partition, int]:
    """Return the offset that an offset spec means in each partition, never outside of what the partition has."""
    match spec:
        case Earliest():
            return earliest(admin, partitions)
        case Latest():
            return latest(admin, partitions)
        case ForTimestamp(milliseconds):
            found = _list(admin, dict.fromkeys(partitions, OffsetSpec.for_timestamp(milliseconds)))
            nothing_so_late = [each for each, offset in found.items() if offset < 0]
            return found | latest(admin, nothing_so_late)
        case AtOffset(offset):
            return within(admin, dict.fromkeys(partitions, offset))
        case BeforeLatest(count):
            return within(admin, {each: end - count for each, end in latest(admin, partitions).items()})


def within(admin: AdminClient, wanted: Offsets) -> dict[Partition, int]:
    """Return the offsets, moved into what each partition has."""
    first, end = earliest(admin, wanted), latest(admin, wanted)
    return {each: min(max(offset, first[each]), end[each]) for each, offset in wanted.items()}


def _list(admin: AdminClient, wanted: Mapping[Partition, OffsetSpec]) -> dict[Partition, int]:
    if not wanted:
        return {}
    asked = {TopicPartition(topic, partition): spec for (topic, partition), spec in wanted.items()}
    futures = admin.list_offsets(asked, request_timeout=ANSWER_TIMEOUT_S)
    return {
        (each.topic, each.partition): answer(future, f"partition {each.partition} of {each.topic}").offset
        for each, future in futures.items()
    }
