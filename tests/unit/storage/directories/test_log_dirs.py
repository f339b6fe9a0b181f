"""Which log directories may be used, and what a refusal says."""

import errno
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from odradek.storage.directories.log_dirs import release_log_directories
from odradek.storage.directories.meta_properties import read_meta_properties
from odradek.storage.errors import CorruptFile, DirectoryLocked, IncompatibleDirectory, StorageError
from odradek.storage.files import PosixFiles
from odradek.storage.names import TopicPartition
from tests.support.log_directories import open_log_directories
from tests.support.memory_files import MemoryFiles


def ids() -> Iterator[UUID]:
    return (UUID(int=(7 << 100) + number) for number in range(1, 100))


def test_new_directories_are_made_and_join_one_cluster() -> None:
    """Missing directories are made; all get the same cluster, their own id, and are locked."""
    fs, draw = MemoryFiles(), ids()
    opened = open_log_directories(fs, ["/a/deep", "/b/"], 3, lambda: next(draw))
    assert [directory.path for directory in opened] == ["/a/deep", "/b"]
    metas = [read_meta_properties(fs, path) for path in ("/a/deep", "/b")]
    assert metas == [directory.meta for directory in opened]
    first, second = metas
    assert first is not None
    assert second is not None
    assert (first.node_id, first.version) == (3, 1)
    assert first.cluster_id == second.cluster_id
    assert first.directory_id != second.directory_id
    with pytest.raises(DirectoryLocked, match="Stop that broker"):
        open_log_directories(fs, ["/b"], 3, lambda: next(draw))


def test_directories_are_as_they_were_when_opened_again() -> None:
    """A second start changes nothing, and new directories beside old ones join their cluster."""
    fs, draw = MemoryFiles(), ids()
    opened = open_log_directories(fs, ["/a"], 3, lambda: next(draw))
    meta = opened[0].meta
    assert meta is not None
    release_log_directories(opened)
    before = fs.read_bytes("/a/meta.properties")
    again = open_log_directories(fs, ["/a", "/new"], 3, lambda: next(draw))
    assert fs.read_bytes("/a/meta.properties") == before
    assert again[0].meta == meta
    assert again[1].meta is not None
    assert again[1].meta.cluster_id == meta.cluster_id


def test_refusals_change_nothing_and_hold_no_lock() -> None:
    """Another node, another cluster: the sentence says what to do, and the directories are as before."""
    fs, draw = MemoryFiles(), ids()
    for path, node in (("/a", 1), ("/b", 2), ("/c", 1)):
        release_log_directories(open_log_directories(fs, [path], node, lambda: next(draw)))
    for paths, node, reason in (
        (["/a"], 5, r"belongs to node 1, but this is node 5: set node\.id=1"),
        (["/a", "/c"], 1, "use only directories of one cluster"),
        (["/new", "/b"], 1, "belongs to node 2"),
    ):
        for _ in range(2):
            with pytest.raises(IncompatibleDirectory, match=reason):
                open_log_directories(fs, paths, node, lambda: next(draw))
    assert read_meta_properties(fs, "/new") is None
    with pytest.raises(IncompatibleDirectory, match="belongs to cluster"):
        open_log_directories(fs, ["/a"], 1, lambda: next(draw), cluster_id="other")
    open_log_directories(fs, ["/a"], 1, lambda: next(draw))


