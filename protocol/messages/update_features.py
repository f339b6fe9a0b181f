"""UpdateFeatures (api key 57): finalize levels of features (KIP-584).

Version notes: kinds of downgrades and dry runs come with v1 (KIP-778); v2 has no errors of single features.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int8, int16, int32, string


class FeatureUpdateKey(Struct):
    """A feature and the level that it is to have."""

    feature: str = string()
    max_version_level: int = int16()
    """0 ends the feature."""
    allow_downgrade: bool = boolean("0")
    upgrade_type: int = int8("1+", default=1)
    """1: upgrades only; 2: downgrades that lose nothing; 3: any downgrade."""


class UpdateFeaturesRequest(Message, api_key=57, versions="0-2", flexible="0+"):
    """The levels to finalize."""

    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean("1+")


class UpdatableFeatureResult(Struct):
    """What became of one feature."""

    feature: str = string("0-1")
    error_code: int = int16("0-1")
    error_message: str | None = string("0-1", nullable="0-1")


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    """What became of them."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, "0-1")
