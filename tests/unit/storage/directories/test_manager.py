"""All logs of a node, over starts and stops."""

import errno
from collections.abc import Mapping
from uuid import UUID

import pytest

from odradek.config.topic import TopicConfig
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.directories.clean_shutdown import was_clean_shutdown
from odradek.storage.directories.loading import LoadReport
from odradek.storage.directories.manager import LogManager, LogManagerSettings
from odradek.storage.errors import StorageError
from odradek.storage.names import TopicPartition
from tests.support.log_directories import open_log_directories
from tests.support.logs import NOW_MS, TOPIC_ID, append_values, check_log, read_all, small_config
from tests.support.memory_files import MemoryFiles

CONFIG = small_config()
OTHER_ID = UUID(int=5 << 64)
ZERO, ONE, TWO = (TopicPartition("spool", number) for number in range(3))
DELAY_MS = 60_000


def start(
    fs: MemoryFiles,
    topics: Mapping[str, UUID] | None = None,
    paths: tuple[str, ...] = ("/a",),
    metadata_path: str | None = None,
) -> tuple[LogManager, LoadReport]:
    """Start a node that knows these topics by their ids."""
    known = {"spool": TOPIC_ID} if topics is None else topics
    numbers = iter(range(1, 100))
    directories = open_log_directories(
        fs, paths, 1, lambda: UUID(int=(1 << 100) + next(numbers)), metadata_path=metadata_path
    )

    def wanted(partition: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        topic_id = known.get(partition.topic)
        return None if topic_id is None else (topic_id, CONFIG)

    manager = LogManager(fs, directories, lambda: NOW_MS, LogManagerSettings(recovery_threads=2))
    return manager, manager.load_all(wanted)


def filled(fs: MemoryFiles, paths: tuple[str, ...] = ("/a",), partitions: int = 3) -> LogManager:
    """Start a node and give it partitions; the n-th one has n records."""
    manager, _ = start(fs, paths=paths)
    for number in range(partitions):
        log = manager.get_or_create(TopicPartition("spool", number), TOPIC_ID, CONFIG)
        for _ in range(number):
            append_values(log, [b"x"])
    return manager


def test_logs_are_there_again_after_a_clean_stop() -> None:
    """No log is recovered, and the marker is gone while the node runs.

    The recovery points that are written down lie in the last segment, not at its end: the next one may begin there, and
    its predecessor's indexes are not on disk for sure.
    """
    fs = MemoryFiles()
    manager = filled(fs)
    assert manager.close() == []
    assert was_clean_shutdown(fs, "/a")
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint") == {ZERO: 0, ONE: 0, TWO: 1}
    manager, report = start(fs)
    assert (report.loaded, report.recovered, report.findings, report.strays) == (3, 0, [], {})
    assert report.intact == {ZERO, ONE, TWO}
    assert not was_clean_shutdown(fs, "/a")
    for partition, count in ((ZERO, 0), (ONE, 1), (TWO, 2)):
        log = manager.get(partition)
        assert log is not None
        assert log.log_end_offset == log.recovery_point == count
        check_log(log)


def test_logs_are_recovered_after_a_kill() -> None:
    """Without the marker every log is checked, and all that reached the page cache is there."""
    fs = MemoryFiles()
    filled(fs)
    survivor = fs.crash(kept=1.0)
    manager, report = start(survivor)
    assert (report.loaded, report.recovered, report.findings) == (3, 3, [])
    assert report.intact == set(), "nobody knows what did not reach the disk"
    assert [log.log_end_offset for log in sorted(manager, key=lambda log: log.partition)] == [0, 1, 2]


def test_partitions_go_to_the_directory_with_the_fewest() -> None:
    """Kafka's rule; what is there already counts, and a directory for metadata only takes none."""
    fs = MemoryFiles()
    manager = filled(fs, ("/a", "/b"), partitions=3)
    assert [log.directory for log in manager] == ["/a/spool-0", "/b/spool-1", "/a/spool-2"]
    manager.close()
    manager, _ = start(fs, paths=("/a", "/b", "/c"), metadata_path="/m")
    made = [manager.get_or_create(TopicPartition("spool", n), TOPIC_ID, CONFIG).directory for n in range(3, 6)]
    assert made == ["/c/spool-3", "/b/spool-4", "/c/spool-5"]
    assert [len(manager.logs_in(directory)) for directory in manager.directories] == [2, 2, 2, 0]


def test_the_directory_of_an_open_log_is_known_by_its_id() -> None:
    """That of its meta.properties; not for another topic of the same name, nor for what is not open."""
    fs = MemoryFiles()
    manager = filled(fs, ("/a", "/b"), 2)
    ids = [directory.meta.directory_id for directory in manager.directories if directory.meta is not None]
    assert [manager.directory_id(one, TOPIC_ID) for one in (ZERO, ONE)] == ids
    assert len(set(ids)) == 2
    assert manager.directory_id(ZERO, OTHER_ID) is None
    assert manager.directory_id(TWO, TOPIC_ID) is None


def test_each_directory_has_its_own_checkpoints_and_marker() -> None:
    """What is said of a partition stands beside it."""
    fs = MemoryFiles()
    filled(fs, ("/a", "/b")).close()
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint") == {ZERO: 0, TWO: 1}
    assert read_offset_checkpoint(fs, "/b/recovery-point-offset-checkpoint") == {ONE: 0}
    assert was_clean_shutdown(fs, "/a")
    assert was_clean_shutdown(fs, "/b")


def test_checkpoints_are_written_only_when_they_would_say_something_new() -> None:
    """An idle node does not write."""
    fs = MemoryFiles()
    manager = filled(fs)
    for log in manager:
        log.flush()
    write = manager.checkpoints.recovery_points()
    assert write is not None
    write()
    assert manager.checkpoints.recovery_points() is None
    two = manager.get(TWO)
    assert two is not None
    append_values(two, [b"x"])
    two.flush()
    assert manager.checkpoints.recovery_points() is not None
    high = manager.checkpoints.high_watermarks({ONE: 1, TWO: 2})
    assert high is not None
    high()
    assert manager.checkpoints.high_watermarks({ONE: 1, TWO: 2}) is None
    _, report = start(fs.crash(kept=1.0))
    assert report.findings == []


@pytest.mark.parametrize("is_second_run", [False, True], ids=["written-in-this-run", "written-in-the-run-before"])
def test_the_high_watermark_of_a_deleted_partition_is_not_its_successors(is_second_run: bool) -> None:
    """After a crash nobody takes records of the new one for committed because as many of the old one were."""
    fs = MemoryFiles()
    manager = filled(fs)
    write = manager.checkpoints.high_watermarks({ONE: 1, TWO: 2})
    assert write is not None
    write()
    if is_second_run:
        manager.close()
        manager, _ = start(fs)
    manager.delete(TWO)
    append_values(manager.get_or_create(TWO, OTHER_ID, CONFIG), [b"y", b"z"])
    manager, _ = start(fs.crash(kept=1.0), {"spool": OTHER_ID})
    assert manager.high_watermarks.get(TWO) is None
    assert manager.high_watermarks[ONE] == 1


def test_high_watermarks_of_the_last_run_are_known() -> None:
    """They are what the checkpoint said, for the broker to begin with."""
    fs = MemoryFiles()
    manager = filled(fs)
    write = manager.checkpoints.high_watermarks({ONE: 1, TWO: 1})
    assert write is not None
    write()
    manager, _ = start(fs.crash(kept=1.0))
    assert manager.checkpoints.high_watermarks_found == {ONE: 1, TWO: 1}


def test_start_of_a_log_is_remembered() -> None:
    """DeleteRecords within a segment leaves no trace in the files: the checkpoint has it, after both kinds of stop."""
    fs = MemoryFiles()
    manager = filled(fs)
    two = manager.get(TWO)
    assert two is not None
    two.delete_records_before(1)
    write = manager.checkpoints.log_starts()
    assert write is not None
    write()
    assert read_offset_checkpoint(fs, "/a/log-start-offset-checkpoint") == {TWO: 1}
    manager, _ = start(fs.crash(kept=1.0))
    two = manager.get(TWO)
    assert two is not None
    assert two.log_start_offset == 1
    manager.close()
    manager, _ = start(fs.crash(kept=1.0))


def test_deleted_partition_is_renamed_at_once_and_removed_later() -> None:
    """The directory gets Kafka's -delete name, and goes after its delay."""
    fs = MemoryFiles()
    manager = filled(fs)
    manager.delete(TWO)
    assert manager.get(TWO) is None
    marked = [name for name in fs.listdir("/a") if name.endswith("-delete")]
    assert len(marked) == 1
    assert marked[0].startswith("spool-2.")
    assert manager.due_deletions(NOW_MS) is None
    remove = manager.due_deletions(NOW_MS + DELAY_MS)
    assert remove is not None
    remove()
    assert not [name for name in fs.listdir("/a") if name.startswith("spool-2")]
    manager.delete(TWO)


def test_deletion_goes_on_after_a_restart() -> None:
    """A -delete directory that is found at start is removed in its turn."""
    fs = MemoryFiles()
    manager = filled(fs)
    manager.delete(TWO)
    manager.close()
    manager, report = start(fs)
    assert report.loaded == 2
    assert manager.due_deletions(NOW_MS) is None
    remove = manager.due_deletions(NOW_MS + DELAY_MS)
    assert remove is not None
    remove()
    assert not [name for name in fs.listdir("/a") if name.startswith("spool-2")]


def test_partition_made_again_starts_empty_whatever_checkpoints_say() -> None:
    """Offsets of a deleted partition must not be taken for those of a new one of the same name, nor after a crash."""
    fs = MemoryFiles()
    manager = filled(fs)
    two = manager.get(TWO)
    assert two is not None
    two.delete_records_before(2)
    for write in (manager.checkpoints.log_starts(), manager.checkpoints.recovery_points()):
        assert write is not None
        write()
    manager.delete(TWO)
    again = manager.get_or_create(TWO, OTHER_ID, CONFIG)
    assert (again.log_start_offset, again.log_end_offset, again.topic_id) == (0, 0, OTHER_ID)
    append_values(again, [b"new"])
    manager, _ = start(fs.crash(kept=1.0), {"spool": OTHER_ID})
    found = manager.get(TWO)
    assert found is not None
    assert read_all(found) == [(0, b"new")]


def test_data_of_an_unknown_topic_is_set_aside_not_removed() -> None:
    """A partition that belongs to no topic gets Kafka's -stray name; its files stay."""
    fs = MemoryFiles()
    manager = filled(fs)
    stray = TopicPartition("unknown", 0)
    append_values(manager.get_or_create(stray, OTHER_ID, CONFIG), [b"data"])
    manager.close()
    manager, report = start(fs)
    assert report.loaded == 3
    (path,) = report.strays.values()
    assert path.startswith("/a/unknown-0.")
    assert path.endswith("-stray")
    assert len(fs.read_bytes(f"{path}/{0:020d}.log")) > 60
    assert manager.close() == []
    assert was_clean_shutdown(fs, "/a")


def test_nothing_is_set_aside_where_no_topic_is_known_at_all() -> None:
    """Metadata that knows none of the partitions is more likely wrong than all of them."""
    fs = MemoryFiles()
    filled(fs).close()
    manager, report = start(fs, {})
    assert (report.loaded, len(report.strays)) == (0, 3)
    manager.close()
    manager, report = start(fs)
    assert (report.loaded, report.recovered) == (3, 0)


def test_data_of_a_former_topic_of_the_same_name_is_set_aside() -> None:
    """Another id means another topic: the old data is kept under another name, the new topic starts empty."""
    fs = MemoryFiles()
    filled(fs).close()
    manager, report = start(fs, {"spool": OTHER_ID})
    assert report.loaded == 0
    assert len(report.strays) == 3
    log = manager.get_or_create(TWO, OTHER_ID, CONFIG)
    assert log.log_end_offset == 0
    assert [name for name in fs.listdir("/a") if name.startswith("spool-2.") and name.endswith("-stray")]


def test_partition_found_on_disk_is_opened_when_it_is_asked_for() -> None:
    """A topic that became known only after the start has its data."""
    fs = MemoryFiles()
    filled(fs).close()
    manager, _ = start(fs, {})
    log = manager.get_or_create(TWO, TOPIC_ID, CONFIG)
    assert log.log_end_offset == 2
    assert log.recovery_point == 2


def test_partition_that_cannot_be_opened_is_offline_alone() -> None:
    """The others are served; asking for it says why, and its directory does not count as clean at the end."""
    fs = MemoryFiles()
    filled(fs)
    survivor = fs.crash(kept=1.0)
    survivor.fail("read", errno.EIO, "spool-1", times=1 << 30)
    survivor.fail("write", errno.EIO, "spool-1", times=1 << 30)
    manager, report = start(survivor)
    assert report.loaded == 2
    assert list(report.offline) == [ONE]
    with pytest.raises(StorageError, match="Cannot open spool-1 in /a/spool-1"):
        manager.get_or_create(ONE, TOPIC_ID, CONFIG)
    manager.close()
    assert not was_clean_shutdown(survivor, "/a")


def test_partition_that_could_not_be_opened_is_tried_again_when_asked_for() -> None:
    """An error of the disk may pass: no restart is needed then."""
    fs = MemoryFiles()
    filled(fs)
    survivor = fs.crash(kept=1.0)
    survivor.fail("read", errno.EIO, "spool-2")
    manager, report = start(survivor)
    assert list(report.offline) == [TWO]
    log = manager.get_or_create(TWO, TOPIC_ID, CONFIG)
    assert log.log_end_offset == 2
    assert manager.close() == []
    assert was_clean_shutdown(survivor, "/a")


def test_log_that_cannot_be_closed_leaves_its_directory_unclean() -> None:
    """A flush that fails at the end is reported, and the next start recovers; other directories are clean."""
    fs = MemoryFiles()
    manager = filled(fs, ("/a", "/b"))
    fs.fail("sync", errno.EIO, "spool-1")
    problems = manager.close()
    assert len(problems) == 1
    assert "Cannot flush spool-1" in problems[0]
    assert was_clean_shutdown(fs, "/a")
    assert not was_clean_shutdown(fs, "/b")
    manager, report = start(fs, paths=("/a", "/b"))
    assert (report.loaded, report.recovered) == (3, 1)
    assert report.intact == {ZERO, TWO}


def test_damaged_checkpoint_counts_as_empty_and_is_said() -> None:
    """Without recovery points everything is checked, that is all."""
    fs = MemoryFiles()
    filled(fs)
    survivor = fs.crash(kept=1.0)
    survivor.write_bytes("/a/recovery-point-offset-checkpoint", b"0\n7\nnonsense\n")
    manager, report = start(survivor)
    assert report.loaded == 3
    assert len(report.findings) == 1
    assert "taken as empty" in report.findings[0]
    assert manager.close() == []


def test_new_partition_on_a_full_disk_is_an_error_and_later_works() -> None:
    """There is no room for the files of a new log: nothing is served, and with space it is made."""
    fs = MemoryFiles()
    manager, _ = start(fs)
    fs.capacity = fs.used
    with pytest.raises(StorageError, match="Cannot open spool-0"):
        manager.get_or_create(ZERO, TOPIC_ID, CONFIG)
    fs.capacity = 1 << 30
    log = manager.get_or_create(ZERO, TOPIC_ID, CONFIG)
    append_values(log, [b"x"])
    manager.close()
    manager, report = start(fs)
    assert report.findings == []
    assert report.loaded == 1


def test_truncation_is_known_to_the_next_start_before_anything_new_is_written() -> None:
    """The recovery point goes back with the log, on disk too."""
    fs = MemoryFiles()
    manager = filled(fs)
    two = manager.get(TWO)
    assert two is not None
    two.flush()
    two.roll(NOW_MS)
    two.flush()
    write = manager.checkpoints.recovery_points()
    assert write is not None
    write()
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint")[TWO] == 2
    manager.truncate_to(TWO, 1)
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint")[TWO] == 0
    manager.truncate_fully(TWO, 40)
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint")[TWO] == 40


def test_space_of_a_directory_is_known() -> None:
    """For DescribeLogDirs: size and free space of the file system."""
    fs = MemoryFiles()
    manager = filled(fs)
    fs.capacity = 1 << 20
    space = manager.disk_space(manager.directories[0])
    assert space.total == 1 << 20
    assert space.usable == (1 << 20) - fs.used
