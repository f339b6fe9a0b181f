"""Reads that are not to wait: what only the disk has is named, not read; and a disk that fails is said so."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.storage.errors import NotInMemory, StorageError
from odradek.storage.files import PosixFiles
from odradek.storage.log.log import Log
from tests.support.logs import DIRECTORY, NOW_MS, append_values, open_at, small_config
from tests.support.memory_files import MemoryFiles


def reopened(fs: MemoryFiles) -> Log:
    """Return a log of a sealed segment with eight entries in its index, and an active one; nothing was looked at."""
    config = small_config(index_interval_bytes=64)
    log = open_at(fs, config)
    for _ in range(9):
        append_values(log, [bytes(100)])
    log.roll(NOW_MS)
    append_values(log, [b"last"])
    log.flush()
    log.close()
    return open_at(fs, config, clean=True)


def looks_until_found(log: Log, offset: int) -> int:
    """Bring what is missing until the offset can be read without waiting; return how often that was needed."""
    for looks in range(10):
        try:
            region = log.read(offset, 1 << 20, 10, True, wait=False)
        except NotInMemory as cold:
            cold.bring()
        else:
            assert region.first_offset == offset
            return looks
    raise AssertionError("it is never in memory")


def test_sealed_segment_is_looked_at_elsewhere_first(fs: MemoryFiles) -> None:
    """Its indexes are checked there; after that nothing is missing."""
    log = reopened(fs)
    assert looks_until_found(log, 5) == 1
    assert looks_until_found(log, 7) == 0


@pytest.mark.parametrize(("suffix", "looks"), [(".log", 1), (".index", 1), (".timeindex", 0)])
def test_what_is_no_longer_in_memory_is_read_elsewhere(suffix: str, looks: int, fs: MemoryFiles) -> None:
    """The batch headers, and the index once its memory was given back; nobody needs the times for an offset."""
    log = reopened(fs)
    looks_until_found(log, 5)
    log.segments.first.release()
    log.local.reader.forget()
    fs.make_cold(f"{DIRECTORY}/{0:020d}{suffix}")
    assert looks_until_found(log, 6) == looks


def test_active_segment_has_its_index_in_memory(log: Log) -> None:
    """What was just written is read at once."""
    append_values(log, [b"a"])
    assert log.read(0, 100, 1, True, wait=False).length


@pytest.mark.parametrize("damage", [bytes(64), b"\xff" * 64])
def test_damaged_index_is_made_anew_aside(damage: bytes, fs: MemoryFiles) -> None:
    """The files change only when the log is read again, not while somebody else may use them."""
    log = reopened(fs)
    path = f"{DIRECTORY}/{0:020d}.index"
    good = fs.read_bytes(path)
    fs.write_bytes(path, damage)
    with pytest.raises(NotInMemory) as cold:
        log.read(5, 1 << 20, 10, True, wait=False)
    cold.value.bring()
    assert fs.read_bytes(path) == damage
    assert log.read(5, 1 << 20, 10, True, wait=False).first_offset == 5
    assert fs.read_bytes(path) == good
    assert not [name for name in fs.listdir(DIRECTORY) if name.endswith(".tmp")]


def test_index_that_leads_nowhere_is_made_anew_aside(fs: MemoryFiles) -> None:
    """It passes the check, and is found out when it is followed."""
    log = reopened(fs)
    path = f"{DIRECTORY}/{0:020d}.index"
    good = fs.read_bytes(path)
    wrong = bytearray(good)
    wrong[len(good) // 2 + 7] += 1
    fs.write_bytes(path, wrong)
    for offset in range(9):
        looks_until_found(log, offset)
    assert fs.read_bytes(path) == good


def test_check_that_fails_for_want_of_descriptors_is_made_again(fs: MemoryFiles) -> None:
    """What could not be looked at does not count as checked."""
    log = reopened(fs)
    path = f"{DIRECTORY}/{0:020d}.index"
    good = fs.read_bytes(path)
    fs.write_bytes(path, b"\xff" * len(good))
    fs.fail("read", errno.EMFILE, path_part=path)
    with pytest.raises(StorageError, match="Cannot read from"):
        log.read(5, 1 << 20, 10, True)
    assert log.read(5, 1 << 20, 10, True).first_offset == 5
    assert fs.read_bytes(path) == good


@pytest.mark.parametrize(
    "look", [lambda log: log.aborted_transactions(0, 9), lambda log: log.upper_bound(log.read(2, 150, 10, True))]
)
def test_failing_disk_is_a_storage_error_whatever_is_looked_up(look: Callable[[Log], object], fs: MemoryFiles) -> None:
    """So that the other partitions of a request are answered."""
    log = reopened(fs)
    log.read(2, 150, 10, True)
    fs.write_bytes(f"{DIRECTORY}/{0:020d}.txnindex", bytes(34))
    log.segments.first.release()
    fs.fail("read", errno.EIO, path_part="index", times=9)
    with pytest.raises(StorageError, match="Cannot read from"):
        look(log)


def test_operating_system_is_asked_what_is_in_memory(tmp_path: Path) -> None:
    """What was just written is; beyond the end there is nothing."""
    fs = PosixFiles()
    path = str(tmp_path / "file")
    fs.write_bytes(path, bytes(100_000))
    assert fs.is_cached(path)
    assert fs.is_cached(path + "-that-is-not-there")
    file = fs.open(path)
    assert file.pread_cached(8192, 0) == bytes(8192)
    assert file.pread_cached(8192, 99_000) is None
