"""What is left of deleted partitions is no hindrance to anybody, and never taken for a new one of the same name."""

import errno

import pytest

from odradek.broker.partitions.deletions import DELETED_PER_TURN
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.names import TopicPartition
from tests.support.manual_loop import HandThreads
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import DATA, Node


def in_place(node: Node) -> int:
    """Return how many directories have the names of partitions."""
    return sum(not entry.name.endswith("-delete") for entry in node.files.scan(DATA) if entry.is_directory)


def refusal(node: Node, topic: str, index: int) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        node.table.get(topic, index)
    return refused.value.code


class Serving(Node):
    """A node whose threads work when a test says so."""

    def __init__(self, files: MemoryFiles | None = None) -> None:
        super().__init__(files)
        self.threads = HandThreads(self.loop)
        self.table.deleted.use_threads(self.threads)

    def sync(self) -> None:
        """Let the threads do their work, and the loop hear of it."""
        self.threads.run()
        self.loop.settle()


def test_the_directories_of_a_large_topic_are_set_aside_a_few_at_a_time() -> None:
    """The topic itself is gone at once."""
    node = Serving()
    node.create("t", 3 * DELETED_PER_TURN)
    node.delete("t")
    assert node.table.find("t") is None
    for turn in range(1, 4):
        assert in_place(node) == (3 - turn) * DELETED_PER_TURN
        node.loop.turn()


def test_a_broker_that_stops_sets_the_rest_aside() -> None:
    """Otherwise the next start would find partitions of no topic."""
    node = Serving()
    node.create("t", 2 * DELETED_PER_TURN)
    node.delete("t")
    node.table.deleted.finish()
    assert in_place(node) == 0
    node.loop.settle()
    assert node.logs.close() == []


def test_a_new_partition_never_gets_the_log_of_a_deleted_one() -> None:
    """Even if that was not set aside yet."""
    node = Serving()
    node.create("t", 2 * DELETED_PER_TURN)
    last = 2 * DELETED_PER_TURN - 1
    node.append("t", b"old", partition=last)
    node.delete("t")
    again = node.announce("t", 2 * DELETED_PER_TURN)
    assert node.logs.get(TopicPartition("t", last)) is not None
    assert refusal(node, "t", last) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    node.sync()
    log = node.table.get("t", last).log
    assert (log.topic_id, log.log_end_offset) == (again, 0)


def test_nobody_waits_for_the_disk_where_a_topic_is_made_again() -> None:
    """That the checkpoints forget the deleted one is written on a thread; until then the partitions are not there."""
    node = Serving()
    node.create("t", 3)
    node.delete("t")
    node.loop.settle()
    node.announce("t", 3)
    node.announce("u")
    node.loop.settle()
    assert refusal(node, "t", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert node.table.get("u", 0).log.log_end_offset == 0
    assert len(node.threads) == 1
    node.sync()
    assert [partition.index for partition in node.table if partition.topic == "t"] == [0, 1, 2]
    assert not len(node.threads)


def test_what_is_deleted_while_checkpoints_are_written_is_forgotten_the_next_time() -> None:
    """What is being written does not know of it."""
    node = Serving()
    node.create("t")
    node.create("u")
    node.delete("t")
    node.create("t")
    node.delete("u")
    node.sync()
    again = node.create("u")
    assert refusal(node, "u", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    node.sync()
    assert node.table.get("u", 0).log.topic_id == again


def test_checkpoints_that_cannot_be_written_keep_the_partition_offline_until_they_can() -> None:
    """As any other partition whose log cannot be made."""
    node = Serving()
    node.create("t", 2)
    node.append("t", b"old")
    node.delete("t")
    node.announce("t", 2)
    node.loop.settle()
    node.files.fail("write", errno.ENOSPC, "checkpoint")
    node.threads.run()
    node.loop.settle()
    assert [refusal(node, "t", index) for index in (0, 1)] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert len(node.threads) == 0
    for _ in range(4):
        node.table.retry_offline()
        node.sync()
    assert [node.table.get("t", index).log.log_end_offset for index in (0, 1)] == [0, 0]


def test_it_is_told_when_every_name_is_free() -> None:
    """Once all directories are set aside and the checkpoints are written."""
    node = Serving()
    assert node.table.deleted.settled() is None
    node.create("t", 2 * DELETED_PER_TURN)
    node.delete("t")
    told: list[None] = []
    settled = node.table.deleted.settled()
    assert settled is not None
    settled.on_done(told.append)
    node.loop.settle()
    assert in_place(node) == 0
    assert not told
    node.sync()
    assert told == [None]
    assert node.table.deleted.settled() is None
