"""Large requests in portions, and their answers put together."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from odradek.broker.controller.elections import refused_elections
from odradek.broker.dispatch.division import MOST_CHANGES, MOST_OF_A_PORTION, Division
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from odradek.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionState, AlterPartitionTopic
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectory,
    AssignedDirectoryResult,
    AssignedPartition,
    AssignedPartitionResult,
    AssignedTopic,
    AssignedTopicResult,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumTopic,
)
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest
from odradek.protocol.messages.elect_leaders import TopicPartitions as ElectedPartitions
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.registry import ApiKey


def offsets_request(*sizes: int) -> ListOffsetsRequest:
    """Return a request of topics with so many partitions."""
    return ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name=f"t{number}", partitions=[ListOffsetsPartition(partition_index=index) for index in range(size)]
            )
            for number, size in enumerate(sizes)
        ]
    )


def offsets_response(request: Message) -> ListOffsetsResponse:
    """Return a response that names what the request names."""
    assert isinstance(request, ListOffsetsRequest)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[ListOffsetsPartitionResponse(partition_index=p.partition_index) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


@pytest.mark.parametrize(
    "sizes", [(1,), (3, 2), (2_000,), (1,) * 1_200, (499, 499, 3), (0, 700, 0), (498, 1, 1), (1_500, 1, 0, 900)]
)
def test_portions_are_small_and_together_the_whole(sizes: tuple[int, ...]) -> None:
    """Topics are divided between and within, and the joined answer is that to the whole request."""
    request = offsets_request(*sizes)
    division = Division(ApiKey.LIST_OFFSETS, request)
    for portion in division.portions:
        assert isinstance(portion, ListOffsetsRequest)
        assert sum(1 + len(topic.partitions) for topic in portion.topics) <= MOST_OF_A_PORTION + 1
    assert division.join([offsets_response(portion) for portion in division.portions]) == offsets_response(request)
    assert request == offsets_request(*sizes)


def test_a_small_request_is_its_own_portion() -> None:
    """Nothing is copied where there is nothing to divide."""
    request = offsets_request(100, 100)
    [portion] = Division(ApiKey.LIST_OFFSETS, request).portions
    assert portion is request


def test_what_belongs_together_stays_together() -> None:
    """The assignments of a group are one thing, however many there are."""
    request = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(member_id=f"m{i}") for i in range(5_000)])
    assert Division(ApiKey.SYNC_GROUP, request).portions == [request]


def test_changes_come_in_smaller_portions() -> None:
    """A change costs several times as much as a question."""
    request = CreateTopicsRequest(topics=[CreatableTopic(name=f"t{i}") for i in range(1_000)])
    assert len(Division(ApiKey.CREATE_TOPICS, request).portions) == 1_000 // MOST_CHANGES


def test_elections_are_divided_and_their_topics_told_apart() -> None:
    """Twenty thousand of them held the event loop for a tenth of a second; a topic is named once in the answer."""
    request = ElectLeadersRequest(
        topic_partitions=[ElectedPartitions(topic=name, partitions=list(range(150))) for name in ("a", "b")]
    )
    division = Division(ApiKey.ELECT_LEADERS, request)
    assert len(division.portions) > 2
    responses: list[Message] = []
    for portion in division.portions:
        assert isinstance(portion, ElectLeadersRequest)
        assert sum(len(topic.partitions) for topic in portion.topic_partitions or ()) <= MOST_CHANGES
        responses.append(refused_elections(portion, KafkaError(ErrorCode.NOT_CONTROLLER)))
    assert division.join(responses) == refused_elections(request, KafkaError(ErrorCode.NOT_CONTROLLER))


def test_transactions_and_what_is_asked_of_the_quorum_are_divided() -> None:
    """Of 30,000 transactions, and of 200,000 partitions that are none of the quorum's, each held everybody up for half
    a second; a transaction's own partitions stay together."""
    topics = [AddPartitionsToTxnTopic(name="t", partitions=[0]), AddPartitionsToTxnTopic(name="u", partitions=[1])]
    transactions = [AddPartitionsToTxnTransaction(transactional_id=f"x{i}", topics=topics) for i in range(3_000)]
    parts = Division(ApiKey.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnRequest(transactions=transactions)).portions
    found = [part.transactions for part in parts if isinstance(part, AddPartitionsToTxnRequest)]
    assert [one for some in found for one in some] == transactions
    assert max(map(len, found)) <= MOST_OF_A_PORTION
    asked = DescribeQuorumRequest(
        topics=[
            DescribeQuorumTopic(
                topic_name="t", partitions=[DescribeQuorumPartition(partition_index=i) for i in range(2_000)]
            )
        ]
    )
    assert len(Division(ApiKey.DESCRIBE_QUORUM, asked).portions) >= 4


