"""Requests that are refused in part, and answers that are not told as a whole."""

from typing import Any

import pytest

from odradek.broker.authorization.partly import Partly
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.acls import AclOperation, AclResourceType
from odradek.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Member,
)
from odradek.protocol.messages.consumer_group_describe import DescribedGroup as ConsumerGroup
from odradek.protocol.messages.consumer_group_describe import TopicPartitions as Assigned
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
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
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.authorization.support import IMAGE, TOPIC_ID, Front, allow, context

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
DESCRIBE, READ, WRITE, CREATE = AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
NOT_ASKED = -(1 << 31)


def partly(outcome: Any) -> Any:
    """Return what is left of a request, some of which was refused."""
    assert isinstance(outcome, Partly)
    return outcome


def test_denied_topics_are_taken_out_and_merged_in_their_place() -> None:
    """The handler sees only what may be done; what a timestamp was asked for is not part of a refusal."""
    front = Front(allow(TOPIC, "b", DESCRIBE))
    asked = [ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(timestamp=-2)]) for name in "abc"]
    found = partly(front.admit(ListOffsetsRequest(topics=asked), 7))
    assert [one.name for one in found.request.topics] == ["b"]
    assert [one.name for one in asked] == ["a", "b", "c"]
    told = [ListOffsetsTopicResponse(name="b", partitions=[ListOffsetsPartitionResponse(offset=5)])]
    answer = found.merge(ListOffsetsResponse(topics=told))
    assert [(one.name, one.partitions[0].error_code, one.partitions[0].offset) for one in answer.topics] == [
        ("a", 29, -1),
        ("b", 0, 5),
        ("c", 29, -1),
    ]
    assert {one.partitions[0].timestamp for one in answer.topics} == {-1}
    assert front.refusals.told == [("ListOffsets", "DESCRIBE", "TOPIC a"), ("ListOffsets", "DESCRIBE", "TOPIC c")]


def test_produce_remembers_what_may_be_written_until_the_acls_change() -> None:
    """The short way of the gate is for those whom the rules have let through before."""
    front = Front(allow(TOPIC, "t", WRITE))
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData()])])
    by_id = ProduceRequest(
        acks=1, topic_data=[TopicProduceData(topic_id=TOPIC_ID, partition_data=[PartitionProduceData()])]
    )
    unknown = ProduceRequest(acks=1, topic_data=[TopicProduceData()])
    for _ in range(2):
        assert front.admit(request, 12) is None
        assert front.admit(by_id, 13) is None
        assert front.admit(unknown, 13) is None, "the handler says that there is no such id"
    front.authorizer.follow(Front().authorizer.rules.acls)
    assert front.admit(request, 12) is not None
    assert front.admit(by_id, 13) is not None


def test_produce_without_an_answer_is_refused_by_the_end_of_the_connection() -> None:
    """As with every other error where acks is 0."""
    request = ProduceRequest(acks=0, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData()])])
    with pytest.raises(CloseConnectionError):
        Front().admit(request, 12)


def test_transactional_batches_take_their_transactional_id() -> None:
    """All partitions are refused with 53; an id without such a batch is not looked at."""
    front = Front(allow(TOPIC, "t", WRITE))
    batch = memoryview(bytes(22) + b"\x10" + bytes(50))
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=batch)])]
    answer = front.admit(ProduceRequest(acks=-1, transactional_id="x", topic_data=data), 12)
    assert [(one.index, one.error_code, one.base_offset) for one in answer.responses[0].partition_responses] == [
        (3, 53, -1)
    ]
    plain = [TopicProduceData(name="t", partition_data=[PartitionProduceData(records=memoryview(bytes(70)))])]
    assert front.admit(ProduceRequest(acks=-1, transactional_id="x", topic_data=plain), 12) is None


def test_metadata_of_all_topics_hides_what_may_not_be_described() -> None:
    """Without a word, also to the audit log; operations are told of what is left."""
    front = Front(allow(TOPIC, "a", READ))
    request = MetadataRequest(topics=None, include_topic_authorized_operations=True)
    answer = partly(front.admit(request, 9)).merge(
        MetadataResponse(topics=[MetadataResponseTopic(name="a"), MetadataResponseTopic(name="b")])
    )
    assert [(one.name, one.topic_authorized_operations) for one in answer.topics] == [("a", 1 << 3 | 1 << 8)]
    assert front.refusals.told == []


