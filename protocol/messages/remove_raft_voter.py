"""RemoveRaftVoter (api key 81): a node is no longer a voter of the metadata quorum (KIP-853)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, int16, int32, string, uuid


class RemoveRaftVoterRequest(Message, api_key=81, versions="0", flexible="0+"):
    """The voter."""

    cluster_id: str | None = string(nullable="0+")
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()


class RemoveRaftVoterResponse(Message, api_key=81, versions="0", flexible="0+"):
    """Whether it is one no more."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
