"""ElectLeaders (api key 43): have the preferred replica lead, or, at the price of lost records, any that is left.

Version notes: unclean elections and the error for all come with v1 (KIP-460), flexible encoding with v2.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, string


class TopicPartitions(Struct):
    """The partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class ElectLeadersRequest(Message, api_key=43, versions="0-2", flexible="2+"):
    """The partitions to elect leaders for."""

    election_type: int = int8("1+")
    """0: the preferred replica; 1: any replica, in the ISR or not."""
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable="0+")
    """Null: all of them."""
    timeout_ms: int = int32(default=60000)


class PartitionResult(Struct):
    """What became of one partition."""

    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class ReplicaElectionResult(Struct):
    """What became of the partitions of one topic."""

    topic: str = string()
    partition_result: list[PartitionResult] = array(PartitionResult)


class ElectLeadersResponse(Message, api_key=43, versions="0-2", flexible="2+"):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
