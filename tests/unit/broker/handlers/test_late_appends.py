"""Produce: batches that were checked on a thread, appended when that is done."""

import asyncio

import pytest

from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from tests.support.logs import NOW_MS
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.late_support import dense, produce_slowly
from tests.unit.broker.handlers.old_support import answered, until
from tests.unit.broker.handlers.produce_support import HEAD, VERSION, batch, produce_handler, request, result


@pytest.fixture
def node() -> Node:
    """A node with a topic of two partitions."""
    made = Node()
    made.create("t", partitions=2)
    return made


async def test_batches_of_a_request_keep_their_order(node: Node) -> None:
    """A small batch behind a dense one of the same partition comes after it; answers are in the request's order."""
    asked = request(("t", 0, dense()), ("t", 1, batch(b"small")), ("t", 0, batch(b"behind")))
    found = await produce_slowly(node, asked)
    assert [(each.index, each.error_code, each.base_offset) for each in found] == [(0, 0, 0), (1, 0, 0), (0, 0, 60_000)]


async def test_acks_0_has_no_answer_or_the_end_of_the_connection(node: Node) -> None:
    """As for batches that are checked at once, and a client that leaves loses nothing that it has sent."""
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = await answered(Reply(handler(context(VERSION), request(("t", 0, dense()), acks=0), HEAD)))
    assert reply.answers == [None]
    bad = request(("t", 0, dense(timestamp=NOW_MS * 2)), acks=0)
    reply = await answered(Reply(handler(context(VERSION), bad, HEAD)))
    assert isinstance(reply.answers[0], CloseConnectionError)
    gone = Reply(handler(context(VERSION), request(("t", 1, dense()), acks=0), HEAD))
    gone.cancel()
    await until(lambda: node.table.get("t", 1).log.log_end_offset == 60_000)


async def test_the_disk_is_waited_for_as_well(node: Node) -> None:
    """The check first, then the flush that the topic asks for."""
    node.configure("t", flush_messages="1")
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(VERSION), request(("t", 0, dense())), HEAD))
    await until(lambda: bool(node.flusher.running))
    assert reply.is_waiting
    node.flusher.finish()
    await answered(reply)
    assert result(reply).base_offset == 0


async def test_a_partition_that_is_deleted_meanwhile_takes_nothing(node: Node) -> None:
    """What was checked for a partition that is gone is refused with a code that makes clients ask anew."""
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = Reply(handler(context(VERSION), request(("t", 0, dense())), HEAD))
    node.delete("t")
    await answered(reply)
    assert result(reply).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
