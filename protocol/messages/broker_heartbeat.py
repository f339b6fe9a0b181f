"""BrokerHeartbeat (api key 63): a broker lives, and asks to be unfenced or to stop (KIP-631).

Version notes: failed directories come with v1 (KIP-858), cordoned ones with v2 (KIP-1066).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import Message, array, boolean, int16, int32, int64, uuid


class BrokerHeartbeatRequest(Message, api_key=63, versions="0-2", flexible="0+"):
    """The broker's state and wishes."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    current_metadata_offset: int = int64()
    """The last offset of the metadata log that it has taken over."""
    want_fence: bool = boolean()
    want_shut_down: bool = boolean()
    offline_log_dirs: list[UUID] = array(uuid, "1+", tag=0)
    """All that have failed since its start."""
    cordoned_log_dirs: list[UUID] | None = array(uuid, "2+", nullable="2+", default=None, tag=1)
    """Those that take no new replicas; null: unknown yet."""


class BrokerHeartbeatResponse(Message, api_key=63, versions="0-2", flexible="0+"):
    """What the controller sees it as."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    is_fenced: bool = boolean(default=True)
    should_shut_down: bool = boolean()