def test_metadata_of_named_topics_says_which_may_not_be_described() -> None:
    """Whether they are there or not; what is missing takes CREATE, too, where it would be made."""
    front = Front(allow(TOPIC, "new", DESCRIBE), allow(TOPIC, "mine", DESCRIBE), allow(TOPIC, "mine", CREATE))
    names = ["t", "new", "mine", "other"]
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    found = partly(front.admit(request, 9))
    assert [one.name for one in found.request.topics] == ["mine"]
    answer = found.merge(MetadataResponse(topics=[MetadataResponseTopic(name="mine")]))
    assert [(one.name, one.error_code, one.topic_authorized_operations) for one in answer.topics] == [
        ("mine", 0, NOT_ASKED),
        ("t", 29, NOT_ASKED),
        ("new", 29, NOT_ASKED),
        ("other", 29, NOT_ASKED),
    ]
    without = MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=False)
    assert front.admit(without, 9) is None
    assert Front(allow(CLUSTER, "kafka-cluster", CREATE), allow(TOPIC, "new", DESCRIBE)).admit(request, 9) is not None


def test_metadata_by_id_does_not_tell_the_name() -> None:
    """Of an id that is known; of others, the handler says that there is none."""
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=TOPIC_ID, name=None)])
    found = partly(Front().admit(request, 12))
    (told,) = found.merge(MetadataResponse()).topics
    assert (told.error_code, told.name, told.topic_id) == (29, None, TOPIC_ID)


def test_oldest_metadata_with_nothing_left_does_not_tell_all_topics() -> None:
    """In version 0 an empty list asks for all of them."""
    found = partly(Front().admit(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 0))
    answer = found.merge(MetadataResponse(topics=[MetadataResponseTopic(name="secret")]))
    assert [(one.name, one.error_code) for one in answer.topics] == [("t", 29)]


def test_pages_of_all_topics_hold_only_those_that_may_be_described() -> None:
    """The handler is asked for these by name, so that no cursor tells of another one."""
    front = Front(allow(TOPIC, "t", DESCRIBE))
    found = partly(front.admit(DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="a")), 0))
    assert [one.name for one in found.request.topics] == ["t"]
    assert found.request.cursor is None
    answer = found.merge(DescribeTopicPartitionsResponse(topics=[DescribeTopicPartitionsResponseTopic(name="t")]))
    assert [one.topic_authorized_operations for one in answer.topics] == [1 << 8]
    empty = Front().admit(DescribeTopicPartitionsRequest(), 0)
    assert empty == DescribeTopicPartitionsResponse()
    named = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t"), TopicRequest(name="u")])
    assert [(one.name, one.error_code) for one in Front().admit(named, 0).topics] == [("t", 29), ("u", 29)]


def test_configs_of_a_new_topic_are_told_to_who_may_describe_them() -> None:
    """The topic is made all the same."""
    front = Front(allow(TOPIC, "n", CREATE))
    request = CreateTopicsRequest(topics=[CreatableTopic(name="n"), CreatableTopic(name="m")])
    made = CreatableTopicResult(name="n", num_partitions=3, replication_factor=1, configs=[CreatableTopicConfigs()])
    answer = partly(front.admit(request, 7)).merge(CreateTopicsResponse(topics=[made]))
    assert [(one.name, one.error_code, one.topic_config_error_code, one.num_partitions) for one in answer.topics] == [
        ("n", 0, 29, -1),
        ("m", 29, 0, -1),
    ]
    assert answer.topics[0].configs == []
    twice = CreateTopicsRequest(topics=[CreatableTopic(name="x"), CreatableTopic(name="x")])
    assert isinstance(front.admit(twice, 7), Partly), "a name that comes twice is the handler's"
    assert Front(allow(CLUSTER, "kafka-cluster", CREATE)).admit(request, 2) is None


