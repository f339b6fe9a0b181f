"""ListConfigResources (api key 74): the names of resources that can have configs.

Version notes: v0 lists client metrics resources only (KIP-714), v1 those of the types asked for (KIP-1142).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Message, api_key=74, versions="0-1", flexible="0+"):
    """The types to list."""

    resource_types: list[int] = array(int8, "1+")


class ConfigResource(Struct):
    """One resource."""

    resource_name: str = string()
    resource_type: int = int8("1+", default=16)


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    """The resources that were found."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
