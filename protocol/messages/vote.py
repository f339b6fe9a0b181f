"""Vote (api key 52): a candidate asks a voter of the metadata quorum for its vote (KIP-595).

Version notes: directories of voters and endpoints come with v1 (KIP-853), asking without a new epoch with v2 (KIP-996).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, int64, string, uint16, uuid


class CandidateState(Struct):
    """Who stands for election, and how far its log goes."""

    partition_index: int = int32()
    replica_epoch: int = int32()
    replica_id: int = int32()
    replica_directory_id: UUID = uuid("1+")
    voter_directory_id: UUID = uuid("1+")
    last_offset_epoch: int = int32()
    last_offset: int = int64()
    pre_vote: bool = boolean("2+")
    """True: it only asks whether it would be elected."""


class VoteRequestTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[CandidateState] = array(CandidateState)


class VoteRequest(Message, api_key=52, versions="0-2", flexible="0+"):
    """The candidate."""

    cluster_id: str | None = string(nullable="0+", default=None)
    voter_id: int = int32("1+", default=-1)
    topics: list[VoteRequestTopic] = array(VoteRequestTopic)


class VoteResult(Struct):
    """The vote, and the leader that the voter knows."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    vote_granted: bool = boolean()


class VoteResponseTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[VoteResult] = array(VoteResult)


class VoteNodeEndpoint(Struct):
    """Where the leader can be reached."""

    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class VoteResponse(Message, api_key=52, versions="0-2", flexible="0+"):
    """The votes."""

    error_code: int = int16()
    topics: list[VoteResponseTopic] = array(VoteResponseTopic)
    node_endpoints: list[VoteNodeEndpoint] = array(VoteNodeEndpoint, "1+", tag=0)
