"""Produce: batches whose check takes longer than a turn of the loop may, checked on a thread."""

import asyncio
import time

import pytest

from odradek.broker.handlers import late_checks
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.compression import compress
from tests.support.logs import NOW_MS, read_all
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.late_support import dense, produce_slowly
from tests.unit.broker.handlers.old_support import answered
from tests.unit.broker.handlers.produce_support import (
    HEAD,
    VERSION,
    batch,
    produce,
    produce_handler,
    request,
    result,
)
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord


@pytest.fixture
def node() -> Node:
    """A node with a topic of two partitions."""
    made = Node()
    made.create("t", partitions=2)
    return made


async def test_a_dense_batch_is_checked_elsewhere_and_appended(node: Node) -> None:
    """The loop is free meanwhile, and all memory is given back in the end."""
    started = time.thread_time()
    [found] = await produce_slowly(node, request(("t", 0, dense())))
    assert time.thread_time() - started < 0.25  # with what the test itself does
    assert (found.error_code, found.base_offset) == (0, 0)
    assert node.table.get("t", 0).log.log_end_offset == 60_000
    assert node.memory.held_bytes == 0


async def test_what_is_refused_elsewhere_is_refused_as_ever(node: Node) -> None:
    """The codes are those of a check at once; at most a thousand records are named."""
    [late, first] = await produce_slowly(
        node, request(("t", 0, dense(timestamp=NOW_MS * 2)), ("t", 1, dense(timestamp=NOW_MS * 2)))
    )
    for found in (late, first):
        assert found.error_code == ErrorCode.INVALID_TIMESTAMP
        assert len(found.record_errors) == 1000
    assert node.memory.held_bytes == 0


async def test_effort_is_of_the_whole_request(node: Node) -> None:
    """Many batches that are each small enough are together too much for one turn."""
    asked = request(*[("t", index % 2, dense(9_000)) for index in range(6)])
    found = await produce_slowly(node, asked)
    assert [each.error_code for each in found] == [0] * 6
    assert sum(node.table.get("t", index).log.log_end_offset for index in (0, 1)) == 54_000


async def test_what_waits_for_its_check_is_bounded(node: Node) -> None:
    """Over the memory for requests clients are told to try again, and may then; small batches pass all the while."""
    node.memory = RequestMemory(2 * len(dense()), node.loop.call_soon)
    handler = produce_handler(node, asyncio.get_running_loop())
    replies = [Reply(handler(context(VERSION), request(("t", 0, dense())), HEAD)) for _ in range(4)]
    assert result(produce(node, request(("t", 1, batch(b"small"))))).error_code == 0
    for reply in replies:
        await answered(reply)
    codes = [result(reply).error_code for reply in replies]
    assert codes == [0, 0, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT]
    assert node.memory.held_bytes == 0


async def test_who_has_waited_too_long_is_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose client has given it up costs no check any more."""
    monkeypatch.setattr(late_checks, "LONGEST_WAIT_S", -1.0)
    handler = produce_handler(node, asyncio.get_running_loop())
    reply = await answered(Reply(handler(context(VERSION), request(("t", 0, dense())), HEAD)))
    assert result(reply).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert read_all(node.table.get("t", 0).log) == []


async def test_a_batch_of_millions_of_headers_is_too_large(node: Node) -> None:
    """The work for a batch has a bound on the thread, too."""
    body = HandmadeRecord(headers=[(b"", None)] * 7_000_000).encode()
    made = HandmadeBatch(compress(Codec.ZSTD, body), attributes=Codec.ZSTD, base_timestamp=NOW_MS)
    [found] = await produce_slowly(node, request(("t", 0, memoryview(bytearray(made.encode())))))
    assert found.error_code == ErrorCode.MESSAGE_TOO_LARGE
