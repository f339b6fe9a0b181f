"""What consumers of classic groups tell each other through the coordinator, which does not look inside.

A version number stands before each. Version notes: owned partitions come with v1 (KIP-429), the generation with v2
(KIP-792), the rack with v3 (KIP-881).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, int32, string


class TopicPartition(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class ConsumerProtocolSubscription(Message, versions="0-3"):
    """What a consumer wants, and what it has."""

    topics: list[str] = array(string)
    user_data: bytes | None = binary(nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = array(TopicPartition, "1+")
    generation_id: int = int32("2+", default=-1)
    rack_id: str | None = string("3+", nullable="3+", default=None)


class ConsumerProtocolAssignment(Message, versions="0-3"):
    """What a consumer gets."""

    assigned_partitions: list[TopicPartition] = array(TopicPartition)
    user_data: bytes | None = binary(nullable="0+", default=None)
