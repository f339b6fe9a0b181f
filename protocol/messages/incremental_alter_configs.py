"""IncrementalAlterConfigs (api key 44): change single configs of a resource (KIP-339). Flexible since v1."""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string


class AlterableConfig(Struct):
    """One config."""

    name: str = string()
    config_operation: int = int8()
    """0 set, 1 delete, 2 append, 3 subtract (the last two on lists)."""
    value: str | None = string(nullable="0+")


class AlterConfigsResource(Struct):
    """One resource and its configs."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


class IncrementalAlterConfigsRequest(Message, api_key=44, versions="0-1", flexible="1+"):
    """The resources to configure."""

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    """The outcome for one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


class IncrementalAlterConfigsResponse(Message, api_key=44, versions="0-1", flexible="1+"):
    """What became of each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