def test_deletion_by_id_does_not_tell_the_name() -> None:
    """DESCRIBE and DELETE are taken."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=TOPIC_ID)])
    answer = Front(allow(TOPIC, "t", DESCRIBE)).admit(request, 6)
    assert [(one.name, one.topic_id, one.error_code) for one in answer.responses] == [(None, TOPIC_ID, 29)]
    assert Front(allow(TOPIC, "t", AclOperation.DELETE)).admit(request, 6) is None, "DELETE implies DESCRIBE"


def test_groups_that_may_not_be_described_are_not_listed() -> None:
    """Unless the cluster may be."""
    listed = [ListedGroup(group_id="g"), ListedGroup(group_id="h")]
    found = partly(Front(allow(GROUP, "g", READ)).admit(ListGroupsRequest(), 5))
    assert [one.group_id for one in found.merge(ListGroupsResponse(groups=listed)).groups] == ["g"]
    assert Front(allow(CLUSTER, "kafka-cluster", DESCRIBE)).admit(ListGroupsRequest(), 5) is None


def test_members_of_a_group_with_a_hidden_topic_are_not_told() -> None:
    """Their assignment would tell the topic's name."""
    assigned = Assignment(topic_partitions=[Assigned(topic_name="secret")])
    groups = [ConsumerGroup(group_id="g", members=[Member(assignment=assigned)], authorized_operations=NOT_ASKED)]
    front = Front(allow(GROUP, "g", DESCRIBE))
    found = partly(front.admit(ConsumerGroupDescribeRequest(group_ids=["g"]), 1))
    (told,) = found.merge(ConsumerGroupDescribeResponse(groups=groups)).groups
    assert (told.error_code, told.members) == (29, [])


def test_committed_offsets_are_told_by_group_and_topic() -> None:
    """A group that is refused has its code, a topic that is named one for each partition, and of all topics those that
    may not be described are left out."""
    front = Front(allow(GROUP, "g", DESCRIBE), allow(GROUP, "h", DESCRIBE), allow(TOPIC, "a", DESCRIBE))
    named = [OffsetFetchRequestTopics(name=name, partition_indexes=[1, 2]) for name in "ab"]
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id="no", topics=named),
            OffsetFetchRequestGroup(group_id="g", topics=named),
            OffsetFetchRequestGroup(group_id="h", topics=None),
        ]
    )
    found = partly(front.admit(request, 8))
    assert [one.group_id for one in found.request.groups] == ["g", "h"]
    assert [one.name for one in found.request.groups[0].topics] == ["a"]
    everything = [OffsetFetchResponseTopics(name=name) for name in "ab"]
    answer = found.merge(
        OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id="g", topics=[OffsetFetchResponseTopics(name="a")]),
                OffsetFetchResponseGroup(group_id="h", topics=everything),
            ]
        )
    )
    assert [(one.group_id, one.error_code, [topic.name for topic in one.topics]) for one in answer.groups] == [
        ("no", 30, []),
        ("g", 0, ["a", "b"]),
        ("h", 0, ["a"]),
    ]
    refused = answer.groups[1].topics[1].partitions
    assert [(one.partition_index, one.committed_offset, one.error_code) for one in refused] == [
        (1, -1, 29),
        (2, -1, 29),
    ]


def test_idempotent_producers_need_one_topic_that_they_may_write_to() -> None:
    """KIP-679; or IDEMPOTENT_WRITE, as before."""
    request = InitProducerIdRequest(transactional_id=None)
    assert Front(allow(TOPIC, "t", WRITE)).admit(request, 4) is None
    assert Front(allow(CLUSTER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE)).admit(request, 4) is None
    assert Front(allow(TOPIC, "t", READ)).admit(request, 4).error_code == 31


def test_cluster_operations_are_those_of_the_client() -> None:
    """None of them, where the cluster may not be described."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    found = partly(Front(allow(CLUSTER, "kafka-cluster", AclOperation.ALTER)).admit(request, 0))
    assert found.merge(DescribeClusterResponse()).cluster_authorized_operations == 1 << 7 | 1 << 8
    hidden = partly(Front(allow(CLUSTER, "kafka-cluster", CREATE)).admit(request, 0))
    assert hidden.merge(DescribeClusterResponse()).cluster_authorized_operations == 0


def test_readers_are_told_which_topics_they_may_not_fetch() -> None:
    """By name or id; of an id that nobody knows, the handler says so. Followers take CLUSTER_ACTION."""
    front = Front(allow(TOPIC, "a", READ))
    asked = context(12)
    assert front.readers.refused(asked, ["a"], is_follower=False) is None
    assert front.readers.refused(asked, ["a", "b", TOPIC_ID], is_follower=False) == frozenset({"b", TOPIC_ID})
    assert front.readers.refused(asked, ["a", "b"], is_follower=True) == frozenset({"a", "b"})
    leader = Front(allow(CLUSTER, "kafka-cluster", AclOperation.CLUSTER_ACTION))
    assert leader.readers.refused(asked, ["a", "b"], is_follower=True) is None
    assert IMAGE.topic("t") is not None
