"""SyncGroup (api key 14): hand in the assignment of a classic group as its leader, or fetch one's own.

Version notes: throttle time comes with v1, static members with v3 (KIP-345), flexible encoding with v4, protocol type
and name with v5 (KIP-559).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, int16, int32, string


class SyncGroupRequestAssignment(Struct):
    """What one member gets."""

    member_id: str = string()
    assignment: bytes = binary()


class SyncGroupRequest(Message, api_key=14, versions="0-5", flexible="4+"):
    """The assignment, from the leader; from others none."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Message, api_key=14, versions="0-5", flexible="4+"):
    """What the asking member gets."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    protocol_type: str | None = string("5+", nullable="5+", default=None)
    protocol_name: str | None = string("5+", nullable="5+", default=None)
    assignment: bytes = binary()
