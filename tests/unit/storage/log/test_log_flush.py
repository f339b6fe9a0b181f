"""Flushing: what is promised to be on disk, and in which three steps it gets there."""

import errno

import pytest

from odradek.config.topic import TopicConfig
from odradek.storage.errors import StorageError
from odradek.storage.log.flush_all import flush_all
from odradek.storage.log.log import Log
from tests.support.logs import DIRECTORY, NOW_MS, append_values, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles


def test_new_log_is_on_disk_after_its_first_flush(fs: MemoryFiles, log: Log) -> None:
    """Not only the data: the names of files and directory, and the topic id, too."""
    append_values(log, [b"a"])
    log.flush()
    assert log.prepare_flush() is None
    fs.sync_dir("/data")
    fs.sync_dir("/")
    survivor = fs.crash(kept=0.0)
    log = open_at(survivor)
    assert read_all(log) == [(0, b"a")]
    assert b"topic_id: " in survivor.read_bytes(f"{DIRECTORY}/partition.metadata")


def test_plan_covers_what_was_appended_when_it_was_made(log: Log) -> None:
    """Appends that come while a plan runs wait for the next one."""
    append_values(log, [b"a"])
    plan = log.prepare_flush()
    assert plan is not None
    append_values(log, [b"b"])
    assert log.recovery_point == 0
    plan.run()
    assert log.recovery_point == 0
    log.local.complete_flush(plan)
    assert (log.recovery_point, log.log_end_offset) == (1, 2)
    second = log.prepare_flush()
    assert second is not None
    assert second.offset == 2


def test_flushed_log_needs_no_plan(log: Log) -> None:
    """Where everything is on disk, there is nothing to do."""
    append_values(log, [b"a"])
    log.flush()
    assert log.prepare_flush() is None
    append_values(log, [b"b"])
    assert log.prepare_flush() is not None


def test_flush_of_the_active_segment_is_one_sync_of_one_file(fs: MemoryFiles) -> None:
    """An acknowledgement that waits for the disk waits for the data file only, not for indexes."""
    log = open_at(fs, small_config(index_interval_bytes=0))
    append_values(log, [b"a"])
    log.flush()
    append_values(log, [b"b"])
    plan = log.prepare_flush()
    assert plan is not None
    assert [file.path for file in plan.files] == [f"{DIRECTORY}/{0:020d}.log"]
    assert not plan.paths
    assert not plan.directories


def test_sealed_segment_is_synced_with_its_indexes_and_the_snapshot(fs: MemoryFiles) -> None:
    """After a roll the whole old segment, the snapshot and the new names are part of the plan."""
    log = open_at(fs, small_config(index_interval_bytes=0))
    append_values(log, [b"a"])
    log.flush()
    append_values(log, [b"b"])
    log.roll(NOW_MS)
    append_values(log, [b"c"])
    plan = log.prepare_flush()
    assert plan is not None
    names = sorted(file.path.rpartition("/")[2] for file in plan.files)
    assert names == [f"{0:020d}.index", f"{0:020d}.log", f"{0:020d}.timeindex", f"{2:020d}.log"]
    assert plan.paths == {f"{DIRECTORY}/{2:020d}.snapshot"}
    assert plan.directories == {DIRECTORY}


def test_plan_that_was_overtaken_by_a_truncation_proves_nothing(log: Log) -> None:
    """The records it covered may be others by now."""
    append_values(log, [b"a"])
    append_values(log, [b"b"])
    plan = log.prepare_flush()
    assert plan is not None
    plan.run()
    log.truncate_to(1, NOW_MS)
    append_values(log, [b"other"])
    log.local.complete_flush(plan)
    assert log.recovery_point == 0
    assert log.prepare_flush() is not None


def test_segment_that_grew_and_was_sealed_meanwhile_is_synced_again(fs: MemoryFiles) -> None:
    """A plan made while a segment was active does not count for what came later, nor for its indexes."""
    log = open_at(fs, small_config(index_interval_bytes=0))
    append_values(log, [b"a"])
    plan = log.prepare_flush()
    assert plan is not None
    append_values(log, [b"b"])
    log.roll(NOW_MS)
    plan.run()
    log.local.complete_flush(plan)
    assert log.recovery_point == 1
    again = log.prepare_flush()
    assert again is not None
    names = {file.path.rpartition(".")[2] for file in again.files}
    assert names == {"log", "index", "timeindex"}


def checkpointed_after(steps: str) -> tuple[int, Log]:
    """Run steps: a(ppend), f(lush), r(oll); return the recovery point that may be written down."""
    log = open_at(MemoryFiles())
    for step in steps:
        if step == "a":
            append_values(log, [b"a"])
        elif step == "f":
            log.flush()
        else:
            log.roll(NOW_MS)
    return log.local.checkpointed_recovery_point, log


@pytest.mark.parametrize(
    ("steps", "expected"),
    [("", 0), ("a", 0), ("aaf", 1), ("aafa", 2), ("aafr", 1), ("aafra", 1), ("aafrf", 2), ("aafraf", 2), ("aar", 0)],
)
def test_recovery_point_stays_within_a_segment_whose_indexes_are_not_on_disk(steps: str, expected: int) -> None:
    """After a crash, indexes are rebuilt from the segment of the checkpointed point on: none may be left out."""
    assert checkpointed_after(steps)[0] == expected


