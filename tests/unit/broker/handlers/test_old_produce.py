"""Produce versions 0 to 2: message sets of old clients, appended as batches."""

import asyncio
import sys

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import PartitionProduceResponse, ProduceRequest
from odradek.protocol.records.batch import Codec, iter_batches
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.record import Record
from tests.support.logs import NOW_MS, a_batch, read_all
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.old_support import answered, until
from tests.unit.broker.handlers.produce_support import HEAD, batch, produce, produce_handler, request, result, results

VERSIONS = [0, 1, 2]


@pytest.fixture
def node() -> Node:
    """A node with one topic."""
    made = Node()
    made.create("t", partitions=2)
    return made


def messages(count: int = 3, magic: int = 1, codec: Codec = Codec.NONE, size: int = 5) -> memoryview:
    """Return a set of messages."""
    records = [Record(i, NOW_MS, b"%d" % i, b"v" * size) for i in range(count)]
    return memoryview(build_message_set(records, magic, codec))


def stored(node: Node, partition: int = 0) -> list[tuple[int, bytes | None]]:
    """Return offset and value of all that is in the log."""
    return read_all(node.table.get("t", partition).log)


async def produce_slowly(
    node: Node, asked: ProduceRequest, version: int = 2
) -> tuple[Reply, list[PartitionProduceResponse]]:
    """Give the handler a request that is converted on a thread, and wait for its answer."""
    handler = produce_handler(node, asyncio.get_running_loop())
    arrived = [data.records for wanted in asked.topic_data for data in wanted.partition_data]
    reply = Reply(handler(context(version), asked, HEAD))
    assert reply.is_waiting
    for records in arrived:
        assert isinstance(records, memoryview)
        if not records.readonly:
            records[:] = bytes(len(records))  # the memory of a request is used again
    await answered(reply)
    return reply, results(reply, version) if reply.answers != [None] else []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_messages_are_stored_as_one_batch(node: Node, version: int, magic: int, codec: Codec) -> None:
    """Every version carries either format and any codec; the answer has the first offset, as for a batch."""
    produce(node, request(("t", 0, batch())))
    found = result(produce(node, request(("t", 0, messages(3, magic, codec))), version), version)
    assert (found.index, found.error_code, found.base_offset) == (0, 0, 1)
    assert found.log_append_time_ms == -1
    assert stored(node) == [(0, b"value"), (1, b"vvvvv"), (2, b"vvvvv"), (3, b"vvvvv")]
    log = node.table.get("t", 0).log
    region = log.read(1, 1, 4, at_least_one=True)
    assert region.file is not None
    ((_, header),) = list(iter_batches(region.file.pread(region.length, region.position)))
    assert (header.magic, header.codec, header.partition_leader_epoch) == (2, codec, 0)


def test_version_2_tells_the_append_time(node: Node) -> None:
    """With LogAppendTime the answer has the broker's time, from the version on that has a place for it."""
    node.configure("t", message_timestamp_type="LogAppendTime")
    for version, expected in ((2, node.clock.now_ms()), (1, -1), (0, -1)):
        found = result(produce(node, request(("t", 0, messages(magic=0))), version), version)
        assert found.log_append_time_ms == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("data", [b"", b"\0" * 11, messages(1)[:20]])
def test_nothing_whole_is_no_error(node: Node, version: int, data: bytes) -> None:
    """A set without a whole message is answered with success and no offset, as in Kafka."""
    found = result(produce(node, request(("t", 0, memoryview(data))), version), version)
    assert (found.error_code, found.base_offset, found.log_append_time_ms) == (0, -1, -1)
    assert stored(node) == []