def test_content_is_sorted() -> None:
    """Partitions, those being deleted, moved, set aside; metadata log and tiered storage's cache are not ours."""
    fs, draw = MemoryFiles(), ids()
    mark = "0123456789abcdef" * 2
    for name in ("t-0", "a-b-c-12", f"t-1.{mark}-delete", f"t-2.{mark}-future", f"t-3.{mark}-stray"):
        fs.mkdir(f"/a/{name}")
    fs.mkdir("/a/__cluster_metadata-0")
    fs.mkdir("/a/remote-log-index-cache")
    fs.write_bytes("/a/notes.txt", b"files are not looked at")
    (directory,) = open_log_directories(fs, ["/a"], 1, lambda: next(draw))
    assert directory.closed == {TopicPartition("t", 0): "/a/t-0", TopicPartition("a-b-c", 12): "/a/a-b-c-12"}
    assert directory.deleted == [f"/a/t-1.{mark}-delete"]
    assert directory.futures == {TopicPartition("t", 2): [f"/a/t-2.{mark}-future"]}
    assert directory.set_aside == [f"/a/t-3.{mark}-stray"]


@pytest.mark.parametrize("name", ["lost+found", "backup", "t-x", ".hidden", "-0"])
def test_unknown_directory_refuses_the_start(name: str) -> None:
    """What cannot be a partition was put there by somebody: he is asked to move it."""
    fs, draw = MemoryFiles(), ids()
    fs.mkdir(f"/a/{name}")
    with pytest.raises(IncompatibleDirectory, match="move it away, or choose another directory"):
        open_log_directories(fs, ["/a"], 1, lambda: next(draw))
    assert not fs.exists("/a/meta.properties")


def test_partition_in_two_directories_refuses_the_start() -> None:
    """Nobody can know which of the two is right."""
    fs, draw = MemoryFiles(), ids()
    fs.mkdir("/a/t-0")
    fs.mkdir("/b/t-0")
    with pytest.raises(IncompatibleDirectory, match="t-0 is in two log directories, /a/t-0 and /b/t-0"):
        open_log_directories(fs, ["/a", "/b"], 1, lambda: next(draw))


def test_metadata_directory_of_its_own_takes_no_partitions() -> None:
    """metadata.log.dir is locked and identified like the others, and marked."""
    fs, draw = MemoryFiles(), ids()
    opened = open_log_directories(fs, ["/a"], 1, lambda: next(draw), metadata_path="/m")
    assert [(directory.path, directory.for_partitions) for directory in opened] == [("/a", True), ("/m", False)]
    release_log_directories(opened)
    opened = open_log_directories(fs, ["/a"], 1, lambda: next(draw), metadata_path="/a")
    assert len(opened) == 1


def test_damaged_meta_properties_refuses_the_start() -> None:
    """Nothing is guessed about a directory that cannot say whose it is."""
    fs, draw = MemoryFiles(), ids()
    fs.mkdir("/a")
    fs.write_bytes("/a/meta.properties", b"version=1\nnode.id=1\n")
    with pytest.raises(CorruptFile, match=r"cluster\.id is missing"):
        open_log_directories(fs, ["/a"], 1, lambda: next(draw))


def test_path_that_is_no_directory_says_what_to_do(tmp_path: Path) -> None:
    """A file where a directory should be, on the real file system."""
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(StorageError, match=r"choose another directory in log\.dirs"):
        open_log_directories(PosixFiles(), [str(path)], 1, UUID)


def test_directory_that_is_not_writable_says_what_to_do() -> None:
    """Where the lock file cannot be made, the user is told to grant it or to go elsewhere."""
    fs = MemoryFiles()
    fs.mkdir("/a")
    fs.fail("create", errno.EACCES, "/a/.lock")
    with pytest.raises(StorageError, match=r"Cannot use log directory /a: Permission denied.*read and write it"):
        open_log_directories(fs, ["/a"], 1, UUID)


def test_full_disk_at_start_says_what_to_do() -> None:
    """meta.properties cannot be written: the start is refused, and the lock given back."""
    fs, draw = MemoryFiles(), ids()
    fs.mkdir("/a")
    fs.capacity = fs.used
    with pytest.raises(StorageError, match="Cannot write to log directory /a: No space left on device"):
        open_log_directories(fs, ["/a"], 1, lambda: next(draw))
    fs.capacity = 1 << 30
    open_log_directories(fs, ["/a"], 1, lambda: next(draw))
