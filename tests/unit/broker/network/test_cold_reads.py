"""What is not in the page cache is found, and brought there, a bounded stretch at a time."""

import errno
import os
from collections.abc import Iterator, Sequence
from mmap import PAGESIZE
from pathlib import Path

import pytest

from odradek.broker.network.cold_reads import WARM_CHUNK_BYTES, is_cold, read_through
from odradek.broker.runtime.responses import FileRegion


class OpenedFile:
    """A file of three chunks."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(3 * WARM_CHUNK_BYTES))
        self.fd = os.open(path, os.O_RDONLY)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenedFile]:
    """A file that is open."""
    opened = OpenedFile(tmp_path / "data")
    yield opened
    os.close(opened.fd)


def _absent(monkeypatch: pytest.MonkeyPatch, *absent: int, error: int = errno.EAGAIN) -> list[int]:
    """Let reads at these positions find nothing in the page cache; return where is looked."""
    looked: list[int] = []

    def preadv(_fd: int, _buffers: Sequence[bytearray], position: int, _flags: int = 0) -> int:
        looked.append(position)
        if position in absent:
            raise OSError(error, os.strerror(error))
        return 1

    monkeypatch.setattr(os, "preadv", preadv)
    return looked


def test_what_was_just_written_is_warm(file: OpenedFile) -> None:
    """Nobody waits for it."""
    assert not is_cold(FileRegion(file, 0, 3 * WARM_CHUNK_BYTES))


@pytest.mark.parametrize("absent", [10, 10 + WARM_CHUNK_BYTES - 1])
def test_a_region_is_cold_if_either_end_of_its_next_chunk_is_absent(
    file: OpenedFile, monkeypatch: pytest.MonkeyPatch, absent: int
) -> None:
    """No more than one chunk is looked at."""
    looked = _absent(monkeypatch, absent)
    assert is_cold(FileRegion(file, 10, 2 * WARM_CHUNK_BYTES))
    assert looked[-1] == absent
    assert max(looked) < 10 + WARM_CHUNK_BYTES


def test_of_a_short_region_the_last_byte_is_looked_at(file: OpenedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows it is nobody's concern."""
    end = PAGESIZE + 20
    looked = _absent(monkeypatch, end)
    assert not is_cold(FileRegion(file, 10, end - 10))
    assert looked == [10, end - 1]


def test_a_region_within_one_page_is_looked_at_once(file: OpenedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is in memory as a whole or not at all."""
    looked = _absent(monkeypatch)
    assert not is_cold(FileRegion(file, PAGESIZE, PAGESIZE))
    assert looked == [PAGESIZE]


def test_a_file_system_that_cannot_tell_is_read_as_usual(file: OpenedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer must go out all the same."""
    _absent(monkeypatch, 0, error=errno.EOPNOTSUPP)
    assert not is_cold(FileRegion(file, 0, 100))


def test_reading_through_stays_within_the_region_and_a_chunk(file: OpenedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread has to come back soon, and what is not asked for is left on the disk."""
    read: list[tuple[int, int]] = []
    real = os.pread

    def pread(fd: int, length: int, position: int) -> bytes:
        read.append((length, position))
        return real(fd, length, position)

    monkeypatch.setattr(os, "pread", pread)
    read_through(FileRegion(file, 5, 100))
    read_through(FileRegion(file, 5, 2 * WARM_CHUNK_BYTES))
    assert read == [(100, 5), (WARM_CHUNK_BYTES, 5)]


def test_reading_through_a_file_that_fails_says_nothing(file: OpenedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the disk cannot be read or not even asked: who sends the region meets the error."""
    asked: list[str] = []

    def failing(name: str) -> None:
        def fail(*_: object) -> bytes:
            asked.append(name)
            raise OSError(errno.EIO, "I/O error")

        monkeypatch.setattr(os, name, fail)

    failing("pread")
    read_through(FileRegion(file, 0, 100))
    failing("posix_fadvise")
    read_through(FileRegion(file, 0, 100))
    assert asked == ["pread", "posix_fadvise"]
    with pytest.raises(OSError, match="I/O error"):
        os.pread(file.fd, 1, 0)
