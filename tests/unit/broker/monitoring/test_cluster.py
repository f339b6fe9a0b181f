"""What the metadata says of elections, and what fetchers say of lag."""

from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest

from odradek.broker.metadata.image import NO_LEADER, ImageDelta, MetadataImage, PartitionImage
from odradek.broker.monitoring.cluster import UncleanElections
from odradek.broker.monitoring.followers import AT_ONCE, FollowerCollector
from odradek.broker.replication.fetcher import Received
from odradek.broker.replication.manager import ReplicaManager
from odradek.metrics.samples import Samples
from tests.unit.broker.controller.cluster import cluster, partition


def counted(before: PartitionImage | None, after: PartitionImage | None) -> object:
    """Return how many elections are told after a partition has changed so."""
    old, new = (Mock(spec=MetadataImage, partition=Mock(return_value=one)) for one in (before, after))
    delta = cast("ImageDelta", SimpleNamespace(changed_partitions=[(SimpleNamespace(name="t"), 0)]))
    elections, samples = UncleanElections(), Samples()
    elections.on_metadata(old, new, delta)
    for _ in elections.collect(samples, 1.0):
        pass
    [count] = samples.of("kafka_controller_controllerstats_uncleanleaderelections_total").values()
    return count


IMAGE = cluster(partition([1, 2, 3], 0), brokers=range(1, 4)).topics_by_name["t"].partitions[0]
LED = IMAGE._replace(leader=1, isr=(1, 2), eligible_leader_replicas=())


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        (LED, LED._replace(leader=2), 0),
        (LED, LED._replace(leader=NO_LEADER), 0),
        (LED, LED._replace(isr=(1,)), 0),
        (LED._replace(leader=NO_LEADER, isr=(1,)), LED._replace(leader=3, isr=(3,)), 1),
        (LED._replace(leader=NO_LEADER, isr=(), eligible_leader_replicas=(3,)), LED._replace(leader=3, isr=(3,)), 0),
        (None, LED, 0),
        (LED, None, 0),
    ],
)
def test_an_election_is_unclean_where_the_leader_was_not_in_sync(
    before: PartitionImage | None, after: PartitionImage | None, count: int
) -> None:
    """Nor eligible; a partition that is new, gone, or without a leader has elected nobody."""
    assert counted(before, after) == count


def test_the_partition_that_is_furthest_behind_counts() -> None:
    """Whatever the number of partitions, some at a step; a broker that is in no cluster follows nobody."""
    followed = [SimpleNamespace(lag=lag) for lag in range(3 * AT_ONCE)]
    manager = Mock(spec=ReplicaManager, followed=followed, received=Received())
    manager.received.bytes = 77
    for replicas, lag, received, steps in ((manager, 3 * AT_ONCE - 1, 77, 4), (None, 0, 0, 1)):
        samples = Samples()
        assert len(list(FollowerCollector(replicas).collect(samples, 1.0))) == steps
        assert samples.of("kafka_server_replicafetchermanager_maxlag") == {("Replica",): lag}
        assert samples.of("kafka_server_brokertopicmetrics_replicationbytesin_total") == {(): received}
