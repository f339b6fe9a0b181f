"""Produce with flush.messages: an acknowledgement is a promise that a power cut does not break."""

from unittest.mock import Mock

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.produce import ProduceHandler
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from tests.support.logs import read_all
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.produce_support import (
    HEAD,
    VERSION,
    batch,
    idempotent,
    produce,
    request,
    result,
    results,
)


@pytest.fixture
def node() -> Node:
    """A node with a topic `safe` that is flushed for every message, and a plain topic `t`."""
    node = Node()
    node.create("safe", 2, flush_messages="1")
    node.create("t")
    return node


def finish(node: Node) -> None:
    node.flusher.finish()
    node.loop.settle()


@pytest.mark.parametrize("acks", [1, -1])
def test_neither_answer_nor_visibility_before_the_flush(node: Node, acks: int) -> None:
    """Both kinds of acknowledgement wait for the disk, and so do readers."""
    partition = node.table.get("safe", 0)
    reply = produce(node, request(("safe", 0, batch()), acks=acks))
    node.loop.settle()
    assert reply.is_waiting
    assert (partition.high_watermark, partition.log.log_end_offset) == (0, 1)
    finish(node)
    assert result(reply).base_offset == 0
    assert partition.high_watermark == 1
    assert node.loop.timers == 0


def test_acks_0_waits_for_nothing(node: Node) -> None:
    """There is no answer to wait for; readers wait all the same."""
    assert produce(node, request(("safe", 0, batch()), acks=0)).answers == [None]
    assert node.table.get("safe", 0).high_watermark == 0


def test_one_flush_serves_all_that_wait(node: Node) -> None:
    """What is appended while a flush runs is covered by the next one, however many wait."""
    first = produce(node, request(("safe", 0, batch())))
    others = [produce(node, request(("safe", 0, batch()))) for _ in range(50)]
    finish(node)
    assert not first.is_waiting
    assert all(reply.is_waiting for reply in others)
    finish(node)
    assert [result(reply).base_offset for reply in others] == list(range(1, 51))
    assert node.flusher.begun == 2
    assert not node.flusher.running


