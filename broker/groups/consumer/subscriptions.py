"""What members subscribe to, as topics that exist.

Owns: from names and expressions to topic ids, the hash that tells whether a group's topics have changed, and when
expressions are matched anew. Must not know: requests, epochs, assignments. Follows Kafka's coordinator, except that
expressions are matched within the heartbeat that brings them and not on a thread of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from odradek.broker.groups.consumer.member import Member
from odradek.broker.groups.consumer.state import GroupState
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError

REFRESH_MIN_INTERVAL_MS: Final = 10_000
"""New topics are looked for at most this often in one group, as in Kafka: creating many costs one search."""


def topic_names(state: GroupState, member: Member) -> frozenset[str]:
    """Return the names of topics a member subscribes to: its own, and those its expression matched."""
    names = member.metadata.topics
    if member.metadata.regex:
        resolved = state.expressions.get(member.metadata.regex)
        if resolved is not None:
            names |= resolved.topics
    return names


def topic_ids(names: Iterable[str], image: MetadataImage) -> frozenset[UUID]:
    """Return the ids of those topics that exist."""
    found = (image.topics_by_name.get(name) for name in names)
    return frozenset(topic.topic_id for topic in found if topic is not None)


def subscribes_to(state: GroupState, topic: str) -> bool:
    """Whether any member subscribes to the topic."""
    return any(topic in topic_names(state, member) for member in state.members.values())


def metadata_hash(state: GroupState, image: MetadataImage) -> int:
    """Return a number that changes when a subscribed topic comes, goes, is made anew or grows; 0 for no topics.

    Kafka's is another hash. A group that changes brokers is assigned once more, and comes to the same assignment.
    """
    from hashlib import blake2b  # not needed before there is a group

    names = frozenset[str]().union(*(topic_names(state, member) for member in state.members.values()))
    digest = blake2b(digest_size=8)
    found = False
    for name in sorted(names):
        topic = image.topics_by_name.get(name)
        if topic is not None:
            found = True
            digest.update(topic.topic_id.bytes + len(topic.partitions).to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True) if found else 0


def match_topics(expression: str, image: MetadataImage) -> frozenset[str]:
    """Return the names of all topics that match; raises KafkaError INVALID_REGULAR_EXPRESSION."""
    from odradek.broker.groups.consumer.regex_syntax import (
        InvalidExpressionError,  # few groups need what these bring in
    )
    from odradek.broker.groups.consumer.regexes import Expression

    try:
        return Expression(expression).matching(image.topics_by_name)
    except InvalidExpressionError as invalid:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{expression}` is not valid: {invalid}."
        ) from None
