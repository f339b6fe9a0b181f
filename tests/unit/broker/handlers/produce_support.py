"""What the tests of produce requests share."""

from asyncio import AbstractEventLoop
from uuid import UUID

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.produce import ProduceHandler
from odradek.broker.handlers.transactional_produce import Verifications
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records.building import BatchFields
from tests.support.logs import NOW_MS, a_batch
from tests.support.partitions import Node, Reply, context, decoded

VERSION = 9
HEAD = b"\0\0\0\7\0"
NO_TOPIC_ID = UUID(int=99)
INTERNAL = "__consumer_offsets"
Ref = str | UUID


def two_partitions() -> Node:
    """Return a node with a topic `t` of two partitions."""
    node = Node()
    node.create("t", 2)
    return node


def end(node: Node, name: str = "t", partition: int = 0) -> int:
    """Return where a log ends."""
    return node.table.get(name, partition).log.log_end_offset


def batch(*values: bytes, timestamp: int = NOW_MS) -> memoryview:
    """Return a client's batch."""
    return a_batch(values or (b"value",), timestamp)


def idempotent(sequence: int, *values: bytes, producer_id: int = 7, epoch: int = 0) -> memoryview:
    """Return a batch of an idempotent producer."""
    fields = BatchFields(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return a_batch(values or (b"value",), NOW_MS, fields)


def request(
    *data: tuple[Ref, int, memoryview | None],
    acks: int = -1,
    timeout_ms: int = 1000,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return a request of one batch for each partition named."""
    topics: dict[Ref, list[PartitionProduceData]] = {}
    for ref, index, records in data:
        topics.setdefault(ref, []).append(PartitionProduceData(index=index, records=records))
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        transactional_id=transactional_id,
        topic_data=[
            TopicProduceData(topic_id=ref, partition_data=partitions)
            if isinstance(ref, UUID)
            else TopicProduceData(name=ref, partition_data=partitions)
            for ref, partitions in topics.items()
        ],
    )


def produce_handler(
    node: Node, loop: AbstractEventLoop | None = None, verifications: Verifications | None = None
) -> ProduceHandler:
    """Return a handler on the node's loop, or on one with threads."""
    loop = loop or node.loop
    converter = Converter(loop, node.memory)
    find = None if verifications is None else lambda: verifications
    return ProduceHandler(loop, node.table, node.clock, converter, node.memory, find)


def produce(node: Node, asked: ProduceRequest, version: int = VERSION, client_id: str | None = "client") -> Reply:
    """Give the handler a request."""
    return Reply(produce_handler(node)(context(version, client_id), asked, HEAD))


def results(reply: Reply, version: int = VERSION) -> list[PartitionProduceResponse]:
    """Return what the answer says of every partition, in its order."""
    assert reply.data.startswith(HEAD)
    response = decoded(ProduceResponse, reply.data[len(HEAD) :], version)
    return [partition for topic in response.responses for partition in topic.partition_responses]


def result(reply: Reply, version: int = VERSION) -> PartitionProduceResponse:
    """Return what the answer says of its only partition."""
    [only] = results(reply, version)
    return only
