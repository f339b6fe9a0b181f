"""The checks that recovery does on every batch of a segment."""

import pytest

from odradek.storage.segment.checked_scan import SegmentScan
from odradek.storage.segment.entry_walk import read_buffer
from tests.support.logs import a_batch, old_message
from tests.support.memory_files import MemoryFiles


def v2(base_offset: int, count: int = 1, size: int = 10) -> bytearray:
    data = bytearray(a_batch([bytes(size)] * count))
    data[:8] = base_offset.to_bytes(8, "big")
    return data


def scan(content: bytes | bytearray, base_offset: int = 0, room: int = 1 << 20) -> tuple[list[int], SegmentScan]:
    """Return the base offsets of the good batches, and the scan."""
    fs = MemoryFiles()
    fs.write_bytes("/log", content)
    found = SegmentScan(fs.open("/log"), base_offset, read_buffer(room))
    return [fields[0] for _, _, _, fields in found], found


@pytest.mark.parametrize("room", [61, 100, 1000, 1 << 20])
def test_good_segment_is_good_to_its_end(room: int) -> None:
    """All batches are found, however they lie in the pieces that are read; also those larger than a piece."""
    batches = [v2(0, 2), v2(2, size=5000), v2(3, 3), v2(10), v2(11, size=300)]
    offsets, found = scan(b"".join(batches), room=room)
    assert offsets == [0, 2, 3, 10, 11]
    assert (found.valid_bytes, found.next_offset, found.problem) == (sum(map(len, batches)), 12, "")


def test_empty_segment_is_good() -> None:
    """A segment without data ends where it begins."""
    offsets, found = scan(b"", base_offset=40)
    assert (offsets, found.valid_bytes, found.next_offset, found.problem) == ([], 0, 40, "")


@pytest.mark.parametrize("room", [61, 150, 1 << 20])
def test_any_flipped_byte_of_a_batch_ends_the_good_part_before_it(room: int) -> None:
    """Whatever byte the disk got wrong, the batch does not pass; only its leader epoch could be anything."""
    first, second, third = v2(0, 2), v2(2, 2), v2(4)
    for place in range(len(second)):
        damaged = bytearray(second)
        damaged[place] ^= 0x40
        offsets, found = scan(first + damaged + third, room=room)
        if 12 <= place < 16:
            assert offsets == [0, 2, 4]
        else:
            assert offsets[:1] == [0]
            assert 2 not in offsets
            assert (found.valid_bytes, found.next_offset) == (len(first), 2)
            assert found.problem


def test_batch_that_reaches_into_the_next_segment_is_not_good() -> None:
    """Its offset is damaged, which no checksum covers, and no batch after it in its own segment says so."""
    fs = MemoryFiles()
    fs.write_bytes("/log", v2(0, 2) + v2(0x0100_0002, 2))
    found = SegmentScan(fs.open("/log"), 0, end_offset=4)
    assert [fields[0] for _, _, _, fields in found] == [0]
    assert (found.next_offset, found.problem) != (0, "")


@pytest.mark.parametrize("kept", [1, 16, 17, 60, 61, 70])
def test_torn_batch_at_the_end_is_left_out(kept: int) -> None:
    """A batch that was written in part only is a problem, and the bytes before it are good."""
    first = v2(0)
    offsets, found = scan(first + v2(1)[:kept])
    assert offsets == [0]
    assert found.valid_bytes == len(first)
    assert "no whole batch" in found.problem


def test_zeros_after_the_last_batch_are_a_problem() -> None:
    """A tail that was preallocated, or never written, is to be cut."""
    offsets, found = scan(v2(0) + bytes(4096))
    assert offsets == [0]
    assert found.problem


def test_old_formats_are_checked_too() -> None:
    """Messages of V0 and V1 pass with their CRC-32, at their own offset, and not with a wrong one."""
    good = old_message(0, 5, b"") + old_message(1, 6, b"one") + old_message(0, 9, b"two")
    offsets, found = scan(good + v2(10), base_offset=5)
    assert offsets == [5, 6, 9, 10]
    assert found.problem == ""
    damaged = bytearray(good)
    damaged[-1] ^= 1
    offsets, found = scan(bytes(damaged), base_offset=5)
    assert offsets == [5, 6]
    assert "checksum" in found.problem


@pytest.mark.parametrize(("base", "offsets"), [(0, (0, 0)), (0, (5, 6, 6)), (10, (9,)), (0, (0, 1 << 31))])
def test_offsets_that_do_not_ascend_within_the_segment_are_a_problem(base: int, offsets: tuple[int, ...]) -> None:
    """No batch may be before its predecessor, before the segment, or too far from its base for the indexes."""
    found = scan(b"".join(v2(offset) for offset in offsets), base_offset=base)[1]
    assert found.valid_bytes == len(v2(0)) * (len(offsets) - 1)
    assert "offset" in found.problem
