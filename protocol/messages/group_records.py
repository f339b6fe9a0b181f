"""The records of `__consumer_offsets`: what a group coordinator remembers.

The api key is the type number with which the key of a record begins; the value begins with its version. An absent
value (null) removes what the key names. LegacyOffsetCommit is the form of Kafka before 0.9 of the records
OffsetCommit.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, binary, int8, int32, int64, string, struct, uuid


class LegacyOffsetCommitKey(Message, api_key=0, versions="0"):
    """A group's offset in a partition."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


class LegacyOffsetCommitValue(Message, api_key=0, versions="0"):
    """The offset."""

    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


class OffsetCommitKey(Message, api_key=1, versions="0"):
    """A group's offset in a partition."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(Message, api_key=1, versions="0-4", flexible="4+"):
    """The offset."""

    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1)
    topic_id: UUID = uuid("4+", tag=0)


class GroupMetadataKey(Message, api_key=2, versions="0"):
    """A classic group."""

    group: str = string()


class MemberMetadata(Struct):
    """A member and its assignment."""

    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1)
    session_timeout: int = int32()
    subscription: bytes = binary()
    assignment: bytes = binary()


class GroupMetadataValue(Message, api_key=2, versions="0-4", flexible="4+"):
    """A generation of a classic group, with all its members."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64("2+", default=-1)
    members: list[MemberMetadata] = array(MemberMetadata)


class ConsumerGroupMetadataKey(Message, api_key=3, versions="0"):
    """A group of the new protocol."""

    group_id: str = string()


class ConsumerGroupMetadataValue(Message, api_key=3, versions="0", flexible="0+"):
    """The epoch of the group."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Message, api_key=4, versions="0"):
    """The topics of a group (written before Kafka 4.1)."""

    group_id: str = string()


class PartitionMetadata(Struct):
    """The racks of a partition."""

    partition: int = int32()
    racks: list[str] = array(string)


class TopicMetadata(Struct):
    """A topic."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata)


class ConsumerGroupPartitionMetadataValue(Message, api_key=4, versions="0", flexible="0+"):
    """What the group's last assignment knew of its topics."""

    topics: list[TopicMetadata] = array(TopicMetadata)


class ConsumerGroupMemberMetadataKey(Message, api_key=5, versions="0"):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class ClassicProtocol(Struct):
    """One protocol, with what the member has to say in it."""

    name: str = string()
    metadata: bytes = binary()


class ClassicMemberMetadata(Struct):
    """What a member of the classic protocol has in a group of the new one."""

    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


class ConsumerGroupMemberMetadataValue(Message, api_key=5, versions="0", flexible="0+"):
    """Who the member is, and what it subscribes to."""

    instance_id: str | None = string(nullable="0+")
    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+")
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = struct(
        ClassicMemberMetadata, nullable="0+", default=ClassicMemberMetadata, tag=0
    )


class ConsumerGroupTargetAssignmentMetadataKey(Message, api_key=6, versions="0"):
    """The target assignment of a group."""

    group_id: str = string()


class ConsumerGroupTargetAssignmentMetadataValue(Message, api_key=6, versions="0", flexible="0+"):
    """The epoch for which it was computed."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Message, api_key=7, versions="0"):
    """A member's part of the target assignment."""

    group_id: str = string()
    member_id: str = string()


class TopicPartition(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupTargetAssignmentMemberValue(Message, api_key=7, versions="0", flexible="0+"):
    """The partitions that the member is to have."""

    topic_partitions: list[TopicPartition] = array(TopicPartition)


class ConsumerGroupCurrentMemberAssignmentKey(Message, api_key=8, versions="0"):
    """What a member has now."""

    group_id: str = string()
    member_id: str = string()


class TopicPartitions(Struct):
    """Partitions of one topic, and the epochs in which they were assigned."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Message, api_key=8, versions="0", flexible="0+"):
    """The member's epoch and partitions."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
    partitions_pending_revocation: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupRegularExpressionKey(Message, api_key=16, versions="0"):
    """A regular expression that a group subscribes to."""

    group_id: str = string()
    regular_expression: str = string()


class ConsumerGroupRegularExpressionValue(Message, api_key=16, versions="0", flexible="0+"):
    """The topics it matched, and when."""

    topics: list[str] = array(string)
    version: int = int64()
    timestamp: int = int64()
