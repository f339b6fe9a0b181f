"""What planning learns from brokers: no more than it asked for, from those that are there, and nothing that is old."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

import pytest

from odradek.client.connection import BrokerConnection
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.protocol.registry import ApiKey
from pyspark_odradek.client.backoff import Backoff
from pyspark_odradek.client.cluster import ClusterConnections, ClusterOptions, PartitionLeader
from pyspark_odradek.errors import BrokerUnreachableError
from pyspark_odradek.offsets import LATEST, TopicPartition
from tests.support.scripted_broker import ScriptedBroker

SERVED = {ApiKey.METADATA: (0, 12), ApiKey.LIST_OFFSETS: (0, 5), ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 4)}
ID, OTHER_ID = UUID(int=7), UUID(int=8)
TP = TopicPartition("t", 0)
QUICK = Backoff(0.001, 0.001)


class TalkativeCluster(ClusterConnections):
    """A cluster whose leader answers for partitions 0 and 1, whichever are asked for."""

    def _leader(self, partition: TopicPartition) -> PartitionLeader:
        return PartitionLeader(1, 0)

    def _connected(self, node: int) -> BrokerConnection:
        return cast("BrokerConnection", self)

    def call(self, *_: Any) -> ListOffsetsResponse:
        """Answer for both."""
        partitions = [ListOffsetsPartitionResponse(partition_index=number, offset=7 + number) for number in (0, 1)]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=partitions)])


def test_offsets_of_other_partitions_are_left_out() -> None:
    """Only partitions that were asked for come into a plan."""
    wanted = TopicPartition("t", 0)
    assert TalkativeCluster(ClusterOptions(())).offsets({wanted: LATEST}) == {wanted: 7}


class Told:
    """What brokers tell of a topic; tests change it."""

    def __init__(self) -> None:
        self.brokers: dict[int, tuple[str, int]] = {}
        self.leader, self.epoch, self.topic_id = 1, 5, ID
        self.asked: list[Message] = []

    def __call__(self, request: Message) -> Message | None:
        """Answer a request."""
        self.asked.append(request)
        if isinstance(request, OffsetForLeaderEpochRequest):
            one = EpochEndOffset(partition=0, leader_epoch=3, end_offset=42)
            return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic="t", partitions=[one])])
        partition = MetadataResponsePartition(partition_index=0, leader_id=self.leader, leader_epoch=self.epoch)
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node, host=host, port=port)
                for node, (host, port) in self.brokers.items()
            ],
            topics=[MetadataResponseTopic(name="t", topic_id=self.topic_id, partitions=[partition])],
        )


def _options(broker: ScriptedBroker, retries: int = 3) -> ClusterOptions:
    return ClusterOptions(
        (broker.address,), retry_timeout_s=5, retry_backoff=QUICK, reconnect_backoff=QUICK, retries=retries
    )


def test_brokers_that_were_told_of_are_asked_when_the_named_ones_are_gone() -> None:
    """A cluster whose bootstrap servers have moved away is still reached through the others."""
    told = Told()
    with ScriptedBroker(SERVED, told) as second:
        with ScriptedBroker(SERVED, told) as first:
            told.brokers = {1: first.address, 2: second.address}
            cluster = ClusterConnections(_options(first))
            assert cluster.partitions(["t"]) == {"t": [0]}
        assert cluster.partitions(["t"]) == {"t": [0]}
        assert second.connections == 1
        cluster.close()


def test_a_broker_that_is_behind_is_not_believed() -> None:
    """Who tells an older epoch of leadership does not know who leads now; a topic made anew begins with epoch 0."""
    told = Told()
    with ScriptedBroker(SERVED, told) as broker:
        told.brokers = {1: broker.address, 2: broker.address}
        cluster = ClusterConnections(_options(broker, retries=0))
        cluster.partitions(["t"])
        assert cluster.leader_epoch(TP) == 5
        told.leader, told.epoch = 2, 4
        cluster.partitions(["t"])
        assert cluster.leader_epoch(TP) == 5
        told.topic_id, told.epoch = OTHER_ID, 0
        cluster.partitions(["t"])
        assert cluster.leader_epoch(TP) == 0
        assert cluster.topic_ids(["t", "u"]) == {"t": OTHER_ID}
        cluster.close()


def test_the_end_of_an_epoch_is_asked_of_the_leader_of_now() -> None:
    """The request has the epoch of the leader that is asked, so that one that leads no more refuses."""
    told = Told()
    with ScriptedBroker(SERVED, told) as broker:
        told.brokers = {1: broker.address}
        cluster = ClusterConnections(_options(broker))
        assert cluster.end_of_epoch(TP, 3) == 42
        cluster.close()
    request = told.asked[-1]
    assert isinstance(request, OffsetForLeaderEpochRequest)
    [partition] = request.topics[0].partitions
    assert (partition.current_leader_epoch, partition.leader_epoch) == (5, 3)


def test_tries_are_counted_and_waits_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is tried again as often as was said, after waits that double, each a little different."""
    slept: list[float] = []
    monkeypatch.setattr("pyspark_odradek.client.cluster.time.sleep", slept.append)
    cluster = ClusterConnections(ClusterOptions((), retries=4, retry_backoff=Backoff(1.0, 4.0)))

    def fail() -> None:
        raise BrokerUnreachableError(ErrorCode.LEADER_NOT_AVAILABLE.name)

    with pytest.raises(BrokerUnreachableError):
        cluster.retry(fail)
    assert len(slept) == 4
    for wait, wanted in zip(slept, (1, 2, 4, 4), strict=True):
        assert 0.8 * wanted <= wait <= 1.2 * wanted
    assert len(set(slept)) == 4
    assert Backoff(1.0, 4.0).wait_s(10**9, lambda low, high: high) == pytest.approx(4.8)
