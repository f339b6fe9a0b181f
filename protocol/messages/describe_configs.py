"""DescribeConfigs (api key 32): configs in effect, and where their values come from (KIP-133).

Version notes: v1 replaces the flag for defaults by the source and adds synonyms (KIP-226), v3 adds types and
documentation (KIP-569), v4 is flexible.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string


class DescribeConfigsResource(Struct):
    """One resource, and which of its configs."""

    resource_type: int = int8()
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    resource_name: str = string()
    configuration_keys: list[str] | None = array(string, nullable="0+")
    """Null: all of them."""


class DescribeConfigsRequest(Message, api_key=32, versions="0-4", flexible="4+"):
    """The resources whose configs are asked for."""

    resources: list[DescribeConfigsResource] = array(DescribeConfigsResource)
    include_synonyms: bool = boolean("1+")
    include_documentation: bool = boolean("3+")


class DescribeConfigsSynonym(Struct):
    """A place the value could come from; the first that is set wins."""

    name: str = string()
    value: str | None = string(nullable="0+")
    source: int = int8()


class DescribeConfigsResourceResult(Struct):
    """One config: its value and where it comes from."""

    name: str = string()
    value: str | None = string(nullable="0+")
    read_only: bool = boolean()
    is_default: bool = boolean("0")
    config_source: int = int8("1+", default=-1)
    """1 topic, 2 broker, 3 default of all brokers, 4 file, 5 default, 6 broker logger, 7 client metrics, 8 group."""
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array(DescribeConfigsSynonym, "1+")
    config_type: int = int8("3+")
    """1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password."""
    documentation: str | None = string("3+", nullable="3+")


class DescribeConfigsResult(Struct):
    """The configs of one resource."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult)


class DescribeConfigsResponse(Message, api_key=32, versions="0-4", flexible="4+"):
    """The configs of each resource."""

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array(DescribeConfigsResult)
