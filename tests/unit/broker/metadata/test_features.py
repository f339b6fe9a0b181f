"""Feature levels."""

import pytest

from odradek.broker.metadata.features import NEW_CLUSTER, SUPPORTED, check_level, partition_record_version


def test_new_cluster_has_levels_that_every_kafka_4_knows() -> None:
    """metadata.version 25 is Kafka 4.0; features that Kafka 4.0 does not know must be absent."""
    assert NEW_CLUSTER["metadata.version"] == 25
    assert not {"share.version", "streams.version"} & NEW_CLUSTER.keys()
    assert all(check_level(name, level) is None for name, level in NEW_CLUSTER.items())


def test_levels_up_to_the_newest_are_served_and_no_other_feature() -> None:
    """A level of 0 is a feature that is off, and never in the way."""
    assert all(check_level(name, level) is None for name, level in SUPPORTED.items())
    assert all(check_level(name, level + 1) for name, level in SUPPORTED.items())
    assert check_level("from.the.future", 0) is None
    assert "kafka-features.sh" in (check_level("from.the.future", 1) or "")


@pytest.mark.parametrize(
    ("features", "version"),
    [
        ({"metadata.version": 7}, 0),
        ({"metadata.version": 17}, 1),
        ({"metadata.version": 22}, 1),
        ({"metadata.version": 23}, 2),
        ({"metadata.version": 25, "eligible.leader.replicas.version": 1}, 2),
    ],
)
def test_partition_records_have_the_version_that_the_features_allow(features: dict[str, int], version: int) -> None:
    """Directories came with 3.7-IV2, eligible leader replicas with 4.0-IV1, whether or not they are in use."""
    assert partition_record_version(features) == version
