"""Group commit: flushes on threads, one at a time for each log."""

import asyncio

import pytest

from odradek.broker.partitions import flusher
from odradek.broker.partitions.flusher import IN_BACKGROUND, RETRY_S, BackgroundFlusher
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import ErrorCode
from odradek.storage.errors import StorageError
from tests.support.log_lines import LogLines
from tests.support.logs import NOW_MS
from tests.support.manual_loop import HandThreads
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.produce_support import HEAD, VERSION, batch, produce_handler, request, result


class Disk:
    """A node whose partitions are flushed by the flusher of the running broker, on threads that a test works."""

    def __init__(self, partitions: int = 2) -> None:
        self.node = Node()
        self.threads = HandThreads(self.node.loop)
        self.background_threads = HandThreads(self.node.loop)
        self.flusher = BackgroundFlusher(self.node.loop, self.threads, self.background_threads, self.node.clock)
        self.node.create("t", partitions)

    def partition(self, index: int = 0, flush_messages: str = "1") -> Partition:
        """Return a partition that is flushed for every message, or every so many."""
        log = self.node.table.get("t", index).log
        log.update_config(self.node.topic_config({"flush.messages": flush_messages}))
        return Partition(log, 1, 0, self.flusher)

    def sync(self) -> None:
        """Let the threads do their work, and the loop hear of it."""
        self.threads.run()
        self.node.loop.settle()


def test_flush_moves_recovery_point_and_high_watermark() -> None:
    """Once the thread is done, on the loop."""
    disk = Disk()
    partition = disk.partition()
    partition.append(batch(), NOW_MS)
    assert (len(disk.threads), partition.high_watermark) == (1, 0)
    disk.threads.run()
    assert partition.high_watermark == 0
    disk.node.loop.settle()
    assert (partition.high_watermark, partition.log.recovery_point) == (1, 1)
    assert partition.last_flush_ms == disk.node.clock.now_ms()


def test_appends_during_a_flush_share_the_next_one() -> None:
    """However many they are; then it is quiet."""
    disk = Disk()
    partition = disk.partition()
    for _ in range(20):
        partition.append(batch(), NOW_MS)
    assert len(disk.threads) == 1
    disk.sync()
    assert (partition.high_watermark, len(disk.threads)) == (1, 1)
    disk.sync()
    assert (partition.high_watermark, len(disk.threads)) == (20, 0)


def test_partitions_are_flushed_side_by_side() -> None:
    """One slow file does not hold up the others."""
    disk = Disk()
    for index in range(2):
        disk.partition(index).append(batch(), NOW_MS)
    assert len(disk.threads) == 2


def test_a_producer_does_not_wait_for_logs_that_are_flushed_in_the_background() -> None:
    """Not for their turn on a thread, and not even where its own partition is in their row."""
    disk = Disk(partitions=6)
    dirty = [disk.partition(index, flush_messages="100") for index in range(5)]
    for partition in dirty:
        partition.append(batch(), NOW_MS)
        disk.flusher.request_in_background(partition)
    assert (len(disk.background_threads), len(disk.threads)) == (IN_BACKGROUND, 0)
    waiting = [disk.partition(5), dirty[4]]
    waiting[0].append(batch(), NOW_MS)
    disk.flusher.request(waiting[1])
    assert (len(disk.background_threads), len(disk.threads)) == (IN_BACKGROUND, 2)
    disk.sync()
    assert [partition.log.recovery_point for partition in waiting] == [1, 1]
    assert [partition.log.recovery_point for partition in dirty] == [0, 0, 0, 0, 1]


def test_many_dirty_logs_are_flushed_a_few_at_a_time() -> None:
    """All of them, in order; what is deleted meanwhile is passed over, and a stop waits for no more than what runs."""
    disk = Disk(partitions=6)
    dirty = [disk.partition(index, flush_messages="100") for index in range(6)]
    for partition in dirty:
        partition.append(batch(), NOW_MS)
        disk.flusher.request_in_background(partition)
    dirty[2].retired()
    done = []
    while disk.background_threads:
        done.append(len(disk.background_threads))
        disk.background_threads.run()
        disk.node.loop.settle()
    assert done == [IN_BACKGROUND, IN_BACKGROUND, 1]
    assert [partition.log.recovery_point for partition in dirty] == [1, 1, 0, 1, 1, 1]


def test_who_waits_for_the_disk_is_told_when_all_is_there() -> None:
    """Also of what was appended while a flush ran, and at once where there is nothing to wait for."""
    disk = Disk()
    partition = disk.partition(flush_messages="100")
    told: list[ErrorCode] = []
    assert not partition.when_on_disk(told.append)
    partition.append(batch(), NOW_MS)
    disk.flusher.request_in_background(partition)
    partition.append(batch(), NOW_MS)
    assert partition.when_on_disk(told.append)
    for ready in ([], [ErrorCode.NONE]):
        disk.background_threads.run()
        disk.node.loop.settle()
        assert told == ready
    partition.append(batch(), NOW_MS)
    partition.when_on_disk(told.append)
    partition.retired()
    assert told == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_flush_of_nothing_is_none() -> None:
    """What is on the disk already keeps no thread busy."""
    disk = Disk()
    partition = disk.partition()
    partition.append(batch(), NOW_MS)
    disk.sync()
    disk.flusher.request(partition)
    assert len(disk.threads) == 0


