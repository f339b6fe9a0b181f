"""Fetch as a long poll: answered when there is enough, at its deadline, or when waiting makes no sense."""

from dataclasses import replace

import pytest

from odradek.protocol.errors import ErrorCode
from tests.support.partitions import Node, Reply
from tests.unit.broker.handlers.fetch_support import Ask, Consumer, Place, at, result, results, size_of, values


@pytest.fixture
def node() -> Node:
    """A node with an empty topic `t` of two partitions."""
    node = Node()
    node.create("t", 2)
    return node


@pytest.fixture
def fetch(node: Node) -> Consumer:
    return Consumer(node)


def waiting_at(node: Node) -> int:
    """Return how many fetches the partitions know of."""
    return sum(len(partition.delayed_fetches) for partition in node.table)


def settled(node: Node, reply: Reply) -> Reply:
    node.loop.settle()
    return reply


def test_fetch_waits_until_a_record_comes(node: Node, fetch: Consumer) -> None:
    """The append answers it; nothing of it is left behind."""
    reply = fetch(at(), at(partition=1))
    assert settled(node, reply).is_waiting
    assert waiting_at(node) == 2
    node.append("t", b"x", partition=1)
    first, second = results(settled(node, reply))
    assert (values(first), values(second)) == ([], [(0, b"x")])
    assert (waiting_at(node), node.loop.timers) == (0, 0)


def test_fetch_waits_for_as_many_bytes_as_it_asked_for(node: Node, fetch: Consumer) -> None:
    """Bytes of all partitions count together."""
    size = node.append("t", b"x").size
    reply = fetch(at(), at(partition=1), ask=Ask(min_bytes=2 * size))
    assert settled(node, reply).is_waiting
    node.append("t", b"y", partition=1)
    assert [size_of(each) for each in results(settled(node, reply))] == [size, size]


@pytest.mark.parametrize("min_bytes", [0, -1])
def test_fetch_that_wants_nothing_does_not_wait(fetch: Consumer, min_bytes: int) -> None:
    """Zero bytes are there at once."""
    assert size_of(result(fetch(at(), ask=Ask(min_bytes=min_bytes)))) == 0


@pytest.mark.parametrize("max_wait_ms", [0, -1])
def test_fetch_without_time_does_not_wait(fetch: Consumer, max_wait_ms: int) -> None:
    """It is answered with what there is."""
    assert size_of(result(fetch(at(), ask=Ask(max_wait_ms=max_wait_ms)))) == 0


def test_fetch_of_nothing_does_not_wait(fetch: Consumer) -> None:
    """Neither without topics nor with topics without partitions."""
    assert results(fetch()) == []


def test_min_bytes_are_capped_to_what_may_be_returned(node: Node, fetch: Consumer) -> None:
    """A limit below min_bytes would otherwise be waited for in vain."""
    node.append("t", bytes(500))
    assert not fetch(at(), ask=Ask(min_bytes=1000, max_bytes=200)).is_waiting
    assert not Consumer(node, max_bytes=200)(at(), ask=Ask(min_bytes=1000)).is_waiting


def test_deadline_answers_with_what_there_is(node: Node, fetch: Consumer) -> None:
    """Too little is better than nothing when the time is up; an append that comes later does not answer again."""
    node.append("t", b"x")
    reply = fetch(at(), ask=Ask(min_bytes=1000, max_wait_ms=500))
    node.pass_time(0.499)
    assert reply.is_waiting
    node.pass_time(0.001)
    assert values(result(reply)) == [(0, b"x")]
    node.append("t", bytes(1000))
    node.loop.settle()
    assert len(reply.answers) == 1
    assert waiting_at(node) == 0