def in_doubt(steps: str = "a", config: TopicConfig | None = None) -> tuple[MemoryFiles, Log]:
    """Run steps as above, on names that are on the disk, then let a sync fail."""
    fs = MemoryFiles()
    log = open_at(fs, config)
    log.flush()
    fs.sync_dir("/data")
    fs.sync_dir("/")
    for step in steps:
        if step == "a":
            append_values(log, [b"a"])
        else:
            log.roll(NOW_MS)
    fs.fail("sync", errno.EIO)
    with pytest.raises(StorageError, match="Cannot flush spool-0"):
        log.flush()
    return fs, log


def test_failed_sync_moves_nothing_and_stops_appends() -> None:
    """The disk may have lost what it refused, so nothing is put behind it; what is there can be read."""
    _, log = in_doubt()
    assert log.recovery_point == 0
    with pytest.raises(StorageError, match="Cannot append to spool-0 "):
        append_values(log, [b"b"])
    assert (log.log_end_offset, read_all(log)) == (1, [(0, b"a")])


@pytest.mark.parametrize("steps", ["a", "aaaa", "ara", "araraa"])
def test_sync_after_a_failed_one_counts_because_everything_was_written_again(steps: str) -> None:
    """The operating system takes the pages for written: without that, a power cut would take what was promised."""
    fs, log = in_doubt(steps, small_config(index_interval_bytes=0))
    log.flush()
    assert log.recovery_point == log.log_end_offset == steps.count("a")
    append_values(log, [b"b"])
    log.flush()
    assert not log.local.sync_problem
    survivor = fs.crash(kept=0.0)
    again = open_at(survivor, recovery_point=log.local.checkpointed_recovery_point)
    assert read_all(again) == [*((number, b"a") for number in range(steps.count("a"))), (steps.count("a"), b"b")]


def test_as_long_as_syncs_fail_the_log_stays_in_doubt() -> None:
    """A full disk that takes no delayed write is no other case than a broken one."""
    fs, log = in_doubt()
    for error in (errno.ENOSPC, errno.EIO):
        fs.fail("sync", error)
        with pytest.raises(StorageError):
            log.flush()
        assert log.local.sync_problem
    fs.fail("write", errno.ENOSPC)
    with pytest.raises(StorageError):
        log.flush()
    assert log.local.sync_problem
    log.flush()
    append_values(log, [b"b"])


def test_what_is_lost_already_is_not_promised() -> None:
    """Where the pages were given up meanwhile, the checksum tells, and only a restart helps, which cuts it off."""
    fs, log = in_doubt("aa")
    path = f"{DIRECTORY}/{0:020d}.log"
    size = fs.size(path)
    fs.open(path).pwrite(bytes(size // 2), size // 2)
    with pytest.raises(StorageError, match=r"has lost what was written from byte .* restart the broker"):
        log.flush()
    with pytest.raises(StorageError):
        append_values(log, [b"b"])
    again = open_at(fs)
    assert read_all(again) == [(0, b"a")]
    again.flush()
    append_values(again, [b"b"])


def test_small_files_of_a_failed_flush_are_written_again_too() -> None:
    """The snapshot of the producers and the leader epochs are needed as much as the data."""
    fs, log = in_doubt("ar")
    log.leader_epochs.assign(3, 1)
    log.flush()
    survivor = fs.crash(kept=0.0)
    assert survivor.read_bytes(f"{DIRECTORY}/{1:020d}.snapshot")
    assert survivor.read_bytes(f"{DIRECTORY}/leader-epoch-checkpoint").splitlines()[-1] == b"3 1"


def test_truncation_ends_the_doubt_of_what_it_takes_away() -> None:
    """What is left is made sure by the next flush."""
    fs, log = in_doubt("aa")
    log.truncate_to(1, NOW_MS)
    log.flush()
    assert (log.recovery_point, log.local.sync_problem) == (1, "")
    append_values(log, [b"b"])
    log.flush()
    assert read_all(open_at(fs.crash(kept=0.0))) == [(0, b"a"), (1, b"b")]


def test_flush_of_many_logs_tells_the_ones_that_fail(fs: MemoryFiles) -> None:
    """At a stop: the directory of such a log does not count as cleanly shut down."""
    logs = [open_at(fs, directory=f"/data/spool-{number}") for number in range(2)]
    for log in logs:
        append_values(log, [b"a"])
    fs.fail("sync", path_part="/spool-1/")
    assert list(flush_all(fs, logs)) == ["/data/spool-1"]
    assert [bool(log.local.sync_problem) for log in logs] == [False, True]
    assert flush_all(fs, logs) == {}


def test_plan_of_a_deleted_partition_can_still_run(fs: MemoryFiles, log: Log) -> None:
    """Names that are gone are passed over; the data files are open and synced."""
    append_values(log, [b"a"])
    plan = log.prepare_flush()
    assert plan is not None
    fs.rename(DIRECTORY, DIRECTORY + "-gone")
    plan.run()
