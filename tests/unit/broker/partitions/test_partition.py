"""A partition: what is committed, who is told, and what a reader may see."""

import io
import json

import pytest

from odradek.broker.partitions.flusher import flush_is_due
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.logging import configure_logging
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import OffsetOutOfRange
from tests.support.logs import NOW_MS, a_batch
from tests.support.partitions import Node

NEVER = str((1 << 63) - 1)


def partition_of(node: Node, **configs: str) -> Partition:
    node.create("t", 1, **configs)
    return node.table.get("t", 0)


def test_high_watermark_follows_appends_at_once() -> None:
    """With one replica and no flush.messages, written is committed."""
    node = Node()
    partition = partition_of(node)
    assert partition.high_watermark == 0
    node.append("t", b"a", b"b")
    assert partition.high_watermark == 2
    assert not partition.when_committed(2, lambda code: pytest.fail(str(code)))
    assert node.flusher.begun == 0


def test_high_watermark_waits_for_the_disk_where_the_topic_asks_for_it() -> None:
    """With flush.messages=1 it is the end of what is on the disk."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    node.append("t", b"a")
    told: list[ErrorCode] = []
    assert partition.when_committed(1, told.append)
    node.append("t", b"b")
    assert (partition.high_watermark, told) == (0, [])
    node.flusher.finish()
    assert (partition.high_watermark, told) == (1, [ErrorCode.NONE])
    node.flusher.finish()
    assert partition.high_watermark == 2
    assert not node.flusher.running


def test_failed_flush_tells_all_and_moves_nothing() -> None:
    """What is appended later asks for a flush that covers the old data too."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    told: list[ErrorCode] = []
    for _ in range(2):
        node.append("t", b"x")
        partition.when_committed(partition.log.log_end_offset, told.append)
    node.flusher.fail()
    assert (told, partition.high_watermark) == ([ErrorCode.KAFKA_STORAGE_ERROR] * 2, 0)
    node.append("t", b"y")
    node.flusher.finish()
    assert (len(told), partition.high_watermark) == (2, 3)


def test_partition_that_was_found_unflushed_is_flushed_before_it_is_shown() -> None:
    """After a crash, what was not on the disk for sure is not served before it is."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    node.append("t", b"a")
    node.flusher.finish()
    partition.log.append(a_batch([b"b"]), 0, NOW_MS)
    restarted = Node(node.files.crash(kept=1.0), image=node.image)
    found = restarted.table.get("t", 0)
    assert found.log.log_end_offset == 2
    assert found.high_watermark == found.log.recovery_point < 2
    restarted.flusher.finish()
    assert found.high_watermark == 2


def test_partition_that_is_found_is_committed_to_its_end() -> None:
    """Without flush.messages all that is in the log is visible at once, after a crash as well."""
    node = Node()
    partition_of(node)
    node.append("t", b"a", b"b")
    restarted = Node(node.files.crash(kept=1.0), image=node.image)
    assert restarted.table.get("t", 0).high_watermark == 2
    assert restarted.flusher.begun == 0


@pytest.mark.parametrize(("now", "waits"), [("1", True), (NEVER, False)])
def test_new_flush_messages_takes_effect_on_what_waits(now: str, waits: bool) -> None:
    """Where the topic stops to ask for it, nobody waits for the disk any more."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    node.append("t", b"x")
    told: list[ErrorCode] = []
    partition.when_committed(1, told.append)
    node.configure("t", flush_messages=now)
    assert (partition.high_watermark, told) == ((0, []) if waits else (1, [ErrorCode.NONE]))


def test_flush_messages_that_is_set_concerns_what_comes() -> None:
    """What was visible stays so."""
    node = Node()
    partition = partition_of(node)
    node.append("t", b"a")
    node.configure("t", flush_messages="1")
    assert partition.high_watermark == 1
    node.append("t", b"b")
    assert partition.high_watermark == 1
    node.flusher.finish()
    assert partition.high_watermark == 2


def test_flush_by_time_is_due_when_data_has_waited() -> None:
    """flush.ms after the last flush, if anything was appended; a clock set back makes it due."""
    node = Node()
    partition = partition_of(node, flush_ms="1000")
    partition.last_flush_ms = NOW_MS
    assert not flush_is_due(partition, NOW_MS + 5000)
    node.append("t", b"x")
    assert not flush_is_due(partition, NOW_MS + 999)
    assert flush_is_due(partition, NOW_MS + 1000)
    assert flush_is_due(partition, NOW_MS - 1)
    partition.log.flush()
    assert not flush_is_due(partition, NOW_MS + 5000)


