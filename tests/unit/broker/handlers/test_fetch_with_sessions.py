"""Fetch sessions (KIP-227) from request to answer; their state by itself is in test_fetch_sessions."""

import pytest

from odradek.broker.handlers.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, MIN_IDLE_BEFORE_EVICTION_MS
from odradek.protocol.errors import ErrorCode
from tests.support.partitions import Node, Reply
from tests.unit.broker.handlers.fetch_support import Ask, Consumer, Place, at, response, results, values

OPEN = Ask(session_epoch=INITIAL_EPOCH, max_wait_ms=0)


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of three empty partitions."""
    node = Node()
    node.create("t", 3)
    return node


@pytest.fixture
def fetch(node: Node) -> Consumer:
    return Consumer(node)


def go_on(session_id: int, epoch: int, forget: int | None = None, max_wait_ms: int = 0) -> Ask:
    """Return an incremental request of a session."""
    return Ask(
        session_id=session_id,
        session_epoch=epoch,
        max_wait_ms=max_wait_ms,
        forget=() if forget is None else (("t", forget),),
    )


def told(reply: Reply) -> list[int]:
    """Return the partitions that an answer speaks of."""
    return [each.partition_index for each in results(reply)]


def opened(fetch: Consumer, *places: Place) -> int:
    reply = fetch(*places, ask=OPEN)
    assert told(reply) == [place.partition for place in places]
    session_id = response(reply).session_id
    assert session_id > 0
    return session_id


def test_incremental_answers_have_what_changed(node: Node, fetch: Consumer) -> None:
    """Without a word of the client all partitions of its session are looked at, and only news is told."""
    session = opened(fetch, at(), at(partition=1))
    nothing = fetch(ask=go_on(session, 1))
    assert (told(nothing), response(nothing).session_id) == ([], session)
    node.append("t", b"x", partition=1)
    reply = fetch(ask=go_on(session, 2))
    assert values(results(reply)[0]) == [(0, b"x")]
    assert told(reply) == [1]


def test_session_waits_for_data(node: Node, fetch: Consumer) -> None:
    """A long poll of a session is woken by its partitions, which the request does not name."""
    session = opened(fetch, at(), at(partition=1))
    reply = fetch(ask=go_on(session, 1, max_wait_ms=500))
    node.append("t", b"x", partition=2)
    node.loop.settle()
    assert reply.is_waiting
    node.append("t", b"x", partition=1)
    node.loop.settle()
    assert told(reply) == [1]


def test_client_says_only_what_is_different(node: Node, fetch: Consumer) -> None:
    """New partitions, new offsets of old ones, and partitions that it does not want any more."""
    session = opened(fetch, at(), at(partition=1))
    for partition in range(3):
        node.append("t", b"x", partition=partition)
    assert told(fetch(at(0, partition=2), ask=go_on(session, 1, forget=0))) == [1, 2]
    assert told(fetch(at(1, partition=1), ask=go_on(session, 2))) == [2]


def test_session_that_has_nothing_left_is_over(fetch: Consumer) -> None:
    """When all partitions are forgotten the answer does not wait and names no session, and the session is gone."""
    session = opened(fetch, at())
    reply = fetch(ask=go_on(session, 1, forget=0, max_wait_ms=500))
    assert not reply.is_waiting
    assert (told(reply), response(reply).session_id) == ([], 0)
    assert len(fetch.sessions) == 0
    assert response(fetch(ask=go_on(session, 2))).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partition_that_is_named_and_forgotten_is_read_without_the_session(node: Node, fetch: Consumer) -> None:
    """The session ends empty, and the request is answered as one that has none."""
    node.append("t", b"x")
    session = opened(fetch, at())
    reply = fetch(at(), ask=go_on(session, 1, forget=0))
    assert (told(reply), response(reply).session_id) == ([0], 0)
    assert len(fetch.sessions) == 0


def test_full_request_without_partitions_opens_a_session(fetch: Consumer) -> None:
    """It takes the place of the one that the client had, and ends with the first request that adds nothing."""
    session = opened(fetch, at())
    empty = response(fetch(ask=Ask(session_id=session, session_epoch=INITIAL_EPOCH, max_wait_ms=0))).session_id
    assert empty not in (0, session)
    assert response(fetch(ask=go_on(session, 1))).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert response(fetch(ask=go_on(empty, 1))).session_id == 0
    assert len(fetch.sessions) == 0


@pytest.mark.parametrize(
    ("session_id", "epoch", "code"),
    [(None, 7, ErrorCode.INVALID_FETCH_SESSION_EPOCH), (99, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)],
)
def test_request_that_fits_no_session_is_refused_whole(
    fetch: Consumer, session_id: int | None, epoch: int, code: ErrorCode
) -> None:
    """The code stands at the top, and the client begins anew."""
    session = opened(fetch, at())
    found = response(fetch(ask=go_on(session_id or session, epoch)))
    assert (found.error_code, found.session_id, found.responses) == (code, 0, [])


def test_session_by_names_is_not_gone_on_with_by_ids(node: Node, fetch: Consumer) -> None:
    """A client that was updated in between begins anew."""
    session = opened(fetch, at())
    ask = Ask(session_id=session, session_epoch=1, version=13)
    assert response(fetch(ask=ask), 13).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_final_epoch_closes_the_session_and_reads_without_one(node: Node, fetch: Consumer) -> None:
    """The answer is full and names no session."""
    node.append("t", b"x")
    session = opened(fetch, at())
    reply = fetch(at(), ask=Ask(session_id=session, session_epoch=FINAL_EPOCH))
    assert (told(reply), response(reply).session_id) == ([0], 0)
    assert response(fetch(ask=go_on(session, 1))).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_full_request_replaces_the_clients_old_session(fetch: Consumer) -> None:
    """A client that lost track does not take up two places."""
    session = opened(fetch, at())
    reply = fetch(at(), ask=Ask(session_id=session, session_epoch=INITIAL_EPOCH, max_wait_ms=0))
    assert response(reply).session_id not in (0, session)
    assert len(fetch.sessions) == 1


def test_full_cache_answers_without_a_session(node: Node) -> None:
    """The consumer is served all the same; an idle session gives way after two minutes."""
    fetch = Consumer(node, slots=1)
    opened(fetch, at())
    reply = fetch(at(), ask=OPEN)
    assert (told(reply), response(reply).session_id) == ([0], 0)
    node.pass_time(MIN_IDLE_BEFORE_EVICTION_MS / 1000 + 1)
    opened(fetch, at())


def test_partition_with_an_error_is_told_again_and_again(node: Node, fetch: Consumer) -> None:
    """And once more when the error is over."""
    session = opened(fetch, at(), at(partition=1))
    assert told(fetch(at(99), ask=go_on(session, 1))) == [0]
    assert told(fetch(ask=go_on(session, 2))) == [0]
    assert told(fetch(at(0), ask=go_on(session, 3))) == [0]
    assert told(fetch(ask=go_on(session, 4))) == []


def test_deleted_records_are_news(node: Node, fetch: Consumer) -> None:
    """A session tells when the start of the log has moved."""
    node.append("t", b"x")
    session = opened(fetch, at(1), at(partition=1))
    node.table.get("t", 0).delete_records_before(1)
    [found] = results(fetch(ask=go_on(session, 1)))
    assert (found.partition_index, found.log_start_offset) == (0, 1)


def test_partitions_take_turns_under_a_limit(node: Node, fetch: Consumer) -> None:
    """What returned data to an incremental request goes to the end, so that a busy partition starves nobody."""
    for partition in range(3):
        node.append("t", bytes(100), partition=partition)
    small = Ask(session_epoch=INITIAL_EPOCH, max_bytes=10)
    session = response(fetch(at(), at(partition=1), at(partition=2), ask=small)).session_id
    served = []
    for epoch in range(1, 7):
        reply = fetch(ask=Ask(session_id=session, session_epoch=epoch, max_bytes=10))
        served += [each.partition_index for each in results(reply) if each.records]
    assert served == [0, 1, 2, 0, 1, 2]


def test_versions_before_sessions_have_none(node: Node, fetch: Consumer) -> None:
    """Up to version 6 every request is full."""
    assert [each.partition_index for each in results(fetch(at(), ask=Ask(version=6, max_wait_ms=0)), 6)] == [0]
    assert len(fetch.sessions) == 0