def test_configs_of_the_resources_make_a_portion_larger() -> None:
    """A thousand topics with a hundred configs each cost what a hundred thousand configs cost."""
    resources = [
        AlterConfigsResource(
            resource_type=2, resource_name=f"t{i}", configs=[AlterableConfig(name=f"n{j}") for j in range(100)]
        )
        for i in range(100)
    ]
    portions = Division(ApiKey.ALTER_CONFIGS, AlterConfigsRequest(resources=resources)).portions
    assert [one for part in portions if isinstance(part, AlterConfigsRequest) for one in part.resources] == resources
    assert all(len(part.resources) <= 10 for part in portions if isinstance(part, AlterConfigsRequest))


def test_all_topics_are_not_divided() -> None:
    """Null stands for all there are, and is no list."""
    request = MetadataRequest(topics=None)
    assert Division(ApiKey.METADATA, request).portions == [request]


def test_lists_in_lists_in_lists_are_divided() -> None:
    """OffsetFetch names partitions of topics of groups."""
    topics = [OffsetFetchRequestTopics(topic_id=UUID(int=1), partition_indexes=list(range(3_000)))]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=topics) for name in ("a", "b")]
    portions = Division(ApiKey.OFFSET_FETCH, OffsetFetchRequest(groups=groups)).portions
    found = [
        (group.group_id, index)
        for portion in portions
        if isinstance(portion, OffsetFetchRequest)
        for group in portion.groups
        for topic in group.topics or ()
        for index in topic.partition_indexes
    ]
    assert found == [(name, index) for name in ("a", "b") for index in range(3_000)]
    assert len(portions) >= 12


def test_responses_that_a_handler_keeps_are_not_changed() -> None:
    """A handler may answer with an object that it answers others with."""
    division = Division(
        ApiKey.METADATA, MetadataRequest(topics=[MetadataRequestTopic(name=f"t{i}") for i in range(1_000)])
    )
    kept = MetadataResponse(topics=[MetadataResponseTopic(name="t")])
    joined = division.join([kept, kept])
    assert isinstance(joined, MetadataResponse)
    assert len(joined.topics) == 2
    assert len(kept.topics) == 1


def test_joining_takes_as_long_as_the_whole_is_large() -> None:
    """Answers to thousands of portions are put together with one copy of each list, not with one for each portion."""

    class Counted(list[ListOffsetsPartitionResponse]):
        copied = 0

        def __iter__(self) -> Iterator[ListOffsetsPartitionResponse]:
            Counted.copied += len(self)
            return super().__iter__()

        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            Counted.copied += len(found) if isinstance(place, slice) else 0
            return found

        def __add__(self, other: Any) -> Any:
            Counted.copied += len(self) + len(other)
            return Counted(super().__add__(other))

    division = Division(ApiKey.LIST_OFFSETS, offsets_request(100_000))
    answers = [offsets_response(portion) for portion in division.portions]
    for answer in answers:
        answer.topics[0].partitions = Counted(answer.topics[0].partitions)
    joined = division.join(answers)
    assert isinstance(joined, ListOffsetsResponse)
    assert [one.partition_index for one in joined.topics[0].partitions] == list(range(100_000))
    assert Counted.copied <= 300_000


def test_what_brokers_ask_of_the_controller_is_divided() -> None:
    """Directories with their topics, and ISRs, are answered in portions, each under what it belongs to."""
    topics = [
        AssignedTopic(
            topic_id=UUID(int=topic), partitions=[AssignedPartition(partition_index=index) for index in range(150)]
        )
        for topic in range(2)
    ]
    request = AssignReplicasToDirsRequest(
        directories=[AssignedDirectory(id=UUID(int=directory), topics=topics) for directory in (7, 8)]
    )
    division = Division(ApiKey.ASSIGN_REPLICAS_TO_DIRS, request)
    assert len(division.portions) > 4
    answers = []
    for portion in division.portions:
        assert isinstance(portion, AssignReplicasToDirsRequest)
        answers.append(_assigned(portion))
    assert division.join(answers) == _assigned(request)
    isrs = AlterPartitionRequest(
        topics=[AlterPartitionTopic(partitions=[AlterPartitionState(partition_index=index) for index in range(1_000)])]
    )
    assert len(Division(ApiKey.ALTER_PARTITION, isrs).portions) == 1_000 // MOST_CHANGES


def _assigned(request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(
        directories=[
            AssignedDirectoryResult(
                id=directory.id,
                topics=[
                    AssignedTopicResult(
                        topic_id=topic.topic_id,
                        partitions=[
                            AssignedPartitionResult(partition_index=p.partition_index) for p in topic.partitions
                        ],
                    )
                    for topic in directory.topics
                ],
            )
            for directory in request.directories
        ]
    )