def test_retired_partition_sends_those_who_wait_elsewhere() -> None:
    """And asks for no flush any more: its names on the disk may be those of a new partition."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    told: list[ErrorCode] = []
    node.append("t", b"a")
    node.append("t", b"b")
    partition.when_committed(2, told.append)
    partition.retired()
    assert told == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    node.flusher.finish()
    assert (partition.high_watermark, node.flusher.begun) == (0, 1)


def test_last_stable_offset_is_before_the_first_open_transaction() -> None:
    """Without any it is the high watermark; an ended one holds back until its marker is committed."""
    node = Node()
    partition = partition_of(node, flush_messages="1")
    node.append("t", b"a")
    node.flusher.finish()
    assert partition.last_stable_offset == 1
    node.begin_transaction("t", 7, b"b")
    node.flusher.finish()
    assert (partition.high_watermark, partition.last_stable_offset) == (2, 1)
    node.end_transaction("t", 7, committed=True)
    assert partition.last_stable_offset == 1
    node.flusher.finish()
    assert (partition.high_watermark, partition.last_stable_offset) == (3, 3)


def test_last_stable_offset_is_never_before_the_log() -> None:
    """Records of an open transaction may be deleted under it."""
    node = Node()
    partition = partition_of(node)
    node.begin_transaction("t", 7, b"a", b"b")
    node.append("t", b"c")
    partition.delete_records_before(1)
    assert partition.last_stable_offset == 1


@pytest.mark.parametrize(("epoch", "code"), [(-1, None), (0, None), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_leader_epoch_of_a_client_is_ours_or_none(epoch: int, code: ErrorCode | None) -> None:
    """-1 is what clients send that do not know epochs."""
    partition = partition_of(Node())
    if code is None:
        partition.check_leader_epoch(epoch)
        return
    with pytest.raises(KafkaError) as refused:
        partition.check_leader_epoch(epoch)
    assert refused.value.code is code


def test_new_epoch_begins_at_the_end_of_the_log() -> None:
    """Also if nothing is appended in it; an older one is fenced then."""
    node = Node()
    partition = partition_of(node)
    node.append("t", b"a")
    partition.lead(partition.leader_id, 3)
    assert partition.log.leader_epochs.entries == [(0, 0), (3, 1)]
    with pytest.raises(KafkaError) as refused:
        partition.check_leader_epoch(0)
    assert refused.value.code is ErrorCode.FENCED_LEADER_EPOCH
    partition.lead(partition.leader_id, 3)
    assert len(partition.log.leader_epochs.entries) == 2


def test_read_gives_whole_batches_or_none_to_begin_with() -> None:
    """Part of a first batch is left out, unless at least one must come; part of a later one is not."""
    node = Node()
    partition = partition_of(node)
    size = node.append("t", b"x").size
    node.append("t", b"y")
    lengths = [partition.read(0, limit, 2, at_least_one=False).length for limit in (0, size - 1, size, size + 1)]
    assert lengths == [0, 0, size, size + 1]
    assert partition.read(0, 1, 2, at_least_one=True).length == size
    with pytest.raises(OffsetOutOfRange):
        partition.read(3, 1, 2, at_least_one=True)


def test_damage_that_a_reader_meets_is_named_in_the_log_once() -> None:
    """However often it is asked for; the reader is refused each time."""
    stream = io.StringIO()
    configure_logging(stream=stream, as_json=True)
    try:
        node = Node()
        partition = partition_of(node, internal_segment_bytes="300")
        for _ in range(6):
            node.append("t", bytes(100))
        path = partition.log.segments.first.path(".log")
        node.files.write_bytes(path, b"\xff" * node.files.size(path))
        for _ in range(3):
            with pytest.raises(CorruptRecord):
                partition.read(0, 1000, 6, at_least_one=True)
        [line] = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert (line["level"], line["topic"], line["partition"]) == ("error", "t", 0)
        assert path in line["damage"]
    finally:
        configure_logging()
