"""The table of partitions follows the metadata: made, opened in time, given new configs, retired."""

import itertools
from dataclasses import replace
from uuid import UUID

import pytest

from odradek.broker.partitions.roles import Role
from odradek.broker.partitions.table import OPENED_PER_TURN
from odradek.broker.partitions.topic_partitions import RARELY, is_turn
from odradek.config.topic import TopicConfig
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import PartitionChangeRecord, RemoveTopicRecord
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from tests.support.logs import NOW_MS, a_batch
from tests.support.partitions import DATA, Node
from tests.unit.broker.metadata.support import NODE, topic_records


def directories(node: Node) -> list[str]:
    """Return the names of the partitions' directories."""
    return sorted(entry.name for entry in node.files.scan(DATA) if entry.is_directory)


def opened(node: Node) -> list[tuple[str, int]]:
    return [(partition.topic, partition.index) for partition in node.table]


def refusal(node: Node, topic: str, index: int) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        node.table.get(topic, index)
    return refused.value.code


def test_new_topic_is_found_by_name_and_by_id() -> None:
    """With its partitions, each with a log of that topic."""
    node = Node()
    topic_id = node.create("t", 2)
    found = node.table.find("t")
    assert found is not None
    assert node.table.find(topic_id) is found
    assert (found.name, found.topic_id, found.count, found.is_internal) == ("t", topic_id, 2, False)
    assert [partition.log.topic_id for partition in node.table] == [topic_id, topic_id]
    assert directories(node) == ["t-0", "t-1"]


def test_unknown_names_are_unknown() -> None:
    """Topics, indexes beyond the last, and negative ones."""
    node = Node()
    node.create("t")
    assert node.table.find("none") is None
    assert not node.table.is_internal("none")
    for topic, index in (("none", 0), ("t", 1), ("t", -1)):
        assert refusal(node, topic, index) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_internal_topics_are_known_as_such() -> None:
    """By Kafka's names for them."""
    node = Node()
    node.create("__consumer_offsets")
    assert node.table.is_internal("__consumer_offsets")


def test_logs_are_opened_a_few_at_a_time() -> None:
    """A topic of many partitions does not keep others waiting for the disk."""
    node = Node()
    node.announce("t", 3 * OPENED_PER_TURN)
    assert opened(node) == []
    for turn in range(1, 4):
        node.loop.turn()
        assert len(opened(node)) == turn * OPENED_PER_TURN
    node.loop.settle()
    assert len(directories(node)) == 3 * OPENED_PER_TURN


def test_each_log_that_is_opened_is_told_of() -> None:
    """Once each, when it is there."""
    node = Node()
    topic_id = node.announce("t", OPENED_PER_TURN + 1)
    assert node.opened == []
    node.loop.turn()
    assert node.opened == [(topic_id, index) for index in range(OPENED_PER_TURN)]
    node.loop.settle()
    assert node.opened[OPENED_PER_TURN:] == [(topic_id, OPENED_PER_TURN)]


def test_a_slow_disk_has_one_log_opened_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where opening one takes all the time of a turn, others get theirs before the next one."""
    node = Node()
    node.announce("t", 3)
    get_or_create = node.logs.get_or_create

    def slowly(tp: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        node.loop.advance(0.012)
        return get_or_create(tp, topic_id, config)

    monkeypatch.setattr(node.logs, "get_or_create", slowly)
    for turn in range(1, 4):
        node.loop.turn()
        assert len(opened(node)) == turn


def test_ids_of_new_logs_go_to_the_disk_before_somebody_appends() -> None:
    """In the background, so that the first append, which must have its topic's id there, waits for no disk."""
    node = Node()
    node.announce("t", 2)
    node.loop.settle()
    assert [partition.index for partition in node.flusher.running] == [0, 1]
    node.flusher.finish()
    node.files.fail("sync")
    assert node.append("t", b"first").first_offset == 0


def test_partition_that_is_asked_for_is_opened_at_once() -> None:
    """And not twice."""
    node = Node()
    node.announce("t", 3)
    partition = node.table.get("t", 2)
    assert opened(node) == [("t", 2)]
    node.loop.settle()
    assert len(opened(node)) == 3
    assert node.table.get("t", 2) is partition


def test_everything_is_opened_at_start() -> None:
    """What is served must be there, with what it had."""
    node = Node()
    node.create("t", 2 * OPENED_PER_TURN)
    node.append("t", b"x")
    node.logs.close()
    restarted = Node(node.files, image=node.image)
    assert len(opened(restarted)) == 2 * OPENED_PER_TURN
    assert restarted.report.loaded == 2 * OPENED_PER_TURN
    assert restarted.table.get("t", 0).high_watermark == 1