def in_doubt(disk: Disk, failures: int = 1) -> tuple[Partition, list[ErrorCode]]:
    """Let the fsync of a partition fail, and return it with what was told to who waited for it."""
    partition = disk.partition()
    told: list[ErrorCode] = []
    partition.append(batch(), NOW_MS)
    partition.when_committed(1, told.append)
    disk.node.files.fail("sync", path_part="/t-0/", times=failures)
    disk.sync()
    return partition, told


def test_failed_fsync_is_told_and_stops_appends_until_one_ends_well() -> None:
    """Who waited is told; nothing is taken before the disk has what it refused, which is tried again by itself."""
    disk = Disk()
    partition, told = in_doubt(disk, failures=2)
    assert (told, partition.high_watermark) == ([ErrorCode.KAFKA_STORAGE_ERROR], 0)
    for _ in range(2):
        with pytest.raises(StorageError, match="Cannot append to t-0"):
            partition.append(batch(), NOW_MS)
        disk.flusher.request(partition)
        assert len(disk.threads) == 0  # its time will come
        disk.node.loop.advance(RETRY_S)
        disk.sync()
    assert partition.high_watermark == 1
    partition.append(batch(), NOW_MS)
    disk.sync()
    assert partition.high_watermark == 2
    assert disk.node.loop.timers == 0


def test_failing_disk_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With where and what to do; and once again when it is over."""
    logged = LogLines()
    monkeypatch.setattr(flusher, "log", logged)
    disk = Disk()
    in_doubt(disk, failures=4)
    for _ in range(5):
        disk.node.loop.advance(RETRY_S)
        disk.sync()
    refused, taken = logged.lines
    assert (refused.level, refused.fields["path"]) == ("error", "/data/t-0")
    assert "takes no records" in refused.event
    assert (taken.level, taken.fields["topic"]) == ("info", "t")


def test_partition_that_is_deleted_is_not_tried_again() -> None:
    """Its files may be another partition's by then."""
    disk = Disk()
    partition, _ = in_doubt(disk)
    partition.retired()
    disk.node.loop.advance(RETRY_S)
    assert (len(disk.threads), disk.node.loop.timers) == (0, 0)


def test_retry_that_cannot_begin_or_is_overtaken_by_a_truncation_is_followed_by_another() -> None:
    """As long as nothing is proven the partition takes nothing."""
    disk = Disk()
    partition, _ = in_doubt(disk)
    disk.node.files.fail("create", path_part="leader-epoch-checkpoint")
    disk.node.loop.advance(RETRY_S)
    disk.sync()
    disk.node.loop.advance(RETRY_S)
    partition.log.truncate_to(0, NOW_MS)
    disk.sync()
    assert partition.log.local.sync_problem
    disk.node.loop.advance(RETRY_S)
    disk.sync()
    assert not partition.log.local.sync_problem


def test_flush_that_cannot_even_begin_is_told_to_the_one_who_asked() -> None:
    """The producer whose append asked for it waits by then, and must not wait for its time-out."""
    disk = Disk()
    disk.node.configure("t", flush_messages="1")
    partition = disk.node.table.get("t", 0)
    partition.lead(partition.leader_id, 1)  # its file is written before the flush
    disk.node.files.fail("create", path_part="leader-epoch-checkpoint")
    disk.node.flusher.request = disk.flusher.request  # type: ignore[method-assign]  # its partitions have it already
    handler = produce_handler(disk.node)
    reply = Reply(handler(context(VERSION), request(("t", 0, batch())), HEAD))
    disk.node.loop.settle()
    assert result(reply).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_partition_that_is_deleted_while_it_is_flushed_stays_quiet() -> None:
    """The end of the flush finds nobody, and asks for no other."""
    disk = Disk()
    partition = disk.partition()
    partition.append(batch(), NOW_MS)
    partition.append(batch(), NOW_MS)
    partition.retired()
    disk.sync()
    assert len(disk.threads) == 0


def test_log_that_was_in_doubt_before_a_restart_is_flushed_at_once() -> None:
    """Nobody else would ask for it, and it takes nothing before."""
    disk = Disk()
    log = disk.partition().log
    log.local.sync_failed(OSError("refused"))
    partition = Partition(log, 1, 0, disk.flusher)
    with pytest.raises(StorageError):
        partition.append(batch(), NOW_MS)
    disk.sync()
    partition.append(batch(), NOW_MS)


async def test_flush_that_fails_at_the_start_is_tried_again() -> None:
    """The broker waits for the flushes of its start, and its flusher goes on afterwards."""
    disk = Disk()
    await disk.flusher.settle()
    partition, _ = in_doubt(disk)
    disk.node.loop.advance(RETRY_S)
    disk.sync()
    assert partition.high_watermark == 1


@pytest.mark.parametrize("fails", [False, True])
async def test_stop_waits_for_what_runs_and_what_follows_from_it(fails: bool) -> None:
    """All that was appended is on the disk, or known not to be, when it returns."""
    node = Node()
    node.create("t")
    log = node.table.get("t", 0).log
    log.update_config(node.topic_config({"flush.messages": "1"}))
    loop = asyncio.get_running_loop()
    threads = DiskThreads(loop, "test", 1)
    background = BackgroundFlusher(loop, threads, threads, node.clock)
    partition = Partition(log, 1, 0, background)
    if fails:
        node.files.fail("sync", path_part=".log", times=10)
    for _ in range(3):
        partition.append(batch(), NOW_MS)
    await asyncio.wait_for(background.stop(), 10)
    threads.stop()
    assert partition.high_watermark == (0 if fails else 3)
