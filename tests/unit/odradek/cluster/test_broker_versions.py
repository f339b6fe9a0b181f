"""What brokers can do, put together."""

from odradek.cluster.broker_versions import BrokerVersions, ClusterFeature, cluster_features


def _broker(level: int, **features: tuple[int, int]) -> BrokerVersions:
    return BrokerVersions(requests={}, features=features, finalized={"metadata": level})


def test_a_level_is_possible_where_all_brokers_can_run_it() -> None:
    """While some brokers are newer, the cluster can only be raised to what the oldest knows."""
    found = cluster_features([_broker(25, metadata=(7, 30)), _broker(25, metadata=(9, 27))])
    assert found == [ClusterFeature("metadata", 25, (9, 27))]


def test_a_feature_that_a_broker_does_not_know_cannot_be_raised() -> None:
    """It is off, and no level of it is possible; neither is one where ranges do not meet."""
    found = cluster_features([_broker(7, metadata=(1, 7), share=(0, 1)), _broker(7, metadata=(8, 9))])
    assert found == [ClusterFeature("metadata", 7, None), ClusterFeature("share", 0, None)]


def test_nobody_tells() -> None:
    """Then there are no features to show."""
    assert cluster_features([]) == []
