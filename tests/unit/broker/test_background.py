"""The broker's periodic work: flushes, checkpoints, expired producers, files whose time has come."""

import pytest

from odradek.broker.background import DELETIONS_INTERVAL_MS, OFFLINE_INTERVAL_MS, BackgroundJobs
from odradek.broker.runtime.scheduler import Scheduler
from odradek.config.loading import load_settings
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.names import HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, TopicPartition
from tests.support.manual_loop import HandExecutor
from tests.support.partitions import DATA, Node

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
FLUSHED, HIGH, STARTS, EXPIRED = 7, 11, 13, 17
"""Seconds between two runs of the jobs; no two of them fall on the same second for long."""


class Jobs:
    """A node with a topic `t` of two partitions, and the background jobs of a broker."""

    def __init__(self, *overrides: str) -> None:
        self.node = Node()
        self.node.create("t", 2)
        self.threads = HandExecutor()
        settings = load_settings(
            None,
            [
                f"log.flush.offset.checkpoint.interval.ms={FLUSHED * 1000}",
                f"replica.high.watermark.checkpoint.interval.ms={HIGH * 1000}",
                f"log.flush.start.offset.checkpoint.interval.ms={STARTS * 1000}",
                f"producer.id.expiration.check.interval.ms={EXPIRED * 1000}",
                *overrides,
            ],
        )
        node = self.node
        self.periodic = Scheduler(node.loop, self.threads)
        BackgroundJobs(settings, node.logs, node.table, node.flusher, node.clock).schedule(self.periodic)

    def pass_time(self, seconds: int) -> None:
        """Let time pass second by second; threads and flushes are quick."""
        for _ in range(seconds):
            self.node.pass_time(1)
            self.threads.run()
            self.node.flusher.finish()
            self.node.loop.settle()

    def checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Return what a checkpoint file says."""
        return read_offset_checkpoint(self.node.files, f"{DATA}/{name}")


def test_what_was_appended_is_flushed_by_and_by() -> None:
    """Not for an acknowledgement, but so that a crash leaves little to check."""
    jobs = Jobs()
    jobs.node.append("t", b"x")
    jobs.pass_time(FLUSHED - 1)
    assert jobs.node.flusher.begun == 0
    jobs.pass_time(1)
    assert jobs.node.flusher.begun == 1
    assert jobs.node.table.get("t", 0).log.recovery_point == 1
    jobs.pass_time(3 * FLUSHED)
    assert jobs.node.flusher.begun == 1


def test_recovery_points_are_written_down() -> None:
    """With the run after the flush, they lie within the last segment that has data."""
    jobs = Jobs()
    jobs.node.append("t", b"x", b"y", partition=1)
    jobs.pass_time(2 * FLUSHED)
    assert jobs.checkpoint(RECOVERY_POINT_FILE) == {ZERO: 0, ONE: 1}


def test_high_watermarks_are_written_down() -> None:
    """Of all partitions that are open; nothing is written where nothing has changed."""
    jobs = Jobs()
    jobs.node.append("t", b"x")
    jobs.pass_time(HIGH)
    assert jobs.checkpoint(HIGH_WATERMARK_FILE) == {ZERO: 1, ONE: 0}
    jobs.pass_time(2 * HIGH)
    before = jobs.node.files.operations
    jobs.pass_time(HIGH)
    assert jobs.node.files.operations == before


def test_log_starts_are_written_down() -> None:
    """Where the files do not say it: records are deleted within a segment."""
    jobs = Jobs()
    jobs.node.append("t", b"x", b"y")
    jobs.node.table.get("t", 0).delete_records_before(1)
    jobs.pass_time(STARTS)
    assert jobs.checkpoint(LOG_START_FILE) == {ZERO: 1}


def test_idle_producers_are_forgotten() -> None:
    """After producer.id.expiration.ms, at the next check."""
    jobs = Jobs()
    log = jobs.node.table.get("t", 0).log
    log.producer_expiration_ms = 1000 * EXPIRED
    jobs.node.begin_transaction("t", 7, b"x")
    jobs.node.end_transaction("t", 7, committed=True)
    assert 7 in log.producers.entries
    jobs.pass_time(EXPIRED - 1)
    assert 7 in log.producers.entries
    jobs.pass_time(EXPIRED)
    assert log.producers.entries == {}


def test_files_of_deleted_topics_are_removed_in_their_time() -> None:
    """On a thread; until then they are set aside."""
    jobs = Jobs()
    jobs.node.delete("t")
    interval_s = DELETIONS_INTERVAL_MS // 1000
    jobs.pass_time(60)
    assert len(jobs.node.logs.deletions) == 2
    jobs.pass_time(2 * interval_s)
    assert [entry.name for entry in jobs.node.files.scan(DATA) if entry.is_directory] == []


def test_offline_partitions_are_tried_again() -> None:
    """A disk that was full is used again without a restart."""
    jobs = Jobs()
    jobs.node.files.fail("mkdir", path_part="/u-0")
    jobs.node.create("u")
    jobs.pass_time(OFFLINE_INTERVAL_MS // 1000)
    assert jobs.node.append("u", b"x").first_offset == 0


@pytest.mark.parametrize(("override", "begun"), [((), 0), (("log.flush.scheduler.interval.ms=1000",), 1)])
def test_flush_by_time_is_for_those_who_schedule_it(override: tuple[str, ...], begun: int) -> None:
    """flush.ms counts only where log.flush.scheduler.interval.ms says how often to look; by default it does not."""
    jobs = Jobs(*override)
    jobs.node.configure("t", flush_ms="2000")
    partition = jobs.node.table.get("t", 0)
    partition.last_flush_ms = jobs.node.clock.now_ms()
    jobs.node.append("t", b"x")
    jobs.pass_time(1)
    assert jobs.node.flusher.begun == 0
    jobs.pass_time(1)
    assert jobs.node.flusher.begun == begun


def test_checkpoint_that_fails_is_written_the_next_time() -> None:
    """And keeps no other job from running."""
    jobs = Jobs()
    jobs.node.append("t", b"x")
    jobs.node.files.fail("create", path_part=HIGH_WATERMARK_FILE)
    jobs.pass_time(HIGH)
    assert not jobs.node.files.exists(f"{DATA}/{HIGH_WATERMARK_FILE}")
    assert jobs.node.table.get("t", 0).log.recovery_point == 1
    jobs.pass_time(HIGH)
    assert jobs.checkpoint(HIGH_WATERMARK_FILE) == {ZERO: 1, ONE: 0}


async def test_nothing_runs_after_the_stop() -> None:
    """What the end of the broker writes must be the last word."""
    jobs = Jobs()
    await jobs.periodic.stop()
    jobs.node.append("t", b"x")
    jobs.pass_time(100)
    assert (jobs.node.flusher.begun, len(jobs.threads)) == (0, 0)
    assert not jobs.node.files.exists(f"{DATA}/{HIGH_WATERMARK_FILE}")
