"""EndQuorumEpoch (api key 54): the leader of the metadata quorum resigns and says who should follow (KIP-595).

Version notes: directories of voters, endpoints and flexible encoding come with v1 (KIP-853).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, string, uint16, uuid


class PreferredCandidate(Struct):
    """A voter that could lead next."""

    candidate_id: int = int32("1+")
    candidate_directory_id: UUID = uuid("1+")


class EndingEpoch(Struct):
    """The leader that resigns and its epoch."""

    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32()
    preferred_successors: list[int] = array(int32, "0")
    preferred_candidates: list[PreferredCandidate] = array(PreferredCandidate, "1+")


class EndQuorumEpochTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[EndingEpoch] = array(EndingEpoch)


class EndingLeaderEndpoint(Struct):
    """Where the leader can be reached."""

    name: str = string("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class EndQuorumEpochRequest(Message, api_key=54, versions="0-1", flexible="1+"):
    """The leader that resigns."""

    cluster_id: str | None = string(nullable="0+", default=None)
    topics: list[EndQuorumEpochTopic] = array(EndQuorumEpochTopic)
    leader_endpoints: list[EndingLeaderEndpoint] = array(EndingLeaderEndpoint, "1+")


class EndingEpochResult(Struct):
    """What the voter makes of it."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()


class EndQuorumEpochTopicResult(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[EndingEpochResult] = array(EndingEpochResult)


class EndQuorumEpochNodeEndpoint(Struct):
    """Where the leader that the voter knows can be reached."""

    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class EndQuorumEpochResponse(Message, api_key=54, versions="0-1", flexible="1+"):
    """What the voter makes of it."""

    error_code: int = int16()
    topics: list[EndQuorumEpochTopicResult] = array(EndQuorumEpochTopicResult)
    node_endpoints: list[EndQuorumEpochNodeEndpoint] = array(EndQuorumEpochNodeEndpoint, "1+", tag=0)
