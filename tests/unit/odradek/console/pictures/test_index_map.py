"""Indexes over their file, and the way of a look-up."""

from itertools import count
from xml.etree import ElementTree

import pytest

from odradek.console.pictures.index_map import MOST_MARKS, index_map, scan_map
from odradek.logs.explain import Explanation, explain_offset, explain_timestamp
from odradek.logs.index_marks import IndexMarks, index_marks
from odradek.storage.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, file_name
from tests.support.lookup_example import FIRST_TIME_MS, SEGMENTS, SOUGHT, make_example
from tests.support.memory_files import MemoryFiles


@pytest.fixture
def example() -> tuple[MemoryFiles, str]:
    fs = MemoryFiles()
    return fs, make_example("/data", fs)


def _looked_up(example: tuple[MemoryFiles, str], offset: int) -> tuple[IndexMarks, Explanation]:
    told = explain_offset(*example, offset, count(0, 1000).__next__)
    assert told.segment is not None
    return index_marks(*example, told.segment, MOST_MARKS), told


def test_entries_lead_to_their_bytes(example: tuple[MemoryFiles, str]) -> None:
    """Each line of the offset index ends over the byte that its entry names, to scale."""
    marks, told = _looked_up(example, SOUGHT)
    drawn = ElementTree.fromstring(index_map(marks, told.segment_size))
    [lines] = [each.get("d", "") for each in drawn.iter("path") if each.get("class") == "entry"]
    ends = [float(piece.split("L")[-1].split()[0]) for piece in lines.split("M")[1:]]
    assert ends == pytest.approx([1000 * position / 1658 for position in (497, 997, 1497)], abs=0.01)


def test_the_way_of_a_look_up_stands_out(example: tuple[MemoryFiles, str]) -> None:
    """The probed entries, the one that counts, and the batch that was found are drawn and told in words."""
    marks, told = _looked_up(example, SOUGHT)
    drawn = ElementTree.fromstring(index_map(marks, told.segment_size, told))
    looks = [each.get("class") for each in drawn.iter("rect")]
    assert looks.count("probe") == 1
    assert looks.count("probe last") == 1
    assert looks.count("batch found") == 1
    assert "probed 2 entries and went on from byte 497 to the batch at byte 897" in (drawn.get("aria-label") or "")


def test_the_batches_of_the_way_are_to_scale(example: tuple[MemoryFiles, str]) -> None:
    """Four batches of a hundred bytes are stepped over, the fifth is the one."""
    _, told = _looked_up(example, SOUGHT)
    drawn = scan_map(told)
    assert drawn is not None
    batches = [each for each in ElementTree.fromstring(drawn).iter("rect") if "batch" in (each.get("class") or "")]
    assert [float(each.get("width", "")) for each in batches] == pytest.approx([200] * 5)
    assert batches[-1].get("class") == "batch found"


def test_without_indexes_there_is_a_picture(example: tuple[MemoryFiles, str]) -> None:
    """Where both indexes are gone, the way begins at the first byte of the file."""
    fs, directory = example
    for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        fs.unlink(f"{directory}/{file_name(SEGMENTS[1], suffix)}")
    marks, told = _looked_up(example, SEGMENTS[1] + 13)
    assert "offset index, 0 entries" in index_map(marks, told.segment_size, told)
    assert scan_map(told) is not None


@pytest.mark.parametrize("offset", [-1, 2**62])
def test_what_is_not_found_has_its_picture(example: tuple[MemoryFiles, str], offset: int) -> None:
    """A look-up that ends early is drawn as far as it came."""
    told = explain_offset(*example, offset, count(0, 1000).__next__)
    if told.segment is not None:
        index_map(index_marks(*example, told.segment, MOST_MARKS), told.segment_size, told)
    scan_map(told)
    told = explain_timestamp(*example, FIRST_TIME_MS + SOUGHT * 1000, count(0, 1000).__next__)
    assert told.segment is not None
    drawn = index_map(index_marks(*example, told.segment, MOST_MARKS), told.segment_size, told)
    assert drawn.count('class="probe') == 4
