"""ConsumerGroupDescribe (api key 69): state and members of groups of the new protocol (KIP-848).

Version notes: v1 adds the type of the member (KIP-1099).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string, struct, uuid
from odradek.protocol.codec.fields import MIN_INT32


class ConsumerGroupDescribeRequest(Message, api_key=69, versions="0-1", flexible="0+"):
    """The groups to describe."""

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


class Assignment(Struct):
    """The partitions of a member."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class Member(Struct):
    """A member, what it has and what it is to have."""

    member_id: str = string()
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    assignment: Assignment = struct(Assignment)
    target_assignment: Assignment = struct(Assignment)
    member_type: int = int8("1+", default=-1)
    """-1 unknown, 0 classic, 1 consumer."""


class DescribedGroup(Struct):
    """A group: its state, epochs and members."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=MIN_INT32)


class ConsumerGroupDescribeResponse(Message, api_key=69, versions="0-1", flexible="0+"):
    """The groups."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
