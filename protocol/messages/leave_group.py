"""LeaveGroup (api key 13): members leave a classic group.

Version notes: throttle time comes with v1, several members at once and static ones with v3 (KIP-345), flexible
encoding with v4, the reason with v5 (KIP-800).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, string


class MemberIdentity(Struct):
    """A member, by its id or as a static member."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable="0+", default=None)
    reason: str | None = string("5+", nullable="5+", default=None)


class LeaveGroupRequest(Message, api_key=13, versions="0-5", flexible="4+"):
    """Who leaves."""

    group_id: str = string()
    member_id: str = string("0-2")
    members: list[MemberIdentity] = array(MemberIdentity, "3+")


class MemberResponse(Struct):
    """The outcome for one member."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable="0+")
    error_code: int = int16()


class LeaveGroupResponse(Message, api_key=13, versions="0-5", flexible="4+"):
    """What became of each member."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, "3+")
