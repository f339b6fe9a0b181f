"""What planning learns from a broker that answers more than it was asked."""

from __future__ import annotations

from typing import Any, cast

from odradek.client.connection import BrokerConnection
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyspark_odradek.client.cluster import ClusterConnections, ClusterOptions
from pyspark_odradek.offsets import LATEST, TopicPartition


class TalkativeCluster(ClusterConnections):
    """A cluster whose leader answers for partitions 0 and 1, whichever are asked for."""

    def leader(self, partition: TopicPartition) -> BrokerConnection:
        """Return what takes the place of a connection."""
        return cast("BrokerConnection", self)

    def call(self, *_: Any) -> ListOffsetsResponse:
        """Answer for both."""
        partitions = [ListOffsetsPartitionResponse(partition_index=number, offset=7 + number) for number in (0, 1)]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=partitions)])


def test_offsets_of_other_partitions_are_left_out() -> None:
    """Only partitions that were asked for come into a plan."""
    wanted = TopicPartition("t", 0)
    assert TalkativeCluster(ClusterOptions(())).offsets({wanted: LATEST}) == {wanted: 7}
