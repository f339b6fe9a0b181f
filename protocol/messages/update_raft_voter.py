"""UpdateRaftVoter (api key 82): a voter of the metadata quorum tells where it is and what it can run (KIP-853)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, int16, int32, string, struct, uint16, uuid


class UpdatedVoterListener(Struct):
    """Where the voter can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionRange(Struct):
    """The levels of kraft.version that it can run."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


class UpdateRaftVoterRequest(Message, api_key=82, versions="0", flexible="0+"):
    """The voter."""

    cluster_id: str | None = string(nullable="0+")
    current_leader_epoch: int = int32()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    listeners: list[UpdatedVoterListener] = array(UpdatedVoterListener)
    kraft_version_feature: KRaftVersionRange = struct(KRaftVersionRange)


class UpdateVoterLeader(Struct):
    """Who leads the quorum, told to those who asked the wrong node."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    host: str = string()
    port: int = int32()


class UpdateRaftVoterResponse(Message, api_key=82, versions="0", flexible="0+"):
    """Whether it is known so now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    current_leader: UpdateVoterLeader = struct(UpdateVoterLeader, tag=0)
