"""Where batches are in a segment."""

import pytest

from odradek.logs.batch_places import batch_around, batches_from
from odradek.logs.index_marks import index_marks
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, file_name
from tests.support.lookup_example import SEGMENTS, SOUGHT, make_example
from tests.support.memory_files import MemoryFiles

SEGMENT = SEGMENTS[1]


@pytest.fixture
def example() -> tuple[MemoryFiles, str]:
    fs = MemoryFiles()
    return fs, make_example("/data", fs)


def _positions(example: tuple[MemoryFiles, str]) -> list[int]:
    return [each.position for each in batches_from(*example, SEGMENT, 0, 100).batches]


def test_a_page_of_batches(example: tuple[MemoryFiles, str]) -> None:
    """Pages join: each says where the next one begins, and the last one says nothing."""
    everything = _positions(example)
    first = batches_from(*example, SEGMENT, 0, 6)
    assert first.next_position is not None
    second = batches_from(*example, SEGMENT, first.next_position, 6)
    assert second.next_position is not None
    third = batches_from(*example, SEGMENT, second.next_position, 6)
    assert [each.position for page in (first, second, third) for each in page.batches] == everything
    assert third.next_position is None


def test_every_byte_belongs_to_a_batch(example: tuple[MemoryFiles, str]) -> None:
    """Each byte of the file leads to the batch that it is in, and to the one before that."""
    fs, directory = example
    starts = _positions(example)
    size = fs.size(f"{directory}/{file_name(SEGMENT, LOG_SUFFIX)}")
    for position in range(0, size, 7):
        found, before = batch_around(fs, directory, SEGMENT, position)
        expected = max(each for each in starts if each <= position)
        assert found is not None
        assert found.position == expected
        assert before == max((each for each in starts if each < expected), default=None)
    assert batch_around(fs, directory, SEGMENT, size) == (None, None)
    assert batch_around(fs, directory, SEGMENT, -1) == (None, None)


@pytest.mark.parametrize("damage", ["missing", "wrong"])
def test_without_a_right_index_it_goes_from_the_start(example: tuple[MemoryFiles, str], damage: str) -> None:
    """An index that is missing, or leads to no batch, costs time only."""
    fs, directory = example
    path = f"{directory}/{file_name(SEGMENT, OFFSET_INDEX_SUFFIX)}"
    starts = _positions(example)
    if damage == "missing":
        fs.unlink(path)
    else:
        fs.write_bytes(path, b"".join(bytes([0, 0, 0, n, 0, 0, 0, n * 50 + 1]) for n in range(1, 6)))
    found, before = batch_around(fs, directory, SEGMENT, 905)
    assert found is not None
    assert (found.position, found.header.base_offset) == (897, SOUGHT)
    assert before == starts[starts.index(897) - 1]


def test_marks_are_the_entries_of_both_indexes(example: tuple[MemoryFiles, str]) -> None:
    """Where there are few, all entries are told, those of time with the byte that their offset leads to."""
    marks = index_marks(*example, SEGMENT, 50)
    assert [(each.offset, each.position) for each in marks.offsets] == [(368772, 497), (368777, 997), (368782, 1497)]
    assert [(each.offset, each.position) for each in marks.times] == [(368772, 497), (368777, 997), (368782, 1497)]
    assert marks.offset_entries == marks.time_entries == 3


def test_of_many_entries_some_are_picked(example: tuple[MemoryFiles, str]) -> None:
    """No more are read than were asked for; the first and the last are among them."""
    fs, directory = example
    entries = b"".join(n.to_bytes(4, "big") + (n * 10).to_bytes(4, "big") for n in range(1, 10_001))
    fs.write_bytes(f"{directory}/{file_name(SEGMENT, OFFSET_INDEX_SUFFIX)}", entries)
    marks = index_marks(fs, directory, SEGMENT, 40)
    assert marks.offset_entries == 10_000
    assert len(marks.offsets) == 40
    assert [marks.offsets[0].slot, marks.offsets[-1].slot] == [0, 9_999]