def test_deleted_topic_is_gone_and_its_directories_are_set_aside() -> None:
    """Names and ids are unknown at once; the files go later."""
    node = Node()
    topic_id = node.create("t", 2)
    node.create("u")
    node.delete("t")
    assert node.table.find("t") is None
    assert node.table.find(topic_id) is None
    assert opened(node) == [("u", 0)]
    assert [name for name in directories(node) if not name.endswith("-delete")] == ["u-0"]
    assert len(directories(node)) == 3
    assert node.logs.get(TopicPartition("t", 0)) is None


def test_topic_that_is_deleted_before_it_was_opened_leaves_nothing() -> None:
    """No directory is made for it any more."""
    node = Node()
    node.announce("t", 2 * OPENED_PER_TURN)
    node.loop.turn()
    node.delete("t")
    node.loop.settle()
    assert all(name.endswith("-delete") for name in directories(node))
    assert len(directories(node)) == OPENED_PER_TURN
    assert opened(node) == []


def test_topic_may_come_again_under_its_name() -> None:
    """As an empty one, while the old files still wait for their end."""
    node = Node()
    old = node.create("t")
    node.append("t", b"x")
    node.delete("t")
    new = node.create("t")
    assert new != old
    partition = node.table.get("t", 0)
    assert (partition.high_watermark, partition.log.topic_id) == (0, new)
    assert node.table.find(old) is None


def test_topic_may_be_replaced_in_one_change() -> None:
    """A deletion and a creation that arrive together."""
    node = Node()
    old = node.create("t")
    node.append("t", b"x")
    new = old.__class__(int=old.int + 1000)
    node.change(RemoveTopicRecord(topic_id=old), *topic_records("t", new))
    node.loop.settle()
    found = node.table.find("t")
    assert found is not None
    assert found.topic_id == new
    assert node.table.get("t", 0).high_watermark == 0


def test_deletion_that_fails_takes_the_topic_out_of_service_all_the_same() -> None:
    """The metadata has decided; the operator is told of the directory that is left."""
    node = Node()
    node.create("t", 2)
    node.files.fail("rename", path_part="/t-0")
    node.delete("t")
    assert node.table.find("t") is None
    assert [name for name in directories(node) if not name.endswith("-delete")] == ["t-0"]


def test_more_partitions_leave_the_others_as_they_are() -> None:
    """The same objects, with those who wait on them; also those that were not open yet."""
    node = Node()
    node.announce("t", 2)
    first = node.table.get("t", 0)
    node.extend("t", 2, 3)
    node.loop.settle()
    assert node.table.get("t", 0) is first
    assert sorted(opened(node)) == [("t", index) for index in range(4)]
    found = node.table.find("t")
    assert found is not None
    assert found.count == 4


def test_more_partitions_open_no_logs_in_the_turn_that_adds_them() -> None:
    """Those that were not open yet are opened later, a few at a time, and once."""
    node = Node()
    node.announce("t", 3 * OPENED_PER_TURN)
    node.extend("t", 3 * OPENED_PER_TURN, 3 * OPENED_PER_TURN)
    assert opened(node) == []
    node.loop.settle()
    assert sorted(opened(node)) == [("t", index) for index in range(3 * OPENED_PER_TURN + 1)]


def test_configs_of_a_topic_reach_its_logs() -> None:
    """Those that are open, and those that are opened later."""
    node = Node()
    node.announce("t", 2)
    first = node.table.get("t", 0)
    node.configure("t", retention_ms="5", compression_type="zstd")
    assert first.log.config.retention_ms == 5
    assert node.table.get("t", 1).log.config.retention_ms == 5
    found = node.table.find("t")
    assert found is not None
    assert found.config.compression_type == "zstd"
    node.configure("t", retention_ms=None)
    assert first.log.config.retention_ms == node.defaults.retention_ms


def test_configs_of_one_topic_are_not_those_of_another() -> None:
    """Only what changed is touched."""
    node = Node()
    node.create("t")
    node.create("u")
    config = node.table.get("u", 0).log.config
    node.configure("t", retention_ms="5")
    assert node.table.get("u", 0).log.config is config


def test_configs_of_the_broker_reach_all_topics() -> None:
    """Where a topic has no value of its own."""
    node = Node()
    node.create("t")
    node.create("u", 1, retention_ms="5")
    node.defaults = replace(node.defaults, retention_ms=77, max_message_bytes=100)
    node.table.reconfigure_all(node.image)
    assert [partition.log.config.retention_ms for partition in node.table] == [77, 5]
    assert {partition.log.config.max_message_bytes for partition in node.table} == {100}


