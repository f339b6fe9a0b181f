"""Log directories that fail: while the node runs, and before it starts."""

import errno
from uuid import UUID

import pytest

from odradek.storage.directories.clean_shutdown import was_clean_shutdown
from odradek.storage.directories.manager import LogManager
from odradek.storage.errors import DirectoryFailed, StorageError
from odradek.storage.names import TopicPartition
from tests.support.logs import TOPIC_ID, append_values, read_all
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.directories.test_manager import CONFIG, OTHER_ID, filled, start

PATHS = ("/a", "/b")
PARTITIONS = [TopicPartition("spool", number) for number in range(4)]


class Node:
    """A node with two directories, and one record in each of four partitions."""

    def __init__(self) -> None:
        self.fs = MemoryFiles()
        self.manager = filled(self.fs, PATHS, 4)
        self.of = {path: [one for one in PARTITIONS if self._path(one) == path] for path in PATHS}

    def _path(self, partition: TopicPartition) -> str:
        log = self.manager.get(partition)
        assert log is not None
        return log.directory.rpartition("/")[0]

    def fail(self) -> list[TopicPartition]:
        """Let the second one fail."""
        return self.manager.fail_directory("/b", "Input/output error")


def open_again(manager: LogManager, partition: TopicPartition, topic_id: UUID = TOPIC_ID) -> str:
    return manager.get_or_create(partition, topic_id, CONFIG).directory


def test_what_was_in_it_is_lost_until_the_next_start_and_the_rest_goes_on() -> None:
    """Nothing is made anew that may come back; new partitions go where they can."""
    node = Node()
    assert [len(found) for found in node.of.values()] == [2, 2]
    assert sorted(node.fail()) == node.of["/b"]
    assert set(node.manager.lost) == set(node.of["/b"])
    for partition in node.of["/b"]:
        assert node.manager.get(partition) is None
        with pytest.raises(DirectoryFailed, match="/b"):
            open_again(node.manager, partition)
    for partition in node.of["/a"]:
        append_values(node.manager.get_or_create(partition, TOPIC_ID, CONFIG), [b"more"])
    for number in range(4, 8):
        assert open_again(node.manager, TopicPartition("spool", number)).startswith("/a/")


def test_another_topic_of_the_name_is_made_elsewhere() -> None:
    """What is in the failed directory is of a topic that is gone."""
    node = Node()
    node.fail()
    partition = node.of["/b"][0]
    assert open_again(node.manager, partition, OTHER_ID).startswith("/a/")
    assert partition not in node.manager.lost
    node.manager.delete(node.of["/b"][1])
    assert not node.manager.lost


def test_checkpoints_are_written_for_the_others_alone() -> None:
    """Also while the failure is not known yet, one that cannot be written keeps no other from it."""
    node = Node()
    for partition in PARTITIONS:
        append_values(node.manager.get_or_create(partition, TOPIC_ID, CONFIG), [b"more"])
    node.fs.fail("create", errno.EIO, "/a/recovery", times=1)
    write = node.manager.checkpoints.recovery_points()
    assert write is not None
    with pytest.raises(OSError, match="Input/output"):
        write()
    assert not node.fs.exists("/a/recovery-point-offset-checkpoint")
    assert node.fs.exists("/b/recovery-point-offset-checkpoint")
    node.fail()
    before = node.fs.mtime_ms("/b/recovery-point-offset-checkpoint")
    write = node.manager.checkpoints.recovery_points()
    assert write is not None
    write()
    assert node.fs.exists("/a/recovery-point-offset-checkpoint")
    assert node.fs.mtime_ms("/b/recovery-point-offset-checkpoint") == before


def test_all_is_there_again_after_a_start_with_the_directory_repaired() -> None:
    """It has no marker of a clean shutdown, so that its logs are checked."""
    node = Node()
    node.fail()
    assert node.manager.close() == []
    assert [was_clean_shutdown(node.fs, path) for path in PATHS] == [True, False]
    manager, report = start(node.fs, paths=PATHS)
    assert (report.loaded, report.recovered) == (4, 2)
    for number, partition in enumerate(PARTITIONS):
        assert len(read_all(manager.get_or_create(partition, TOPIC_ID, CONFIG))) == number


def test_files_that_wait_for_their_removal_there_are_left_to_the_next_start() -> None:
    """Else their removal would fail again and again."""
    node = Node()
    for path in PATHS:
        node.manager.delete(node.of[path][0])
    node.fail()
    assert node.manager.due_deletions(0) is None
    remove = node.manager.due_deletions(10**9)
    assert remove is not None
    remove()
    names = {path: [one for one in node.fs.listdir(path) if one.endswith("-delete")] for path in PATHS}
    assert [len(found) for found in names.values()] == [0, 1]


def test_errors_of_a_log_are_noted() -> None:
    """Of an append, of a flush, and of opening."""
    node = Node()
    noted: list[str] = []
    manager, _ = start(node.fs.crash(1.0), paths=PATHS)
    fs = manager._fs
    assert isinstance(fs, MemoryFiles)
    manager._failures.begin(lambda path, _reason: noted.append(path))
    log = manager.get_or_create(node.of["/b"][1], TOPIC_ID, CONFIG)
    fs.fail("write", errno.ENOSPC, "/b/")
    with pytest.raises(StorageError):
        append_values(log, [b"x"])
    assert noted == []
    fs.fail("write", errno.EIO, "/b/")
    with pytest.raises(StorageError):
        append_values(log, [b"x"])
    assert noted == ["/b"]
    other = manager.get_or_create(node.of["/a"][1], TOPIC_ID, CONFIG)
    append_values(other, [b"x"])
    fs.fail("sync", errno.EIO, "/a/")
    with pytest.raises(StorageError):
        other.flush()
    assert noted == ["/b", "/a"]


def test_a_directory_that_fails_at_start_is_left_out() -> None:
    """And told of; that of the metadata is not, nor the last one."""
    node = Node()
    assert node.manager.close() == []
    node.fs.fail("read", errno.EIO, "/b/meta.properties")
    manager, report = start(node.fs, paths=PATHS)
    assert report.loaded == len(node.of["/a"])
    assert any("/b has failed" in finding for finding in report.findings)
    assert [bool(directory.failure) for directory in manager.directories] == [False, True]
    assert manager.close() == []
    node.fs.fail("read", errno.EIO, "/a/meta.properties")
    with pytest.raises(StorageError, match="Cannot read log directory /a"):
        start(node.fs, paths=PATHS)
    node.fs.fail("read", errno.EIO, "/b/meta.properties")
    node.fs.fail("read", errno.EIO, "/a/meta.properties")
    with pytest.raises(StorageError, match="None of the log directories"):
        start(node.fs, paths=PATHS, metadata_path="/metadata")
    assert start(node.fs, paths=PATHS)[1].loaded == len(PARTITIONS)


def test_a_directory_that_has_vanished_is_not_made_anew() -> None:
    """It would be one without an owner; that it is gone is noted."""
    node = Node()
    noted: list[str] = []
    node.manager._failures.begin(lambda path, _reason: noted.append(path))
    node.manager.delete(node.of["/a"][0])
    node.fs.rmtree("/a")
    with pytest.raises(StorageError, match="/a has vanished"):
        open_again(node.manager, TopicPartition("spool", 9))
    assert (noted, node.fs.exists("/a")) == (["/a"], False)
