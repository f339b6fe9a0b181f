"""Passes over all partitions that remove what is old enough."""

import errno
import io
import json
from collections.abc import Iterator

import pytest

from odradek.broker.partitions.retention import PARTITIONS_PER_STEP, Retention
from odradek.broker.runtime.logging import configure_logging
from odradek.protocol.errors import ErrorCode
from tests.support.logs import a_batch
from tests.support.partitions import DATA, Node
from tests.unit.broker.handlers.fetch_support import Ask, Consumer, at, result

SIZE = len(a_batch([bytes(100)]))


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the broker logs, as JSON."""
    stream = io.StringIO()
    configure_logging(stream=stream, as_json=True)
    yield stream
    configure_logging()


def a_node(batches: int = 6, topic: str = "t", **configs: str) -> Node:
    """Return a node with a topic of one partition: batches of one record, two to a segment, a second apart."""
    node = Node()
    fill(node, topic, batches, **configs)
    return node


def fill(node: Node, topic: str, batches: int = 6, **configs: str) -> None:
    """Create and fill a topic."""
    node.create(topic, 1, internal_segment_bytes=str(2 * SIZE), **configs)
    for _ in range(batches):
        node.append(topic, bytes(100))
        node.clock.advance(1)


def run(node: Node) -> int:
    """Make one pass, and return its number of steps."""
    return sum(1 for _ in Retention(node.table, node.clock).run())


def start_of(node: Node, topic: str = "t") -> int:
    return node.table.get(topic, 0).log.log_start_offset


def said(lines: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_every_partition_is_looked_at() -> None:
    """Each by the configuration of its topic."""
    node = a_node(retention_bytes=str(2 * SIZE))
    fill(node, "u", retention_bytes=str(4 * SIZE))
    fill(node, "v")
    run(node)
    assert [start_of(node, topic) for topic in "tuv"] == [4, 2, 0]


def test_change_of_the_configuration_counts_from_the_next_pass() -> None:
    """A topic that shall keep less gives back what it has too much."""
    node = a_node()
    run(node)
    assert start_of(node) == 0
    node.configure("t", retention_bytes=str(2 * SIZE))
    run(node)
    assert start_of(node) == 4
    node.configure("t", retention_bytes=None, retention_ms="500")
    node.clock.advance(60)
    run(node)
    assert start_of(node) == 6


def test_compacted_topic_is_not_deleted_by_age() -> None:
    """Like `__consumer_offsets`: only the start of its log counts; with compact,delete both do."""
    node = a_node(0, retention_ms="1", retention_bytes="1", cleanup_policy="compact")
    for _ in range(6):
        node.append("t", bytes(100))
    node.clock.advance(60)
    run(node)
    assert start_of(node) == 0
    node.configure("t", cleanup_policy="compact,delete")
    run(node)
    assert start_of(node) == 6


def test_one_line_says_what_went_and_why(lines: io.StringIO) -> None:
    """For each reason, with the offsets and the limit that they were over."""
    node = a_node(retention_bytes=str(4 * SIZE), retention_ms="2500")
    run(node)
    first, second = said(lines)
    assert (first["event"], first["topic"], first["partition"]) == ("old segments deleted", "t", 0)
    assert first["reason"] == f"the log is larger than retention.bytes={4 * SIZE}"
    assert (first["segments"], first["size"], first["offsets"]) == (1, 2 * SIZE, "0 to 1")
    assert (second["reason"], second["offsets"]) == ("newest record older than retention.ms=2500", "2 to 3")
    assert second["log_start_offset"] == 4


def test_nothing_is_said_where_nothing_goes(lines: io.StringIO) -> None:
    """A pass is no event."""
    run(a_node())
    assert said(lines) == []


def test_partition_in_trouble_is_said_once_and_keeps_no_other_from_its_turn(lines: io.StringIO) -> None:
    """It is tried again with every pass."""
    node = a_node(retention_bytes=str(2 * SIZE))
    fill(node, "u", retention_bytes=str(2 * SIZE))
    node.files.fail("rename", errno.EIO, path_part="/t-0/", times=2)
    retention = Retention(node.table, node.clock)
    for _ in range(2):
        assert sum(1 for _ in retention.run()) >= 0
    assert start_of(node, "u") == 4
    assert [line["level"] for line in said(lines) if line["topic"] == "t"] == ["error"]
    assert sum(1 for _ in retention.run())
    assert start_of(node) == 4


def test_each_segment_is_a_step() -> None:
    """However much there is to be done, a turn of the loop takes no longer for it."""
    node = a_node(40, retention_bytes="0")
    assert run(node) >= 20


def test_thousand_partitions_are_many_steps() -> None:
    """Partitions with nothing to do are passed over a few at a time."""
    node = Node()
    node.create("t", 4 * PARTITIONS_PER_STEP)
    assert run(node) == 4


def test_topics_may_come_and_go_during_a_pass() -> None:
    """What was deleted between two steps is left alone; what is new has its turn in the next pass."""
    node = a_node(retention_bytes="0")
    fill(node, "u", retention_bytes="0")
    steps = Retention(node.table, node.clock).run()
    next(steps)
    node.delete("u")
    fill(node, "v", 2, retention_bytes="0")
    for _ in steps:
        pass
    assert (start_of(node), start_of(node, "v")) == (6, 0)
    gone = next(entry.name for entry in node.files.scan(DATA) if entry.name.startswith("u-0."))
    assert not [name for name in node.files.listdir(f"{DATA}/{gone}") if name.endswith(".deleted")]


def test_waiting_fetch_below_the_new_start_is_told_at_once() -> None:
    """Its offset is out of range now; it need not wait for its deadline."""
    node = a_node(1, retention_bytes="0")
    reply = Consumer(node)(at(0), ask=Ask(min_bytes=1 << 19, max_wait_ms=30_000))
    node.loop.settle()
    assert reply.is_waiting
    run(node)
    node.loop.settle()
    assert result(reply).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_fetch_that_waits_at_the_end_waits_on() -> None:
    """What goes at the front is nothing to those who wait for more."""
    node = a_node(retention_bytes="0")
    reply = Consumer(node)(at(6), ask=Ask(max_wait_ms=30_000))
    run(node)
    node.loop.settle()
    assert reply.is_waiting
    node.append("t", b"x")
    node.loop.settle()
    assert result(reply).error_code == ErrorCode.NONE


def test_deleted_records_are_told_to_waiting_fetches_too() -> None:
    """DeleteRecords moves the start as retention does."""
    node = a_node(2)
    reply = Consumer(node)(at(0), ask=Ask(min_bytes=1 << 19, max_wait_ms=30_000))
    node.loop.settle()
    assert reply.is_waiting
    node.table.get("t", 0).delete_records_before(1)
    node.loop.settle()
    assert result(reply).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_what_is_not_committed_stays() -> None:
    """With flush.messages, what is not on the disk yet is not deleted either."""
    node = a_node(flush_messages="1", retention_bytes="0")
    run(node)
    assert start_of(node) == 0
    while node.flusher.running:
        node.flusher.finish()
    run(node)
    assert start_of(node) == 6
