"""UpdateFeatures: which levels of features the cluster may agree on, and the records that do it.

Pure. Codes and sentences follow Kafka 4.3's `FeatureControlManager` (KIP-584, KIP-778, KIP-1022). The first update that
cannot be made refuses all of them.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from odradek.broker.controller.controller_view import MIN_INSYNC_REPLICAS, ControllerView
from odradek.broker.metadata.features import ELIGIBLE_LEADER_REPLICAS, KRAFT_VERSION, METADATA_VERSION, SUPPORTED
from odradek.broker.metadata.image import ResourceType
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from odradek.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_OLDEST_METADATA: Final = 7
_ALL_FAILED = "The update failed for all features since the following feature had an error: "
_FIRST_WITHOUT_RESULTS = 2


class UpgradeType(IntEnum):
    """In which direction a level may go, with Kafka's numbers."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def plan_features(view: ControllerView, request: UpdateFeaturesRequest, node_id: int) -> list[MetadataRecord]:
    """Return the records that finalize the levels; raise KafkaError if one of them cannot be.

    `node_id` is that of the controller, which the sentences name.
    """
    levels: dict[str, int] = {**dict.fromkeys(SUPPORTED, 0), **view.image.features}
    records: list[MetadataRecord] = []
    updates = {update.feature: update for update in request.feature_updates}  # the last of a name counts
    for update in updates.values():
        problem = _problem(view, update, levels, node_id)
        if problem:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, _ALL_FAILED + problem)
        name, level = update.feature, update.max_version_level
        if name == KRAFT_VERSION:
            continue
        if name == ELIGIBLE_LEADER_REPLICAS and level > levels[name]:
            records += _keep_min_isr(view)
        records.append(make_record(FeatureLevelRecord(name=name, feature_level=level)))
        levels[name] = level
    return records


def updated_features(request: UpdateFeaturesRequest, version: int) -> UpdateFeaturesResponse:
    """Return the answer to a request that was carried out."""
    response = UpdateFeaturesResponse(error_message=None)
    if version < _FIRST_WITHOUT_RESULTS:
        response.results = [
            UpdatableFeatureResult(feature=update.feature, error_message="NONE") for update in request.feature_updates
        ]
    return response


def _problem(view: ControllerView, update: FeatureUpdateKey, levels: Mapping[str, int], node_id: int) -> str | None:
    """Return why a level cannot be finalized."""
    name, level = update.feature, update.max_version_level
    reason = _reason(view, update, levels, node_id)
    if reason:
        return f"Invalid update version {level} for feature {name}. {reason}"
    now = levels[name]
    if name == METADATA_VERSION and level < now:
        what = (
            "Unsafe metadata downgrade is not supported in this version."
            if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
            else "Refusing to perform the requested downgrade because it might delete metadata information."
        )
        return f"Unsupported metadata.version downgrade from {now} to {level}. {what}"
    return None


def _reason(view: ControllerView, update: FeatureUpdateKey, levels: Mapping[str, int], node_id: int) -> str | None:
    name, level, kind = update.feature, update.max_version_level, update.upgrade_type
    if kind not in UpgradeType.__members__.values():
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    newest = SUPPORTED.get(name)
    if newest is None:
        return f"Local controller {node_id} does not support this feature." if level else f"Feature {name} not found."
    least = _OLDEST_METADATA if name == METADATA_VERSION else 0
    if not least <= level <= newest:
        return f"Local controller {node_id} only supports versions {least}-{newest}"
    for broker in view.brokers.values():
        for known, first, last in broker.features:
            if known == name and not first <= level <= last:
                return f"Broker {broker.broker_id} only supports versions {first}-{last}"
    now = levels[name]
    if level < now and kind == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
            " downgrade."
        )
    if level > now and kind != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    if level > now and name == KRAFT_VERSION:
        return "The voters of this cluster are static."
    return None


def _keep_min_isr(view: ControllerView) -> list[MetadataRecord]:
    """Make min.insync.replicas one for all brokers: with eligible leader replicas it decides who may lead."""
    if MIN_INSYNC_REPLICAS in view.image.config(ResourceType.BROKER, ""):
        return []
    value = view.configs.get(MIN_INSYNC_REPLICAS, "1")
    record = ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=MIN_INSYNC_REPLICAS, value=value)
    return [make_record(record)]
