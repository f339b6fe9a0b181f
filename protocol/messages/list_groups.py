"""ListGroups (api key 16): the groups that a broker coordinates.

Version notes: throttle time comes with v1, flexible encoding with v3, the filter by state with v4 (KIP-518), by type
with v5 (KIP-848).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, string


class ListGroupsRequest(Message, api_key=16, versions="0-5", flexible="3+"):
    """Which groups to list; empty filters let all pass."""

    states_filter: list[str] = array(string, "4+")
    types_filter: list[str] = array(string, "5+")


class ListedGroup(Struct):
    """A group."""

    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+")
    group_type: str = string("5+")


class ListGroupsResponse(Message, api_key=16, versions="0-5", flexible="3+"):
    """The groups."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
