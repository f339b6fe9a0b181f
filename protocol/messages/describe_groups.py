"""DescribeGroups (api key 15): state and members of classic groups.

Version notes: throttle time comes with v1, authorized operations with v3 (KIP-430), static members with v4 (KIP-345),
flexible encoding with v5, error messages and GROUP_ID_NOT_FOUND with v6 (KIP-1043).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, boolean, int16, int32, string
from odradek.protocol.codec.fields import MIN_INT32


class DescribeGroupsRequest(Message, api_key=15, versions="0-6", flexible="5+"):
    """The groups to describe."""

    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean("3+")


class DescribedGroupMember(Struct):
    """A member and its assignment."""

    member_id: str = string()
    group_instance_id: str | None = string("4+", nullable="4+", default=None)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = binary()
    member_assignment: bytes = binary()


class DescribedGroup(Struct):
    """A group: its state, protocol and members."""

    error_code: int = int16()
    error_message: str | None = string("6+", nullable="6+", default=None)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=MIN_INT32)


class DescribeGroupsResponse(Message, api_key=15, versions="0-6", flexible="5+"):
    """The groups."""

    throttle_time_ms: int = int32("1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
