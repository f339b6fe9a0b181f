"""JoinGroup (api key 11): enter a classic group, or begin its next rebalance.

Version notes: the rebalance timeout comes with v1, throttle time with v2, the member id that the coordinator gives to
new members with v4 (KIP-394), static members with v5 (KIP-345), flexible encoding with v6, the protocol type in
answers with v7 (KIP-559), the reason with v8 (KIP-800), the choice to skip the assignment with v9 (KIP-814).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, boolean, int16, int32, string


class JoinGroupRequestProtocol(Struct):
    """One protocol, with what the member has to say in it."""

    name: str = string()
    metadata: bytes = binary()


class JoinGroupRequest(Message, api_key=11, versions="0-9", flexible="6+"):
    """Who joins, and which protocols it can speak, the preferred first."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1)
    """Milliseconds to wait for the other members; -1: the session timeout."""
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string("8+", nullable="8+", default=None)


class JoinGroupResponseMember(Struct):
    """A member, with what it said in the protocol that was chosen."""

    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    metadata: bytes = binary()


class JoinGroupResponse(Message, api_key=11, versions="0-9", flexible="6+"):
    """The generation that was entered; the leader is told all members."""

    throttle_time_ms: int = int32("2+")
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable="7+", default=None)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
