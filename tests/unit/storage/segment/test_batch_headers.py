"""Stepping over batch headers in a file."""

import pytest

from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.files import OpenFile
from odradek.storage.segment.batch_headers import find_batch, walk_headers
from tests.support.logs import NOW_MS, a_batch, old_message
from tests.support.memory_files import MemoryFiles


def file_of(*pieces: bytes | memoryview) -> OpenFile:
    fs = MemoryFiles()
    file = fs.open("/log", create=True)
    for piece in pieces:
        file.write(piece)
    return file


def v2(base_offset: int, count: int, size: int = 10) -> bytes:
    data = bytearray(a_batch([bytes(size)] * count))
    data[:8] = base_offset.to_bytes(8, "big")
    return bytes(data)


@pytest.mark.parametrize("target", range(10))
def test_find_batch_returns_the_batch_that_has_the_offset(target: int) -> None:
    """Every offset leads to its batch, wherever batch boundaries are."""
    pieces = [v2(0, 3), v2(3, 1, size=20_000), v2(4, 5), v2(9, 1)]
    file = file_of(*pieces)
    found = find_batch(file, 0, file.size(), target)
    expected = next(i for i, last in enumerate((2, 3, 8, 9)) if last >= target)
    assert found is not None
    assert found.position == sum(len(piece) for piece in pieces[:expected])
    assert found.size == len(pieces[expected])
    assert found.base_offset <= target <= found.last_offset


def test_find_batch_goes_on_to_the_next_one_after_a_gap() -> None:
    """An offset that compaction removed leads to the batch after it; one beyond all batches to none."""
    file = file_of(v2(0, 2), v2(10, 2))
    found = find_batch(file, 0, file.size(), 5)
    assert found is not None
    assert (found.base_offset, found.last_offset) == (10, 11)
    assert find_batch(file, 0, file.size(), 12) is None


def test_batches_of_all_three_formats_are_stepped_over() -> None:
    """Entries of V0 and V1, the smallest included, count with the offset that they carry."""
    file = file_of(old_message(0, 0, b""), old_message(1, 1, b"one"), old_message(0, 7, b"wrapped"), v2(8, 2))
    headers = [header for _, header in walk_headers(file, 0, file.size())]
    assert [(header.base_offset, header.magic, header.max_timestamp) for header in headers] == [
        (0, 0, -1),
        (1, 1, NOW_MS),
        (7, 0, -1),
        (8, 2, NOW_MS),
    ]
    for target, last in ((0, 0), (1, 1), (2, 7), (7, 7), (8, 9), (9, 9)):
        found = find_batch(file, 0, file.size(), target)
        assert found is not None
        assert found.last_offset == last


def test_smallest_old_message_at_the_end_is_seen() -> None:
    """A message that is shorter than the header of a V2 batch ends the file, and is no less there."""
    file = file_of(v2(0, 1), old_message(0, 1, b""))
    assert [header.base_offset for _, header in walk_headers(file, 0, file.size())] == [0, 1]
    found = find_batch(file, 0, file.size(), 1)
    assert found is not None
    assert found.end == file.size()


@pytest.mark.parametrize("missing", [1, 30, 60, 70])
def test_incomplete_batch_ends_the_walk(missing: int) -> None:
    """What a crash cut off is no batch, and no error either."""
    whole, cut = v2(0, 1), v2(1, 1, size=200)[:-missing]
    file = file_of(whole, cut)
    assert [header.base_offset for _, header in walk_headers(file, 0, file.size())] == [0]
    assert find_batch(file, 0, file.size(), 1) is None


@pytest.mark.parametrize("garbage", [bytes(100), b"\xff" * 100, b"\0" * 8 + b"\0\0\0\x50" + b"\0" * 4 + b"\x03" * 80])
def test_bytes_that_cannot_be_a_header_are_corruption(garbage: bytes) -> None:
    """A size below 14 or a magic above 2 raises, with the place in the message."""
    file = file_of(v2(0, 1), garbage)
    with pytest.raises(CorruptRecord, match=f"byte {len(v2(0, 1))}"):
        list(walk_headers(file, 0, file.size()))
    with pytest.raises(CorruptRecord, match="no batch can start"):
        find_batch(file, 0, file.size(), 1)