def test_request_waits_for_its_slowest_partition(node: Node) -> None:
    """Plain partitions are ready at once; one answer comes when the last one is."""
    reply = produce(node, request(("t", 0, batch()), ("safe", 0, batch()), ("safe", 1, batch()), ("safe", 9, batch())))
    one, two = node.table.get("safe", 0), node.table.get("safe", 1)
    one.log.flush()
    one.flushed()
    node.loop.settle()
    assert reply.is_waiting
    two.log.flush()
    two.flushed()
    node.loop.settle()
    assert [each.error_code for each in results(reply)] == [0, 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_failed_flush_is_a_storage_error_and_later_ones_go_on(node: Node) -> None:
    """Who waited learns that the data may be gone; who comes later waits for a flush of its own."""
    reply = produce(node, request(("safe", 0, batch(b"a")), ("t", 0, batch())))
    node.flusher.fail()
    node.loop.settle()
    failed, plain = results(reply)
    assert (failed.error_code, failed.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert plain.error_code == 0
    assert node.table.get("safe", 0).high_watermark == 0
    later = produce(node, request(("safe", 0, batch(b"b"))))
    finish(node)
    assert result(later).base_offset == 1
    assert node.table.get("safe", 0).high_watermark == 2


def test_timeout_is_told_and_the_data_stays(node: Node) -> None:
    """REQUEST_TIMED_OUT after timeout_ms; the flush that ends later makes the records visible."""
    reply = produce(node, request(("safe", 0, batch(b"a")), timeout_ms=500))
    node.pass_time(0.499)
    assert reply.is_waiting
    node.pass_time(0.001)
    assert result(reply).error_code == ErrorCode.REQUEST_TIMED_OUT
    finish(node)
    partition = node.table.get("safe", 0)
    assert partition.high_watermark == 1
    assert read_all(partition.log) == [(0, b"a")]
    assert len(reply.answers) == 1


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_client_that_will_not_wait_times_out_at_once(node: Node, timeout_ms: int) -> None:
    """A time-out of nothing, or less than that, ends with the next turn of the loop."""
    reply = produce(node, request(("safe", 0, batch()), timeout_ms=timeout_ms))
    node.pass_time(0)
    assert result(reply).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_duplicate_waits_for_the_flush_of_the_original(node: Node) -> None:
    """Sent again before the original is safe, it is answered with its offset once that is, and not before."""
    first = produce(node, request(("safe", 0, idempotent(0, b"a", b"b"))))
    again = produce(node, request(("safe", 0, idempotent(0, b"a", b"b"))))
    node.loop.settle()
    assert first.is_waiting
    assert again.is_waiting
    finish(node)
    assert result(first).base_offset == result(again).base_offset == 0
    assert node.table.get("safe", 0).log.log_end_offset == 2
    assert not produce(node, request(("safe", 0, idempotent(0, b"a", b"b")))).is_waiting


def test_duplicate_after_a_failed_flush_is_flushed_again(node: Node) -> None:
    """The retry of an idempotent producer is not acknowledged on the word of a flush that failed."""
    produce(node, request(("safe", 0, idempotent(0))))
    node.flusher.fail()
    again = produce(node, request(("safe", 0, idempotent(0))))
    node.loop.settle()
    assert again.is_waiting
    finish(node)
    assert (result(again).error_code, result(again).base_offset) == (0, 0)


def test_closed_connection_hears_nothing(node: Node) -> None:
    """The flush goes on, the answer has nobody to go to."""
    reply = produce(node, request(("safe", 0, batch())))
    reply.cancel()
    assert node.loop.timers == 0
    finish(node)
    assert reply.answers == []
    assert node.table.get("safe", 0).high_watermark == 1


def test_deleted_topic_answers_those_who_wait(node: Node) -> None:
    """Not the leader any more: the client asks for the metadata, and learns that the topic is gone."""
    reply = produce(node, request(("safe", 0, batch())))
    node.delete("safe")
    assert reply.is_waiting  # a connection goes on with its next request when it is answered: not in the middle of this
    node.loop.settle()
    assert result(reply).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    finish(node)
    assert len(reply.answers) == 1


def test_partition_may_be_named_twice(node: Node) -> None:
    """Both batches are appended and waited for."""
    reply = produce(node, request(("safe", 0, batch()), ("safe", 0, batch())))
    finish(node)
    assert reply.is_waiting
    finish(node)
    assert [each.base_offset for each in results(reply)] == [0, 1]


def test_flush_messages_counts_messages() -> None:
    """Up to the limit acknowledgements come at once; the batch that reaches it waits for the flush of all."""
    node = Node()
    node.create("t", flush_messages="3")
    assert not produce(node, request(("t", 0, batch(b"a", b"b")))).is_waiting
    third = produce(node, request(("t", 0, batch(b"c"))))
    assert third.is_waiting
    finish(node)
    assert result(third).base_offset == 2
    assert not produce(node, request(("t", 0, batch(b"d")))).is_waiting


def test_acks_0_to_an_offline_partition_closes() -> None:
    """There is no other way to say that the disk failed."""
    node = Node()
    node.files.fail("mkdir", path_part="/t-0")
    node.create("t")
    with pytest.raises(CloseConnectionError):
        produce(node, request(("t", 0, batch()), acks=0))


def test_what_is_refused_after_it_was_appended_is_counted(node: Node) -> None:
    """The answer comes long after the request was worked on."""
    traffic = Mock(waited=0)
    converter = Converter(node.loop, node.memory)
    handler = ProduceHandler(node.loop, node.table, node.clock, converter, node.memory, traffic=traffic)
    reply = Reply(handler(context(VERSION), request(("safe", 0, batch()), timeout_ms=1000), HEAD))
    node.pass_time(1)
    assert result(reply).error_code == ErrorCode.REQUEST_TIMED_OUT
    traffic.refused_late.assert_called_once_with(ErrorCode.REQUEST_TIMED_OUT)
