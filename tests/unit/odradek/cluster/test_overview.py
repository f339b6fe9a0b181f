"""Everything of a cluster at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from odradek.client.errors import ConnectionLostError
from odradek.cluster.overview import cluster_names, cluster_overview
from odradek.protocol.codec import Message
from odradek.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

ONE, TWO = ("one", 9092), ("two", 9092)
TOPIC_ID = UUID(int=7)


class _ScriptedRequests:
    """Two brokers; each leads a partition of `t`, and `two` answers nothing where it is silent."""

    def __init__(self, *, two_is_silent: bool) -> None:
        self.two_is_silent = two_is_silent

    def ask(self, request: Message, answer: type[Message], what: str) -> Message:
        partitions = [
            MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1, 2]),
            MetadataResponsePartition(partition_index=1, leader_id=2, replica_nodes=[2, 1], isr_nodes=[2]),
        ]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=1, host="one", port=9092),
                MetadataResponseBroker(node_id=2, host="two", port=9092),
            ],
            topics=[
                MetadataResponseTopic(name="t", topic_id=TOPIC_ID, partitions=partitions),
                MetadataResponseTopic(name="going", error_code=3),
            ],
        )

    def newest_at(self, address: tuple[str, int], request: type[Message]) -> int:
        return 10

    def ask_each(self, questions: Mapping[tuple[str, int], Message], answer: type[Message]) -> dict[Any, Any]:
        return {
            address: ConnectionLostError("gone")
            if address == TWO and self.two_is_silent
            else self._answer(address, one)
            for address, one in questions.items()
        }

    def _answer(self, address: tuple[str, int], asked: Message) -> Message:
        match asked:
            case ListOffsetsRequest():
                [topic] = asked.topics
                found = [
                    ListOffsetsPartitionResponse(
                        partition_index=each.partition_index, offset=100 if each.timestamp == -1 else 10
                    )
                    for each in topic.partitions
                ]
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=found)])
            case DescribeLogDirsRequest():
                sizes = [DescribeLogDirsPartition(partition_index=number, partition_size=500) for number in (0, 1)]
                topics = [DescribeLogDirsTopic(name="t", partitions=sizes)]
                return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir="/d", topics=topics)])
            case ListGroupsRequest():
                return ListGroupsResponse(
                    groups=[ListedGroup(group_id="g", group_state="Empty")] if address == ONE else []
                )
            case OffsetFetchRequest():
                committed = [
                    OffsetFetchResponsePartitions(partition_index=0, committed_offset=70),
                    OffsetFetchResponsePartitions(partition_index=1, committed_offset=120),
                    OffsetFetchResponsePartitions(partition_index=9, committed_offset=1),
                ]
                topics_of_group = [OffsetFetchResponseTopics(topic_id=TOPIC_ID, partitions=committed)]
                return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics_of_group)])
        raise AssertionError(asked)


def test_everything_is_put_together() -> None:
    """Sizes are of all replicas, offsets of all partitions; no lag is below zero, gone partitions have none."""
    requests: Any = _ScriptedRequests(two_is_silent=False)
    overview = cluster_overview(requests)
    [topic], [group] = overview.topics, overview.groups
    assert (topic.partitions, topic.replication_factor, topic.under_replicated, topic.offline) == (2, 2, 1, 0)
    assert (topic.offsets, topic.size) == (180, 2000)
    assert (topic.lag, topic.groups, group.lag, group.state) == (30, 1, 30, "Empty")
    assert overview.silent == []


def test_silent_broker_is_named() -> None:
    """What is not known is not given as less than it is, and the broker that does not tell is named."""
    requests: Any = _ScriptedRequests(two_is_silent=True)
    overview = cluster_overview(requests)
    [topic] = overview.topics
    assert (topic.offsets, topic.size) == (None, None)
    assert overview.silent == ["two:9092"]


def test_names_are_told_without_looking_at_a_log() -> None:
    """Replicas and states are known with them; offsets, sizes and lags are not, and are not taken for nothing."""
    requests: Any = _ScriptedRequests(two_is_silent=True)
    overview = cluster_names(requests)
    [topic], [group] = overview.topics, overview.groups
    assert (topic.name, topic.partitions, topic.replication_factor, topic.under_replicated) == ("t", 2, 2, 1)
    assert (topic.offsets, topic.size, topic.lag) == (None, None, None)
    assert (group.name, group.state, group.lag) == ("g", "Empty", None)
    assert (overview.silent, overview.is_whole, overview.amount) == (["two:9092"], False, 12)
