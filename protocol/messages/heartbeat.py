"""Heartbeat (api key 12): a member of a classic group is alive.

Version notes: throttle time comes with v1, static members with v3 (KIP-345), flexible encoding with v4.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, int16, int32, string


class HeartbeatRequest(Message, api_key=12, versions="0-4", flexible="4+"):
    """Who is alive."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)


class HeartbeatResponse(Message, api_key=12, versions="0-4", flexible="4+"):
    """Whether the member is to join again."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
