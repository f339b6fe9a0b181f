"""ConsumerGroupHeartbeat (api key 68): be a member of a group of the new protocol (KIP-848).

Version notes: v1 adds subscriptions by regular expression, and lets the client choose its member id (KIP-1082).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, string, struct, uuid


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupHeartbeatRequest(Message, api_key=68, versions="0-1", flexible="0+"):
    """Who is alive, and what has changed since its last heartbeat: null says unchanged."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    """0: join; -1: leave; -2: leave for a while, as a static member."""
    instance_id: str | None = string(nullable="0+", default=None)
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)
    subscribed_topic_regex: str | None = string("1+", nullable="1+", default=None)
    server_assignor: str | None = string(nullable="0+", default=None)
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable="0+", default=None)


class Assignment(Struct):
    """The partitions that the member is to have."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupHeartbeatResponse(Message, api_key=68, versions="0-1", flexible="0+"):
    """The member's epoch and, where it changes, its assignment."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct(Assignment, nullable="0+")
