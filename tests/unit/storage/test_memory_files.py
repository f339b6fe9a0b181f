"""The file system in memory: what it leaves after a crash, and how it fails.

That it behaves like the operating system's while nothing goes wrong, `test_files` shows.
"""

import errno

import pytest

from tests.support.memory_files import MemoryFiles, SimulatedCrash


def _disk(seed: int = 0) -> MemoryFiles:
    fs = MemoryFiles(seed)
    fs.mkdir("/data")
    fs.sync_dir("/")
    return fs


def test_synced_content_under_a_synced_name_survives() -> None:
    """What was synced is there after any crash."""
    for seed in range(50):
        fs = _disk(seed)
        file = fs.open("/data/a", create=True)
        file.write(b"safe")
        file.sync()
        fs.sync_dir("/data")
        file.write(b"perhaps")
        content = fs.crash().read_bytes("/data/a")
        assert content[:4] == b"safe"


def test_unsynced_content_may_be_kept_lost_or_torn() -> None:
    """Over many seeds, each fate of an unsynced write occurs."""
    seen = set()
    for seed in range(300):
        fs = _disk(seed)
        file = fs.open("/data/a", create=True)
        fs.sync_dir("/data")
        file.write(b"one")
        file.write(b"two")
        seen.add(fs.crash(kept=0.5).read_bytes("/data/a"))
    assert {b"", b"one", b"onetwo", b"\0\0\0two", b"on"} <= seen


def test_unsynced_names_may_be_lost() -> None:
    """Creations, renames and removals that were not synced survive in order, up to some point."""
    seen = set()
    for seed in range(300):
        fs = _disk(seed)
        fs.write_bytes("/data/old", b"")
        fs.sync_dir("/data")
        fs.write_bytes("/data/new", b"")
        fs.rename("/data/old", "/data/renamed")
        fs.unlink("/data/new")
        seen.add(tuple(sorted(fs.crash(kept=0.5).listdir("/data"))))
    assert seen == {("old",), ("new", "old"), ("new", "renamed"), ("renamed",)}


def test_directory_that_was_not_synced_is_lost_with_its_synced_files() -> None:
    """A file is only as safe as all the names that lead to it."""
    fs = _disk()
    fs.mkdir("/data/t-0")
    fs.write_bytes("/data/t-0/log", b"1", sync=True)
    fs.sync_dir("/data/t-0")
    assert fs.crash(kept=0.0).listdir("/data") == []


def test_killed_process_loses_nothing() -> None:
    """With `kept=1.0` all that was done before the crash is there: the kernel has it."""
    fs = _disk()
    fs.write_bytes("/data/a", b"content")
    fs.rename("/data/a", "/data/b")
    survivor = fs.crash(kept=1.0)
    assert survivor.read_bytes("/data/b") == b"content"
    assert survivor.listdir("/data") == ["b"]


def test_crash_comes_at_every_operation_once() -> None:
    """Counting `crash_at` up visits every operation that changes something, until the work gets through."""

    def work(fs: MemoryFiles) -> None:
        fs.mkdir("/data")
        fs.write_atomic("/data/a", b"content")

    reached = 0
    while True:
        fs = MemoryFiles(crash_at=reached)
        try:
            work(fs)
        except SimulatedCrash:
            reached += 1
            with pytest.raises(SimulatedCrash):
                fs.mkdir("/other")
        else:
            break
    assert reached == fs.operations == 6  # mkdir, create, write, sync, rename, sync of the directory


def test_atomic_write_is_atomic_over_any_crash() -> None:
    """Wherever a crash comes in, the old or the new content is found, and the new one once the call has returned."""
    for seed in range(20):
        for crash_at in range(20):
            fs = _disk(seed)
            fs.write_atomic("/data/a", b"old")
            fs.crash_at = fs.operations + crash_at
            done = True
            try:
                fs.write_atomic("/data/a", b"new content")
            except SimulatedCrash:
                done = False
            found = fs.crash().read_bytes("/data/a")
            assert found == b"new content" if done else found in (b"old", b"new content"), (seed, crash_at)


def test_full_disk_takes_what_fits() -> None:
    """A write beyond the capacity writes a part and raises ENOSPC; a removal makes room again."""
    fs = MemoryFiles(capacity=10)
    fs.write_bytes("/a", b"1234")
    file = fs.open("/b", create=True)
    file.write(b"123")
    with pytest.raises(OSError) as raised:
        file.write(b"45678")
    assert raised.value.errno == errno.ENOSPC
    assert fs.read_bytes("/b") == b"123456"
    assert fs.disk_space("/").usable == 0
    fs.unlink("/a")
    file.truncate(3)
    file.write(b"45")
    assert fs.read_bytes("/b") == b"12345"


def test_chosen_operations_fail() -> None:
    """`fail` hits the operation and path it names, as often as it says."""
    fs = _disk()
    fs.fail("sync", errno.EIO, path_part=".log", times=2)
    other, log = fs.open("/data/a", create=True), fs.open("/data/a.log", create=True)
    other.sync()
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            log.sync()
    log.sync()
    fs.fail("read")
    with pytest.raises(OSError, match="Input/output error"):
        fs.read_bytes("/data/a")


def test_failed_atomic_write_leaves_the_old_content() -> None:
    """A full disk under a checkpoint costs the new content only, and no temporary file is left."""
    fs = _disk()
    fs.write_atomic("/data/a", b"old")
    fs.capacity = fs.used + 2
    with pytest.raises(OSError, match="No space left"):
        fs.write_atomic("/data/a", b"new")
    assert fs.listdir("/data") == ["a"]
    assert fs.read_bytes("/data/a") == b"old"


def test_impossible_renames_are_refused() -> None:
    """Between directories, and onto a directory that is not empty, nothing is renamed."""
    fs = _disk()
    fs.mkdir("/data/full/inside")
    fs.mkdir("/data/empty")
    fs.write_bytes("/data/a", b"")
    for target, error in (("/b", errno.EXDEV), ("/data/full", errno.ENOTEMPTY)):
        with pytest.raises(OSError) as raised:
            fs.rename("/data/empty", target)
        assert raised.value.errno == error


def test_directories_and_files_are_not_mistaken() -> None:
    """Using one as the other is an error."""
    fs = _disk()
    fs.write_bytes("/data/a", b"")
    for use_file in (fs.open, fs.read_bytes, fs.unlink):
        with pytest.raises(IsADirectoryError):
            use_file("/data")
    for use_directory in (fs.listdir, fs.mkdir, fs.sync_dir):
        with pytest.raises(NotADirectoryError):
            use_directory("/data/a")


def test_what_a_killed_process_leaves_is_not_safe_yet() -> None:
    """The next one finds all of it, and a power failure may still take what was not synced."""
    files = MemoryFiles()
    files.write_bytes("/a", b"safe", sync=True)
    files.sync_dir("/")
    file = files.open("/a")
    file.pwrite(b"more", 4)
    heir = files.handed_on()
    assert heir.read_bytes("/a") == b"safemore"
    with pytest.raises(SimulatedCrash):
        file.pwrite(b"!", 0)
    assert heir.crash(kept=0.0).read_bytes("/a") == b"safe"
