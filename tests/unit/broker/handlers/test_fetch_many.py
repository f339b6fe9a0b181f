"""Fetch of so many partitions that a look at them takes several turns of the loop."""

import asyncio

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch import FetchHandler
from odradek.broker.handlers.fetch_sessions import FEW_PARTITIONS, MOST_PARTITIONS, FetchSessions
from odradek.broker.handlers.fetch_steps import MOST_AT_ONCE
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.fetch_support import HEAD, VERSION, Ask, Place, at, request, results, values
from tests.unit.broker.handlers.old_support import answered, until

MANY = 3 * MOST_AT_ONCE + 7


@pytest.fixture
def node() -> Node:
    """A node with an empty topic `t` of many partitions."""
    node = Node()
    node.create("t", MANY)
    return node


def fetch(node: Node, *places: Place, max_wait_ms: int = 60_000) -> Reply:
    """Give the handler a request."""
    loop = asyncio.get_running_loop()
    sessions = FetchSessions(10, lambda: 1)
    handler = FetchHandler(loop, node.table, sessions, node.clock, 1 << 30, Converter(loop, node.memory), node.memory)
    return Reply(handler(context(VERSION), request(places, Ask(max_wait_ms=max_wait_ms)), HEAD))


def waiting_at(node: Node) -> int:
    """Return how many fetches the partitions know of."""
    return sum(len(partition.delayed_fetches) for partition in node.table)


async def test_all_partitions_are_answered_in_order(node: Node) -> None:
    """The slices of a topic are one topic again, and what is unknown is told at once."""
    node.append("t", b"x")
    reply = await answered(fetch(node, *[at(partition=index) for index in range(MANY + 5)]))
    found = results(reply)
    assert [each.partition_index for each in found] == list(range(MANY + 5))
    assert values(found[0]) == [(0, b"x")]
    assert {each.error_code for each in found[MANY:]} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert node.memory.held_bytes == 0


async def test_a_record_ends_the_wait(node: Node) -> None:
    """As with few partitions; what waits counts as memory, and nothing is left behind."""
    reply = fetch(node, *[at(partition=index) for index in range(MANY)])
    await until(lambda: waiting_at(node) == MANY)
    assert node.memory.held_bytes > 0
    node.append("t", b"x", partition=1)
    found = results(await answered(reply))
    assert [values(each) for each in found[:2]] == [[], [(0, b"x")]]
    assert (waiting_at(node), node.memory.held_bytes) == (0, 0)


async def test_the_time_ends_the_wait(node: Node) -> None:
    """With nothing to tell, the answer comes at the deadline."""
    reply = await answered(fetch(node, *[at(partition=index) for index in range(MANY)], max_wait_ms=20))
    assert len(results(reply)) == MANY


async def test_a_broker_that_stops_ends_the_wait(node: Node) -> None:
    """Whoever waits is answered with what there is."""
    reply = fetch(node, *[at(partition=index) for index in range(MANY)])
    await until(lambda: waiting_at(node) == MANY)
    node.table.answer_delayed_fetches()
    assert len(results(await answered(reply))) == MANY


async def test_a_client_that_leaves_leaves_nothing(node: Node) -> None:
    """The partitions forget the fetch, and its memory is given back."""
    reply = fetch(node, *[at(partition=index) for index in range(MANY)])
    await until(lambda: waiting_at(node) == MANY)
    reply.cancel()
    await until(lambda: waiting_at(node) == 0)
    assert node.memory.held_bytes == 0


def _wanted(count: int, session_id: int = 0, epoch: int = 0) -> FetchRequest:
    partitions = [FetchPartition(partition=index) for index in range(count)]
    return FetchRequest(
        session_id=session_id, session_epoch=epoch, topics=[FetchTopic(topic="t", partitions=partitions)]
    )


def test_sessions_remember_a_bounded_number_of_partitions() -> None:
    """Who asks for more gets no session, or loses it; few partitions are always remembered."""
    ids = iter(range(1, 100))
    sessions = FetchSessions(100, lambda: next(ids))
    large = sessions.begin(_wanted(MOST_PARTITIONS - 200), False, 0)
    assert large is not None
    assert sessions.begin(_wanted(201), False, 0) is None
    small = sessions.begin(_wanted(FEW_PARTITIONS), False, 0)
    assert small is not None
    with pytest.raises(KafkaError) as refused:
        sessions.resume(_wanted(201, small.session_id, 1), False, 0)
    assert refused.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
