"""AlterConfigs (api key 33): replace all configs that are set on a resource (KIP-133). Flexible since v2.

Superseded by IncrementalAlterConfigs, which changes single configs.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string


class AlterableConfig(Struct):
    """One config."""

    name: str = string()
    value: str | None = string(nullable="0+")


class AlterConfigsResource(Struct):
    """One resource and its configs."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class AlterConfigsRequest(Message, api_key=33, versions="0-2", flexible="2+"):
    """The resources to configure."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    """The outcome for one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    """What became of each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