def test_each_partition_has_its_own_outcome(node: Node) -> None:
    """Errors are those of Kafka, and leave the other partitions alone."""
    damaged = memoryview(bytearray(messages()))
    damaged[-1] ^= 1
    far_ahead = memoryview(build_message_set([Record(0, 1 << 60, b"k", b"v")], 1))
    found = results(
        produce(
            node,
            request(
                ("t", 0, damaged),
                ("t", 1, messages()),
                ("t", 7, messages()),
                ("t", 0, None),
                ("t", 1, far_ahead),
                ("none", 0, messages()),
            ),
            2,
        ),
        2,
    )
    assert [ErrorCode(each.error_code) for each in found] == [
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert stored(node) == []
    assert len(stored(node, 1)) == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_acks_are_refused(node: Node, version: int) -> None:
    """INVALID_REQUIRED_ACKS, and nothing is appended."""
    found = result(produce(node, request(("t", 0, messages()), acks=2), version), version)
    assert found.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert stored(node) == []


def test_acks_0_has_no_answer(node: Node) -> None:
    """Without acknowledgement nothing is answered; an error ends the connection."""
    assert produce(node, request(("t", 0, messages()), acks=0), 0).answers == [None]
    assert produce(node, request(("t", 0, memoryview(b"")), acks=0), 0).answers == [None]
    assert len(stored(node)) == 3
    with pytest.raises(CloseConnectionError):
        produce(node, request(("t", 0, memoryview(bytes(40))), acks=0), 0)


def test_a_batch_of_today_is_taken_too(node: Node) -> None:
    """One batch of version 2 in an old request is appended, two are refused, a transactional one needs its id."""
    assert result(produce(node, request(("t", 0, batch(b"x"))), 2), 2).error_code == 0
    assert stored(node) == [(0, b"x")]
    twice = memoryview(bytes(batch()) * 2)
    assert result(produce(node, request(("t", 0, twice)), 2), 2).error_code == ErrorCode.INVALID_RECORD
    fields = BatchFields(producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    refused = result(produce(node, request(("t", 0, a_batch([b"x"], NOW_MS, fields))), 2), 2)
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_bytes_of_a_message_are_not_taken_for_attributes_of_a_batch(node: Node) -> None:
    """Where a batch says that it is transactional, a message has a part of its timestamp or of its key."""
    records = [Record(0, 0x10_00_00 | NOW_MS, b"k" * 60, b"v")]
    for data in (build_message_set(records, 1), build_message_set([Record(0, -1, b"\x10" * 0x1010, b"v")], 0)):
        assert result(produce(node, request(("t", 0, memoryview(data))), 2), 2).error_code == 0


def test_waiting_for_the_disk_is_as_for_batches(node: Node) -> None:
    """With flush.messages=1 the answer comes when the data is on the disk."""
    node.configure("t", flush_messages="1")
    reply = produce(node, request(("t", 0, messages())), 2)
    assert reply.is_waiting
    node.flusher.finish()
    node.loop.settle()
    assert result(reply, 2).base_offset == 0


def test_a_failing_disk_is_told_in_words_that_old_clients_know(node: Node) -> None:
    """KAFKA_STORAGE_ERROR came later: NOT_LEADER_OR_FOLLOWER makes them try again."""
    node.files.fail("write", path_part="/t-0/")
    found = result(produce(node, request(("t", 0, messages())), 2), 2)
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    "data",
    [messages(600, 1, size=100), messages(600, 0, Codec.GZIP, 100)],
    ids=["large", "much inside"],
)
async def test_much_is_converted_on_a_thread(node: Node, data: memoryview) -> None:
    """What would hold up others is converted elsewhere, from a copy of the request's memory."""
    asked = request(("t", 0, memoryview(bytearray(data))), ("t", 1, memoryview(bytearray(messages()))), ("t", 9, data))
    _, found = await produce_slowly(node, asked)
    assert [each.error_code for each in found] == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [offset for offset, _ in stored(node)] == list(range(600))
    assert len(stored(node, 1)) == 3


async def test_a_conversion_on_a_thread_goes_on_without_its_client(node: Node) -> None:
    """A client with acks=0 that leaves right after sending does not lose what it has sent."""
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(1), request(("t", 0, messages(600, size=100)), acks=0), HEAD))
    reply.cancel()
    await until(lambda: bool(stored(node)))
    assert len(stored(node)) == 600
    assert reply.is_waiting


async def test_acks_0_is_unanswered_after_a_thread_too(node: Node) -> None:
    """None is the answer where all is well, the end of the connection where it is not."""
    reply, _ = await produce_slowly(node, request(("t", 0, messages(600, size=100)), acks=0))
    assert reply.answers == [None]
    broken = memoryview(bytearray(messages(600, size=100)))
    broken[-1] ^= 1
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(1), request(("t", 0, broken), acks=0), HEAD))
    await answered(reply)
    assert isinstance(reply.answers[0], CloseConnectionError)


async def test_a_thread_and_the_disk_are_waited_for(node: Node) -> None:
    """Conversion first, then the flush that the topic asks for."""
    node.configure("t", flush_messages="1")
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(2), request(("t", 0, messages(600, size=100))), HEAD))
    await until(lambda: bool(node.flusher.running))
    assert reply.is_waiting
    node.flusher.finish()
    await answered(reply)
    assert result(reply, 2).base_offset == 0


async def test_threads_change_turns_more_often_during_a_conversion(node: Node) -> None:
    """While the thread works the event loop gets its turn back quickly, and afterwards all is as before."""
    usual = sys.getswitchinterval()
    assert await Converter(asyncio.get_running_loop(), node.memory).run(sys.getswitchinterval, 0) < usual
    assert sys.getswitchinterval() == usual


async def test_a_partition_that_is_deleted_meanwhile_is_unknown(node: Node) -> None:
    """Whatever happens during a conversion, the append sees the partitions as they are then."""
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(2), request(("t", 0, messages(600, size=100))), HEAD))
    node.delete("t")
    await answered(reply)
    assert result(reply, 2).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_what_waits_for_the_thread_is_bounded(node: Node) -> None:
    """Requests keep their bytes while they wait; beyond a limit clients are told to try again, and may then."""
    large = messages(200, size=200)
    node.memory = RequestMemory(2 * len(large), node.loop.call_soon)
    handler = produce_handler(node, asyncio.get_running_loop())
    replies = [Reply(handler(context(2), request(("t", 0, messages(200, size=200))), HEAD)) for _ in range(4)]
    for reply in replies:
        await answered(reply)
    codes = [result(reply, 2).error_code for reply in replies]
    assert codes == [0, 0, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT]
    again = await answered(Reply(handler(context(2), request(("t", 0, large)), HEAD)))
    assert result(again, 2).error_code == 0
    assert len(stored(node)) == 600
