"""The records that a consumer group writes.

Owns: their making from the group's values. Sets are written in order, so that the same state is always the same bytes.
Must not know: why they are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.consumer.member import ConsumerGroupMember, Owned, Partitions
from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group has a new epoch."""
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_metadata(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """A member has come, or says something new of itself."""
    said = member.metadata
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=said.instance_id,
            rack_id=said.rack_id,
            client_id=said.client_id,
            client_host=said.client_host,
            subscribed_topic_names=sorted(said.topics),
            subscribed_topic_regex=said.regex,
            rebalance_timeout_ms=said.rebalance_timeout_ms,
            server_assignor=said.assignor,
            classic_member_metadata=said.classic,
        ),
    )


def target_assignment(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    """A member is to have other partitions."""
    topics = [TopicPartition(topic_id=topic, partitions=sorted(target[topic])) for topic in _in_order(target)]
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics),
    )


def target_epoch(group_id: str, epoch: int, now: int) -> CoordinatorRecord:
    """The target assignment of that epoch stands; `now` in milliseconds since 1970 UTC."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now),
    )


def current_assignment(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """A member has come to an epoch, or to other partitions."""
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            assigned_partitions=_topics(member.assigned),
            partitions_pending_revocation=_topics(member.revoking),
        ),
    )


def regular_expression(
    group_id: str, expression: str, topics: Iterable[str], version: int, now: int
) -> CoordinatorRecord:
    """An expression matches these topics, in that version of the cluster's metadata."""
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression),
        ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=now),
    )


def regular_expression_gone(group_id: str, expression: str) -> CoordinatorRecord:
    """No member subscribes to the expression any more."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), None)


def member_gone(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """A member is no more; what it owned comes free first."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def partition_metadata_gone(group_id: str) -> CoordinatorRecord:
    """The group's topics as Kafka wrote them before 4.1 are needed no more: their hash is in the group's record."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def group_gone(group_id: str, member_ids: Iterable[str], expressions: Iterable[str]) -> list[CoordinatorRecord]:
    """The group is no more: all that was ever written of it, in Kafka's order."""
    members = list(member_ids)
    records = [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=m), None)
        for m in members
    ]
    records += [
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=m), None) for m in members
    ]
    records.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    records += [
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=m), None) for m in members
    ]
    records += [regular_expression_gone(group_id, expression) for expression in expressions]
    records.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None))
    return records


def _topics(owned: Owned) -> list[TopicPartitions]:
    topics = []
    for topic in _in_order(owned):
        pairs = sorted(owned[topic].items())
        topics.append(
            TopicPartitions(
                topic_id=topic,
                partitions=[partition for partition, _ in pairs],
                assignment_epochs=[epoch for _, epoch in pairs],
            )
        )
    return topics


def _in_order(topics: Iterable[UUID]) -> list[UUID]:
    return sorted(topics, key=lambda topic: topic.bytes)
