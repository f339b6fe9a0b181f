"""Produce: which batch may go to which partition, before any log is asked."""

import pytest

from odradek.broker.handlers.produce_admission import ADMIN_CLIENT_ID, admit_batch, admit_converted, admit_verified
from odradek.broker.handlers.produce_waiting import ACKS_ALL, ACKS_LEADER
from odradek.broker.handlers.transactional_produce import Verified
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import PartitionProduceData
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields
from tests.support.logs import a_batch, old_message
from tests.support.partitions import Node, context
from tests.unit.broker.handlers.produce_support import (
    INTERNAL,
    NO_TOPIC_ID,
    VERSION,
    batch,
    end,
    produce,
    request,
    result,
    results,
    two_partitions,
)


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions."""
    return two_partitions()


def test_negative_partition_is_unknown(node: Node) -> None:
    """An index from the wire is no index from the end."""
    assert result(produce(node, request(("t", -1, batch())))).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_partition_of_another_broker_is_not_ours(node: Node) -> None:
    """NOT_LEADER_OR_FOLLOWER makes a client ask for the metadata again."""
    topic = node.image.topics_by_name["t"]
    elsewhere = topic._replace(
        name="far",
        topic_id=NO_TOPIC_ID,
        partitions=tuple(partition._replace(leader=5) for partition in topic.partitions),
    )
    old, node.image = node.image, node.image.__class__(topics_by_id={NO_TOPIC_ID: elsewhere}, topics_by_name={})
    node.table.apply(old, node.image)
    found = result(produce(node, request(("far", 0, batch()))))
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_internal_topics_are_the_admin_clients() -> None:
    """Only the client id that Kafka reserves for it may write to them."""
    node = Node()
    node.create(INTERNAL)
    refused = result(produce(node, request((INTERNAL, 0, batch()))))
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert end(node, INTERNAL) == 0
    assert result(produce(node, request((INTERNAL, 0, batch())), client_id=ADMIN_CLIENT_ID)).error_code == 0


@pytest.mark.parametrize(
    ("records", "version", "code"),
    [
        (memoryview(b""), 9, ErrorCode.INVALID_RECORD),
        (batch()[:-1], 9, ErrorCode.INVALID_RECORD),
        (memoryview(bytes(batch()) * 2), 9, ErrorCode.INVALID_RECORD),
        (memoryview(old_message(1, 0, b"x")), 9, ErrorCode.INVALID_RECORD),
        (a_batch([b"x"], fields=BatchFields(codec=Codec.ZSTD)), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (a_batch([b"x"], fields=BatchFields(codec=Codec.ZSTD)), 7, ErrorCode.NONE),
        (a_batch([b"x"], fields=BatchFields(control=True)), 9, ErrorCode.INVALID_RECORD),
    ],
)
def test_request_carries_one_batch_of_today(node: Node, records: memoryview, version: int, code: ErrorCode) -> None:
    """Exactly one batch, of format 2, of a codec that the version knows, and none of the broker's own kind."""
    assert result(produce(node, request(("t", 0, records)), version), version).error_code == code


def test_unknown_acks_fail_what_could_be_appended(node: Node) -> None:
    """Nothing is appended; what would have been refused anyway has its own error, as in Kafka."""
    found = results(
        produce(node, request(("t", 0, batch()), ("t", 9, batch()), ("t", 1, None), ("none", 0, batch()), acks=5))
    )
    assert [ErrorCode(each.error_code) for each in found] == [
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert found[0].error_message is None
    assert end(node) == 0


def test_a_batch_that_is_admitted_stays_the_view_that_it_came_as(node: Node) -> None:
    """Nothing of the records is copied."""
    topic, records = node.table.find("t"), batch()
    assert topic is not None
    partition, admitted = admit_batch(context(VERSION), topic, PartitionProduceData(index=1, records=records), ACKS_ALL)
    assert partition is node.table.get("t", 1)
    assert admitted is records


def test_what_the_coordinator_said_comes_before_what_is_wrong_with_the_records(node: Node) -> None:
    """A partition that was refused is told that, whatever its records are; the others are looked at as ever."""
    topic, partition = node.table.find("t"), node.table.get("t", 0)
    assert topic is not None
    verified = Verified(errors={partition: KafkaError(ErrorCode.INVALID_TXN_STATE)})
    codes = []
    for index in (0, 1, 9):
        with pytest.raises(KafkaError) as refused:
            admit_verified(verified)(context(VERSION), topic, PartitionProduceData(index=index, records=None), ACKS_ALL)
        codes.append(refused.value.code)
    assert codes == [
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_partition_that_came_after_the_conversion_takes_nothing(node: Node) -> None:
    """Nothing was made of its message set, so its client is to ask again."""
    topic, records = node.table.find("t"), batch()
    assert topic is not None
    converted = PartitionProduceData(index=0, records=memoryview(b"a message set"))
    late = PartitionProduceData(index=1, records=memoryview(b"another"))
    admit = admit_converted({id(converted): records})
    assert admit(context(2), topic, converted, ACKS_LEADER) == (node.table.get("t", 0), records)
    with pytest.raises(KafkaError) as refused:
        admit(context(2), topic, late, ACKS_LEADER)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
