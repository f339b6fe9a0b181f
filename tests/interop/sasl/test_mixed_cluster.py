"""Clusters of Apache Kafka's nodes and ours that log in at each other."""

from pathlib import Path

import pytest

from tests.integration.test_sasl_ssl import tls_settings
from tests.support.sasl_cluster import SaslCluster

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]


@pytest.mark.parametrize("over_tls", [False, True])
@pytest.mark.parametrize("are_kafka", [(True, False), (False, True)])
def test_replicas_of_both_kinds_follow_each_other(tmp_path: Path, are_kafka: tuple[bool, bool], over_tls: bool) -> None:
    """Whoever is the controller; both lead a partition, and follow one, over connections that log in by SCRAM."""
    tls = tls_settings(tmp_path / "tls") if over_tls else {}
    cluster = SaslCluster(tmp_path, are_kafka, tls=tls)
    try:
        cluster.start()
        cluster.make_topic("t", 4)
        leaders = {one.leader for one in cluster.admin.list_topics("t", 20).topics["t"].partitions.values()}
        assert leaders == {1, 2}
        cluster.produce("t", 4, 20)
        assert [cluster.count("t", partition) for partition in range(4)] == [20] * 4
        assert cluster.is_in_sync("t")
    finally:
        cluster.discard()
