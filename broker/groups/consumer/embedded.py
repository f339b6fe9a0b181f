"""What consumers of the classic protocol say inside JoinGroup and SyncGroup, for groups where both kinds meet.

Owns: subscriptions and assignments in the form of those clients, in both directions. Must not know: groups. A version
stands in front; what a later version appends is left unread, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.groups.consumer.member import Owned, Partitions
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.codec import DecodeError, decode, encode
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

PROTOCOL_TYPE: Final = "consumer"
_LATEST: Final = 3
_VERSION: Final = Struct(">h")


class Subscription(NamedTuple):
    """What a consumer wants and has."""

    topics: frozenset[str]
    owned: Mapping[str, frozenset[int]]
    """By topic name; empty also if it does not say."""
    rack_id: str | None
    version: int


class Assigned(NamedTuple):
    """What a consumer was given by the leader of its group."""

    partitions: Mapping[str, frozenset[int]]
    has_user_data: bool


def read_subscription(data: bytes) -> Subscription:
    """Return a subscription; raises DecodeError if it is none."""
    version = _version(data)
    said, _ = decode(ConsumerProtocolSubscription, data, version, _VERSION.size)
    rack = said.rack_id or None
    return Subscription(frozenset(said.topics), _by_name(said.owned_partitions), rack, version)


def read_assignment(data: bytes) -> Assigned:
    """Return an assignment, an empty one for no bytes; raises DecodeError if it is none."""
    if not data:
        return Assigned({}, False)
    given, _ = decode(ConsumerProtocolAssignment, data, _version(data), _VERSION.size)
    return Assigned(_by_name(given.assigned_partitions), bool(given.user_data))


def write_assignment(partitions: Owned | Partitions, version: int, image: MetadataImage) -> bytes:
    """Return an assignment in the version of a member's subscription; topics that are gone are left out."""
    topics = ((image.topics_by_id.get(topic_id), indexes) for topic_id, indexes in partitions.items())
    given = [
        TopicPartition(topic=topic.name, partitions=sorted(indexes)) for topic, indexes in topics if topic is not None
    ]
    given.sort(key=lambda topic: topic.topic)
    return _VERSION.pack(version) + encode(ConsumerProtocolAssignment(assigned_partitions=given), version)


def by_id(partitions: Mapping[str, frozenset[int]], image: MetadataImage) -> dict[UUID, frozenset[int]]:
    """Return partitions by topic id; topics that do not exist are left out."""
    topics = ((image.topics_by_name.get(name), indexes) for name, indexes in partitions.items())
    return {topic.topic_id: indexes for topic, indexes in topics if topic is not None and indexes}


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise DecodeError(f"{len(data)} bytes have no version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise DecodeError(f"there is no version {version}")
    return min(version, _LATEST)


def _by_name(topics: list[TopicPartition]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for topic in topics:
        found.setdefault(topic.topic, set()).update(topic.partitions)
    return {name: frozenset(partitions) for name, partitions in found.items()}
