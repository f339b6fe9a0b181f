"""BeginQuorumEpoch (api key 53): the new leader of the metadata quorum tells the voters of itself (KIP-595).

Version notes: directories of voters, endpoints and flexible encoding come with v1 (KIP-853).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, string, uint16, uuid


class BeginningEpoch(Struct):
    """The new leader and its epoch."""

    partition_index: int = int32()
    voter_directory_id: UUID = uuid("1+")
    leader_id: int = int32()
    leader_epoch: int = int32()


class BeginQuorumEpochTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[BeginningEpoch] = array(BeginningEpoch)


class BeginningLeaderEndpoint(Struct):
    """Where the leader can be reached."""

    name: str = string("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class BeginQuorumEpochRequest(Message, api_key=53, versions="0-1", flexible="1+"):
    """The new leader."""

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32("1+", default=-1)
    topics: list[BeginQuorumEpochTopic] = array(BeginQuorumEpochTopic)
    leader_endpoints: list[BeginningLeaderEndpoint] = array(BeginningLeaderEndpoint, "1+")


class BeginningEpochResult(Struct):
    """What the voter makes of it."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()


class BeginQuorumEpochTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[BeginningEpochResult] = array(BeginningEpochResult)


class BeginQuorumEpochNodeEndpoint(Struct):
    """Where the leader that the voter knows can be reached."""

    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class BeginQuorumEpochResponse(Message, api_key=53, versions="0-1", flexible="1+"):
    """What the voter makes of it."""

    error_code: int = int16()
    topics: list[BeginQuorumEpochTopicResult] = array(BeginQuorumEpochTopicResult)
    node_endpoints: list[BeginQuorumEpochNodeEndpoint] = array(BeginQuorumEpochNodeEndpoint, "1+", tag=0)