def test_error_is_answered_at_once(node: Node, fetch: Consumer) -> None:
    """Whatever else there would be to wait for."""
    first, second = results(fetch(at(), at(partition=9), ask=Ask(min_bytes=1000)))
    assert (first.error_code, second.error_code) == (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_rest_of_an_old_segment_is_answered_at_once(node: Node, fetch: Consumer) -> None:
    """An answer has data of one segment, so waiting cannot make it more while there is more in the next one."""
    node.append("t", b"old")
    node.table.get("t", 0).log.roll(node.clock.now_ms())
    node.append("t", b"new")
    assert values(result(fetch(at(), ask=Ask(min_bytes=1000)))) == [(0, b"old")]
    assert fetch(at(1), ask=Ask(min_bytes=1000)).is_waiting


def test_records_that_are_not_committed_wake_nobody() -> None:
    """Readers wait for the flush as producers do."""
    node = Node()
    node.create("t", flush_messages="1")
    reply = Consumer(node)(at())
    node.append("t", b"x")
    assert settled(node, reply).is_waiting
    node.flusher.finish()
    assert values(result(settled(node, reply))) == [(0, b"x")]


def test_end_of_a_transaction_wakes_those_who_wait_for_it(node: Node, fetch: Consumer) -> None:
    """A reader of committed data gets the transaction's records when its marker comes."""
    reply = fetch(at(), ask=Ask(isolation_level=1))
    node.begin_transaction("t", 7, b"x")
    assert settled(node, reply).is_waiting
    node.end_transaction("t", 7, committed=True)
    assert values(result(settled(node, reply))) == [(0, b"x")]


def test_closed_connection_leaves_no_trace(node: Node, fetch: Consumer) -> None:
    """The partitions forget the fetch, its timer is gone, and no answer comes."""
    reply = fetch(at(), at(partition=1))
    reply.cancel()
    assert (waiting_at(node), node.loop.timers) == (0, 0)
    node.append("t", b"x")
    node.pass_time(10)
    assert reply.answers == []


def test_deletion_of_the_topic_answers_those_who_wait(node: Node, fetch: Consumer) -> None:
    """They learn that it is unknown now."""
    reply = fetch(at(), at(partition=1))
    node.delete("t")
    found = results(settled(node, reply))
    assert {each.error_code for each in found} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_new_topic_of_the_same_name_is_not_taken_for_the_old_one(node: Node, fetch: Consumer) -> None:
    """By id, the old topic stays unknown."""
    by_id = Place(node.image.topics_by_name["t"].topic_id)
    reply = fetch(by_id, ask=Ask(version=13))
    node.delete("t")
    node.create("t")
    assert result(settled(node, reply), 13).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_more_partitions_do_not_disturb_those_who_wait(node: Node, fetch: Consumer) -> None:
    """A fetch goes on waiting on the partitions that it asked for."""
    reply = fetch(at())
    node.extend("t", 2, 3)
    assert settled(node, reply).is_waiting
    node.append("t", b"x")
    assert values(result(settled(node, reply))) == [(0, b"x")]


def test_stop_of_the_broker_answers_all_long_polls(node: Node, fetch: Consumer) -> None:
    """With what there is, once each."""
    replies = [fetch(at(), at(partition=1)) for _ in range(3)]
    node.table.answer_delayed_fetches()
    assert [len(reply.answers) for reply in replies] == [1, 1, 1]
    assert waiting_at(node) == 0


def test_burst_of_appends_answers_with_all_of_it(node: Node, fetch: Consumer) -> None:
    """A fetch looks again once per turn of the loop, when everything in that turn is done."""
    reply = fetch(at())
    for value in (b"a", b"b", b"c"):
        node.append("t", value)
    assert values(result(settled(node, reply))) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_offset_that_is_deleted_while_waiting_is_out_of_range(node: Node, fetch: Consumer) -> None:
    """The next look says so."""
    node.append("t", b"x")
    reply = fetch(replace(at(), partition=0), ask=Ask(min_bytes=1000))
    node.table.get("t", 0).delete_records_before(-1)
    node.append("t", b"y")
    assert result(settled(node, reply)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
