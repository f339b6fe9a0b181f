"""Consumers that fetch more than they may."""

import pytest

from odradek.broker.handlers.fetch_sessions import INITIAL_EPOCH
from odradek.broker.runtime.responses import Throttled
from tests.support.clock import ManualClock
from tests.support.partitions import Node, Reply
from tests.support.waiting import eventually
from tests.unit.broker.handlers.fetch_support import Ask, Consumer, Place, at, response, results
from tests.unit.broker.metadata.test_client_quotas import quota
from tests.unit.broker.quotas.support import enforcing

RATE = "consumer_byte_rate"


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` that has ten batches of about a kilobyte."""
    node = Node()
    node.create("t", 1)
    for _ in range(10):
        node.append("t", bytes(1_000))
    return node


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def limited(node: Node, clock: ManualClock, limit: float, key: str = RATE) -> Consumer:
    """Return a consumer with a quota."""
    return Consumer(node, quotas=enforcing(clock, quota(key, limit, user="ANONYMOUS")))


def told(reply: Reply) -> int:
    """Return the throttle time of a reply, which is otherwise empty, and for how long the client is muted."""
    [answer] = reply.answers
    assert isinstance(answer, Throttled)
    found = response(reply)
    assert (found.error_code, found.responses) == (0, [])
    assert answer.seconds == found.throttle_time_ms / 1000
    return found.throttle_time_ms


def test_a_fetch_gets_no_more_than_ten_seconds_worth(node: Node, clock: ManualClock) -> None:
    """More could never be sent."""
    fetch = limited(node, clock, 300.0)
    [found] = results(fetch(at(0), ask=Ask(max_wait_ms=0)))
    assert found.records is not None
    assert 2_000 < len(found.records) <= 3_000


def test_a_fetch_that_is_too_much_gets_nothing_and_counts_for_nothing(node: Node, clock: ManualClock) -> None:
    """Once the time is over it gets what it asked for."""
    fetch = limited(node, clock, 300.0)
    results(fetch(at(0), ask=Ask(max_wait_ms=0)))
    wait_ms = told(fetch(at(2), ask=Ask(max_wait_ms=0)))
    assert told(fetch(at(2), ask=Ask(max_wait_ms=0))) == wait_ms
    clock.advance(12)
    assert results(fetch(at(2), ask=Ask(max_wait_ms=0)))[0].records


def test_a_session_stays_as_it_was(node: Node, clock: ManualClock) -> None:
    """What it has not been told yet is told later."""
    fetch = limited(node, clock, 300.0)
    opened = response(fetch(at(0), ask=Ask(session_epoch=INITIAL_EPOCH, max_wait_ms=0)))
    again = Ask(session_id=opened.session_id, session_epoch=1, max_wait_ms=0)
    reply = fetch(at(2), ask=again)
    assert told(reply) > 0
    assert response(reply).session_id == opened.session_id
    clock.advance(12)
    found = fetch(ask=Ask(session_id=opened.session_id, session_epoch=2, max_wait_ms=0))
    assert results(found)[0].records


def test_a_session_does_not_begin_with_a_fetch_that_gets_nothing(node: Node, clock: ManualClock) -> None:
    """The client asks for everything again."""
    fetch = limited(node, clock, 300.0)
    results(fetch(at(0), ask=Ask(max_wait_ms=0)))
    reply = fetch(at(2), ask=Ask(session_epoch=INITIAL_EPOCH, max_wait_ms=0))
    assert told(reply) > 0
    assert response(reply).session_id == 0


def test_a_fetch_that_waited_is_held_back_too(node: Node, clock: ManualClock) -> None:
    """When something comes for it."""
    fetch = limited(node, clock, 300.0)
    results(fetch(at(0), ask=Ask(max_wait_ms=0)))
    reply = fetch(at(10), ask=Ask(max_wait_ms=500))
    assert reply.is_waiting
    node.append("t", bytes(2_000))
    node.loop.settle()
    assert told(reply) > 0


def test_time_is_limited_for_fetches_too(node: Node, clock: ManualClock) -> None:
    """For a second at most."""
    assert told(limited(node, clock, 1e-9, "request_percentage")(at(0), ask=Ask(max_wait_ms=0))) == 1_000


@pytest.mark.parametrize("version", [0, 1, 3])
def test_old_versions_are_held_back_too(node: Node, clock: ManualClock, version: int) -> None:
    """They get nothing, and are not read from; where the answer tells it is tested with the answers."""
    fetch = limited(node, clock, 10.0)
    reply = fetch(Place("t", 0, 0, 1 << 20), ask=Ask(version=version, max_wait_ms=0))

    def is_answered() -> bool:
        node.loop.settle()  # records of old formats are converted on a thread
        return bool(reply.answers)

    eventually(is_answered, "the answer is there")
    [answer] = reply.answers
    assert isinstance(answer, Throttled)
    assert answer.seconds > 90
    assert isinstance(answer.answer, bytes)
    assert len(answer.answer) < 20
