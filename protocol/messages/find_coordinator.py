"""FindCoordinator (api key 10): the broker that coordinates a group or a transactional id.

Version notes: the kind of key and error messages come with v1, flexible encoding with v3, several keys at once with
v4 (KIP-699), TRANSACTION_ABORTABLE with v5 (KIP-890), share groups' partitions with v6 (KIP-932).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(Message, api_key=10, versions="0-6", flexible="3+"):
    """The keys whose coordinators are sought."""

    key: str = string("0-3")
    key_type: int = int8("1+")
    """0 group, 1 transaction, 2 share."""
    coordinator_keys: list[str] = array(string, "4+")


class Coordinator(Struct):
    """The coordinator of one key, or why there is none."""

    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    """The coordinators; before v4 the one coordinator."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16("0-3")
    error_message: str | None = string("1-3", nullable="1-3")
    node_id: int = int32("0-3")
    host: str = string("0-3")
    port: int = int32("0-3")
    coordinators: list[Coordinator] = array(Coordinator, "4+")
