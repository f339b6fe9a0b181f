"""DeleteGroups (api key 42): delete empty groups (KIP-229). Flexible since v2."""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, string


class DeleteGroupsRequest(Message, api_key=42, versions="0-2", flexible="2+"):
    """The groups to delete."""

    groups_names: list[str] = array(string)


class DeletableGroupResult(Struct):
    """The outcome for one group."""

    group_id: str = string()
    error_code: int = int16()


class DeleteGroupsResponse(Message, api_key=42, versions="0-2", flexible="2+"):
    """What became of each group."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