def test_leader_epoch_follows_the_metadata() -> None:
    """Clients with the old one are fenced; the partition itself goes on."""
    node = Node()
    topic_id = node.create("t")
    partition = node.table.get("t", 0)
    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=1))
    assert node.table.get("t", 0) is partition
    assert partition.leader_epoch == partition.log.leader_epochs.latest == 1


def test_partition_of_another_broker_is_not_opened() -> None:
    """NOT_LEADER_OR_FOLLOWER, without files here."""
    node = Node()
    elsewhere = topic_records("t", node.create("other").__class__(int=1 << 80), replicas=(5,))
    node.change(*elsewhere)
    node.loop.settle()
    assert refusal(node, "t", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert directories(node) == ["other-0"]


def test_partition_leads_or_follows_as_the_metadata_says() -> None:
    """Clients of one that follows are sent to its leader, who waits there learns it; its log stays, and it may lead
    again."""
    node = Node()
    topic_id = UUID(int=1 << 80)
    node.change(*topic_records("t", topic_id, replicas=(NODE, 5)))
    partition = node.table.get("t", 0)
    told: list[ErrorCode] = []
    assert partition.when_committed(partition.log.log_end_offset + 1, told.append)

    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=5))
    assert refusal(node, "t", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert (partition.role, partition.leader_id, partition.leader_epoch) == (Role.FOLLOWER, 5, 1)
    assert partition.log.leader_epochs.latest == 0
    assert list(node.table) == [partition]

    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=NODE))
    assert node.table.get("t", 0) is partition
    assert (partition.role, partition.log.leader_epochs.latest) == (Role.LEADER, 2)


def test_what_a_follower_has_on_the_disk_is_not_committed_by_that() -> None:
    """The leader says how far the high watermark is."""
    node = Node()
    topic_id = UUID(int=1 << 80)
    node.change(*topic_records("t", topic_id, replicas=(5, NODE)))
    node.loop.settle()
    [partition] = node.table
    assert partition.role is Role.FOLLOWER
    partition.log.append(a_batch([b"v"]), 5, NOW_MS)
    partition.flushed()
    assert partition.high_watermark == 0


def test_replica_that_is_moved_away_is_served_no_more() -> None:
    """Whoever waits must ask for its new home."""
    node = Node()
    topic_id = node.create("t")
    partition = node.table.get("t", 0)
    node.change(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=5, replicas=[5], isr=[5]))
    assert refusal(node, "t", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.is_retired
    assert list(node.table) == []


# offline partitions


def test_partition_that_cannot_be_opened_is_offline_and_others_are_served() -> None:
    """KAFKA_STORAGE_ERROR with the reason, for that one alone."""
    node = Node()
    node.files.fail("mkdir", path_part="/t-1", times=100)
    node.create("t", 3)
    with pytest.raises(KafkaError) as refused:
        node.table.get("t", 1)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert "t-1" in refused.value.message
    assert opened(node) == [("t", 0), ("t", 2)]
    assert node.table.high_watermarks() == {TopicPartition("t", 0): 0, TopicPartition("t", 2): 0}


def test_offline_partition_is_served_once_the_disk_can() -> None:
    """It is tried again by and by."""
    node = Node()
    node.files.fail("mkdir", path_part="/t-0", times=2)
    node.create("t")
    node.table.retry_offline()
    assert refusal(node, "t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    node.table.retry_offline()
    assert node.append("t", b"x").first_offset == 0


def test_offline_partition_is_tried_less_and_less_often() -> None:
    """Soon at first, then rarely, but for ever: checking a log may take long, and a disk may be mended any day."""
    turns = [turn for turn in range(1000) if is_turn(turn)]
    assert turns[:6] == [0, 1, 2, 4, 8, 16]
    assert {RARELY, 2 * RARELY} <= set(turns)
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) <= RARELY


def test_topic_with_an_offline_partition_is_deleted_whole() -> None:
    """And the partition is tried no more."""
    node = Node()
    node.files.fail("mkdir", path_part="/t-0")
    node.create("t", 2)
    node.delete("t")
    node.table.retry_offline()
    assert [name for name in directories(node) if not name.endswith("-delete")] == []
    assert opened(node) == []


def test_high_watermarks_are_those_of_all_open_partitions() -> None:
    """What the checkpoint file gets."""
    node = Node()
    node.create("t", 2)
    node.append("t", b"x", partition=1)
    assert node.table.high_watermarks() == {TopicPartition("t", 0): 0, TopicPartition("t", 1): 1}
