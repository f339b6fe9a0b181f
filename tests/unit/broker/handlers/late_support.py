"""What the tests of batches share whose check takes longer than a turn of the loop may."""

import asyncio

from odradek.protocol.messages.produce import PartitionProduceResponse, ProduceRequest
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.compression import compress
from tests.support.logs import NOW_MS
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.old_support import answered
from tests.unit.broker.handlers.produce_support import HEAD, VERSION, produce_handler, results
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord

RECORD = HandmadeRecord(key=None, value=None).encode()


def dense(count: int = 60_000, timestamp: int = NOW_MS) -> memoryview:
    """Return a few hundred bytes that stand for many records, all of the same offset."""
    made = HandmadeBatch(
        compress(Codec.ZSTD, RECORD * count), attributes=Codec.ZSTD, count=count, base_timestamp=timestamp
    )
    return memoryview(bytearray(made.encode()))


async def produce_slowly(node: Node, asked: ProduceRequest) -> list[PartitionProduceResponse]:
    """Give the handler a request that is checked on a thread, and wait for its answer."""
    reply = Reply(produce_handler(node, asyncio.get_running_loop())(context(VERSION), asked, HEAD))
    assert reply.is_waiting
    for wanted in asked.topic_data:
        for data in wanted.partition_data:
            assert isinstance(data.records, memoryview)
            data.records[:] = bytes(len(data.records))  # the memory of a request is used again
    await answered(reply)
    return results(reply)
