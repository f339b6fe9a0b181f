"""ApiVersions (api key 18): which APIs, versions and features a broker has; the first request of a client.

Version notes: throttle time comes with v1, the client's software and the features with v3 (KIP-511, KIP-584), which
is flexible; v4 may list features whose lowest level is 0. Its response header is version 0 in every version, and a
request of an unknown version is answered in v0.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, int64, string


class ApiVersionsRequest(Message, api_key=18, versions="0-4", flexible="3+"):
    """Who the client is."""

    client_software_name: str = string("3+")
    client_software_version: str = string("3+")


class ApiVersion(Struct):
    """The versions of one API, both ends included."""

    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Struct):
    """The levels of a feature that the broker can run."""

    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


class FinalizedFeatureKey(Struct):
    """The level of a feature that the cluster runs."""

    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


class ApiVersionsResponse(Message, api_key=18, versions="0-4", flexible="3+"):
    """What the broker can do."""

    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+")
    supported_features: list[SupportedFeatureKey] = array(SupportedFeatureKey, "3+", tag=0)
    finalized_features_epoch: int = int64("3+", default=-1, tag=1)
    finalized_features: list[FinalizedFeatureKey] = array(FinalizedFeatureKey, "3+", tag=2)
    zk_migration_ready: bool = boolean("3+", tag=3)
