"""AddRaftVoter (api key 80): a node becomes a voter of the metadata quorum (KIP-853).

Version notes: v1 can have the answer wait until the change is committed, or not (KIP-1186).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string, uint16, uuid


class AddedVoterListener(Struct):
    """Where the voter can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()


class AddRaftVoterRequest(Message, api_key=80, versions="0-1", flexible="0+"):
    """The new voter."""

    cluster_id: str | None = string(nullable="0+")
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    listeners: list[AddedVoterListener] = array(AddedVoterListener)
    ack_when_committed: bool = boolean("1+", default=True)


class AddRaftVoterResponse(Message, api_key=80, versions="0-1", flexible="0+"):
    """Whether it votes now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
