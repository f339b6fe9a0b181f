"""What members subscribe to, as topics that exist.

Owns: from names and expressions to topic ids, the hash that tells whether a group's topics have changed, and how
expressions are matched anew. Must not know: requests, epochs, assignments. Follows Kafka's coordinator.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import TYPE_CHECKING, Final
from uuid import UUID

from odradek.broker.groups.consumer.member import ConsumerGroupMember
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.metadata.image import MetadataImage, TopicImage
from odradek.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from odradek.broker.groups.consumer.regexes import Expression

REFRESH_MIN_INTERVAL_MS: Final = 10_000
"""Expressions of one group are resolved at most this often, as in Kafka: creating many topics costs one search."""


def topic_names(state: ConsumerGroupState, member: ConsumerGroupMember) -> frozenset[str]:
    """Return the names of topics a member subscribes to: its own, and those its expression matched."""
    names = member.metadata.topics
    if member.metadata.regex:
        resolved = state.expressions.get(member.metadata.regex)
        if resolved is not None:
            names |= resolved.topics
    return names


def topic_ids(names: frozenset[str], image: MetadataImage) -> frozenset[UUID]:
    """Return the ids of those topics that exist."""
    return frozenset(topic.topic_id for topic in _existing(names, image))


def _existing(names: Collection[str], image: MetadataImage) -> list[TopicImage]:
    """Return the topics of these names that exist, in no order; a client may name many more than there are."""
    topics = image.topics_by_name
    if len(names) > len(topics):
        return [topic for name, topic in topics.items() if name in names]
    return [topics[name] for name in names if name in topics]


def subscribes_to(state: ConsumerGroupState, topic: str) -> bool:
    """Whether any member subscribes to the topic."""
    return topic in state.subscribed_names or any(topic in resolved.topics for resolved in state.expressions.values())


def metadata_hash(state: ConsumerGroupState, image: MetadataImage) -> int:
    """Return a number that changes when a subscribed topic comes, goes, is made anew or grows; 0 for no topics.

    Kafka's is another hash. A group that changes brokers is assigned once more, and comes to the same assignment.
    """
    from hashlib import blake2b  # not needed before there is a group

    topics = {topic.name: topic for topic in _existing(state.subscribed_names, image)}
    for expression, resolved in state.expressions.items():
        if state.subscribers(expression):
            topics.update((topic.name, topic) for topic in _existing(resolved.topics, image))
    digest = blake2b(digest_size=8)
    for _, topic in sorted(topics.items()):
        digest.update(topic.topic_id.bytes + len(topic.partitions).to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True) if topics else 0


def compile_expression(expression: str) -> Expression:
    """Return an expression that is ready to match; raises KafkaError INVALID_REGULAR_EXPRESSION."""
    from odradek.broker.groups.consumer.regex_syntax import (
        InvalidExpressionError,  # few groups need what these bring in
    )
    from odradek.broker.groups.consumer.regexes import Expression

    try:
        return Expression(expression)
    except InvalidExpressionError as invalid:
        raise invalid_expression(expression, str(invalid)) from None


def match_topics(expression: str, image: MetadataImage) -> Generator[None, None, frozenset[str] | KafkaError]:
    """Return the names of all topics that match, in slices, or the error that finding out was too much work."""
    from odradek.broker.groups.consumer.regex_syntax import InvalidExpressionError

    try:
        return (yield from compile_expression(expression).matching(image.topics_by_name))
    except InvalidExpressionError as invalid:
        return invalid_expression(expression, str(invalid))
    except KafkaError as invalid:  # an older version, or Kafka, took it
        return invalid


def invalid_expression(expression: str, reason: str) -> KafkaError:
    """The error of a request that subscribes to what is no expression, or one that cannot be matched."""
    return KafkaError(
        ErrorCode.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{expression}` is not valid: {reason}."
    )
