"""The file operations: one contract, held by the operating system's and by the one in memory alike."""

import errno
import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.storage import files
from odradek.storage.files import FileSystem, PosixFile, PosixFiles
from tests.support.memory_files import MemoryFiles


@pytest.fixture(params=["posix", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    """A file system, and a directory in it."""
    if request.param == "posix":
        return PosixFiles(), str(tmp_path)
    fs = MemoryFiles()
    fs.mkdir("/data")
    return fs, "/data"


Place = tuple[FileSystem, str]


def test_writes_follow_each_other(place: Place) -> None:
    """`write` and `writev` go on where the last one ended, beginning at the end of the file."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"begun ")
    file = fs.open(f"{home}/a")
    file.write(b"one ")
    file.writev([b"two ", bytearray(b"three "), memoryview(b"four")])
    assert fs.read_bytes(f"{home}/a") == b"begun one two three four"
    assert file.size() == fs.size(f"{home}/a") == 24


def test_pwrite_does_not_move_the_place_of_write(place: Place) -> None:
    """`pwrite` writes where it is told to, and `write` goes on at its own place."""
    fs, home = place
    file = fs.open(f"{home}/a", create=True)
    file.write(b"0123456789")
    file.pwrite(b"ab", 3)
    file.write(b"x")
    assert fs.read_bytes(f"{home}/a") == b"012ab56789x"


def test_write_after_truncate_goes_on_at_the_new_end(place: Place) -> None:
    """After a cut, and after an extension with zeros, the next write is at the new end."""
    fs, home = place
    file = fs.open(f"{home}/a", create=True)
    file.write(b"0123456789")
    file.truncate(4)
    file.write(b"x")
    file.truncate(7)
    file.write(b"y")
    assert fs.read_bytes(f"{home}/a") == b"0123x\0\0y"


def test_reads_are_short_only_at_the_end(place: Place) -> None:
    """`pread` and `readinto` give what was asked for, except where the file ends."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"0123456789")
    file = fs.open(f"{home}/a", writable=False)
    buffer = bytearray(b"......")
    assert file.pread(3, 2) == b"234"
    assert file.pread(5, 8) == b"89"
    assert file.pread(5, 10) == b""
    assert file.readinto(memoryview(buffer)[:4], 0) == 4
    assert file.readinto(buffer, 8) == 2
    assert buffer == b"8923.."


def test_file_opened_for_reading_is_not_written(place: Place) -> None:
    """Writing to a file that was not opened for it is an OSError."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"kept")
    with pytest.raises(OSError):
        fs.open(f"{home}/a", writable=False).write(b"lost")
    assert fs.read_bytes(f"{home}/a") == b"kept"


def test_closed_file_is_not_used(place: Place) -> None:
    """Closing twice is harmless, and using a closed file is an OSError."""
    fs, home = place
    file = fs.open(f"{home}/a", create=True)
    file.close()
    file.close()
    assert file.fd == -1
    for use in (file.size, file.sync, lambda: file.write(b"x"), lambda: file.pread(1, 0)):
        with pytest.raises(OSError):
            use()


def test_deleted_file_is_read_through_its_reference(place: Place) -> None:
    """A file that is deleted or renamed stays readable and writable for those who have it open."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"content")
    file = fs.open(f"{home}/a")
    fs.rename(f"{home}/a", f"{home}/b")
    fs.unlink(f"{home}/b")
    file.write(b"!")
    assert file.pread(100, 0) == b"content!"
    assert not fs.exists(f"{home}/b")


def test_missing_file_is_not_found(place: Place) -> None:
    """What needs a file raises FileNotFoundError where there is none; removing one that is gone is no error."""
    fs, home = place
    missing = f"{home}/missing"
    for use in (fs.open, fs.read_bytes, fs.size, fs.mtime_ms, fs.map_readonly, fs.scan, fs.listdir, fs.sync_dir):
        with pytest.raises(FileNotFoundError):
            use(missing)
    with pytest.raises(FileNotFoundError):
        fs.rename(missing, f"{home}/other")
    with pytest.raises(FileNotFoundError):
        fs.open(f"{missing}/below", create=True)
    fs.unlink(missing)
    fs.rmtree(missing)
    assert fs.listdir(home) == []


def test_rename_replaces(place: Place) -> None:
    """Renaming onto a file replaces it; directories are renamed with what is in them."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"new")
    fs.write_bytes(f"{home}/b", b"old")
    fs.rename(f"{home}/a", f"{home}/b")
    assert fs.read_bytes(f"{home}/b") == b"new"
    fs.mkdir(f"{home}/d")
    fs.write_bytes(f"{home}/d/f", b"inside")
    fs.rename(f"{home}/d", f"{home}/e")
    assert fs.read_bytes(f"{home}/e/f") == b"inside"
    assert sorted(fs.listdir(home)) == ["b", "e"]


@pytest.mark.parametrize("sync", [True, False])
def test_write_bytes_and_write_atomic_replace_the_content(place: Place, sync: bool) -> None:
    """Both leave exactly the new content, shorter or longer, and no temporary file."""
    fs, home = place
    writers: list[Callable[[str, bytes, bool], None]] = [fs.write_bytes, fs.write_atomic]
    for write in writers:
        for content in (b"a long content", b"short", b"", b"again"):
            write(f"{home}/a", content, sync)
            assert fs.read_bytes(f"{home}/a") == content
    assert fs.listdir(home) == ["a"]


def test_scan_tells_directories(place: Place) -> None:
    """`scan` and `listdir` name what is in a directory; `mkdir` makes what is missing above and takes what exists."""
    fs, home = place
    fs.mkdir(f"{home}/x/y")
    fs.mkdir(f"{home}/x/y")
    fs.write_bytes(f"{home}/x/f", b"1")
    assert sorted(fs.scan(f"{home}/x")) == [("f", False), ("y", True)]
    assert sorted(fs.listdir(f"{home}/x")) == ["f", "y"]
    assert fs.exists(f"{home}/x/y")
    assert fs.exists(f"{home}/x/f")


def test_rmtree_removes_all_below(place: Place) -> None:
    """A directory goes with its files and directories, and nothing else does."""
    fs, home = place
    fs.mkdir(f"{home}/x/y/z")
    fs.write_bytes(f"{home}/x/y/z/f", b"1")
    fs.write_bytes(f"{home}/x/g", b"1")
    fs.write_bytes(f"{home}/stays", b"1")
    fs.rmtree(f"{home}/x")
    assert fs.listdir(home) == ["stays"]


def test_mtime_is_set_in_ms(place: Place) -> None:
    """What `set_mtime_ms` sets, `mtime_ms` returns."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"")
    fs.set_mtime_ms(f"{home}/a", 1_600_000_000_123)
    assert fs.mtime_ms(f"{home}/a") == 1_600_000_000_123


def test_mapping_shows_the_content(place: Place) -> None:
    """A mapped file reads like its bytes, an empty one too, and the mapping outlives the name."""
    fs, home = place
    fs.write_bytes(f"{home}/a", b"0123456789")
    fs.write_bytes(f"{home}/empty", b"")
    mapped = fs.map_readonly(f"{home}/a")
    fs.unlink(f"{home}/a")
    assert (len(mapped), mapped[2:5], mapped[:]) == (10, b"234", b"0123456789")
    assert len(fs.map_readonly(f"{home}/empty")) == 0


def test_lock_is_had_once(place: Place) -> None:
    """A lock is refused while it is held, also to the same process, and given again once it is released."""
    fs, home = place
    lock = fs.lock(f"{home}/.lock")
    assert lock is not None
    assert fs.lock(f"{home}/.lock") is None
    assert fs.lock_owner(f"{home}/.lock") == "this very process"
    lock.release()
    lock.release()
    again = fs.lock(f"{home}/.lock")
    assert again is not None
    again.release()
    assert fs.lock_owner(f"{home}/.lock") is None


def test_disk_space_is_plausible(place: Place) -> None:
    """No more space is usable than there is."""
    fs, home = place
    space = fs.disk_space(home)
    assert 0 < space.usable <= space.total


def test_descriptor_closes_with_the_last_reference(tmp_path: Path) -> None:
    """A response that still holds the file keeps the descriptor open; after it nobody needs to close it."""
    file = PosixFiles().open(str(tmp_path / "a"), create=True)
    fd = file.fd
    region = (file, 0, 10)
    del file
    os.fstat(fd)
    del region
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_short_writes_and_reads_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system takes or gives fewer bytes than asked for, the rest follows."""
    real_write, real_pwrite, real_pread, real_preadv = os.write, os.pwrite, os.pread, os.preadv
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data)[:3]))
    monkeypatch.setattr(os, "writev", lambda fd, buffers: real_write(fd, b"".join(buffers)[:3]))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real_pwrite(fd, bytes(data)[:3], at))
    monkeypatch.setattr(os, "pread", lambda fd, length, at: real_pread(fd, min(length, 3), at))
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, at: real_preadv(fd, [buffers[0][:3]], at))
    file = PosixFiles().open(str(tmp_path / "a"), create=True)
    file.write(b"0123456789")
    file.writev([b"abcde", b"fghij"])
    file.pwrite(b"ABCDEFG", 2)
    assert file.pread(100, 0) == b"01ABCDEFG9abcdefghij"
    buffer = bytearray(12)
    assert file.readinto(memoryview(buffer), 4) == 12
    assert buffer == b"CDEFG9abcdef"


def test_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """A file beyond all reason, sparse perhaps, does not fill the memory."""
    (tmp_path / "a").touch()
    os.truncate(tmp_path / "a", 1 << 40)
    with pytest.raises(OSError, match="File too large"):
        PosixFiles().read_bytes(str(tmp_path / "a"))


def test_failed_atomic_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full, the old content stays and the temporary file does not."""
    fs = PosixFiles()
    path = str(tmp_path / "checkpoint")
    fs.write_atomic(path, b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        fs.write_atomic(path, b"new")
    assert fs.listdir(str(tmp_path)) == ["checkpoint"]
    assert fs.read_bytes(path) == b"old"


def test_atomic_write_syncs_before_and_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is made durable before it gets its name, and the name afterwards."""
    steps: list[str] = []
    real_rename = os.rename

    def rename(source: str, target: str) -> None:
        steps.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(files, "_sync_content", lambda fd: steps.append("sync"))
    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "fsync", lambda fd: steps.append("sync directory"))
    PosixFiles().write_atomic(str(tmp_path / "a"), b"1")
    assert steps == ["sync", "rename", "sync directory"]
    steps.clear()
    PosixFiles().write_atomic(str(tmp_path / "a"), b"2", sync=False)
    assert steps == ["rename"]


def test_repr_names_the_file(tmp_path: Path) -> None:
    """An open file says in messages what it is."""
    path = str(tmp_path / "a")
    file = PosixFiles().open(path, create=True)
    assert repr(file) == f"PosixFile({path!r}, fd={file.fd})"
    assert isinstance(file, PosixFile)
