"""The row of segments."""

import pytest

from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.log_segments import Segments
from odradek.storage.segment.segment import Segment
from tests.support.memory_files import MemoryFiles


def a_segment(base_offset: int) -> Segment:
    return Segment(MemoryFiles(), "/d", base_offset, IndexSettings(4096, 1 << 20), 0, 0)


def bases(segments: list[Segment]) -> list[int]:
    return [segment.base_offset for segment in segments]


@pytest.mark.parametrize(
    ("offset", "base"), [(0, 10), (10, 10), (19, 10), (20, 20), (29, 20), (30, 30), (1000, 30), (9, 10)]
)
def test_segment_that_holds_an_offset(offset: int, base: int) -> None:
    """It is the last one that begins at the offset or before; the first one for offsets before all."""
    segments = Segments([a_segment(20), a_segment(10), a_segment(30)])
    assert segments.holding(offset).base_offset == base
    assert segments.since(offset)[0].base_offset == base
    assert bases(segments.since(offset)) == [found for found in (10, 20, 30) if found >= base]


@pytest.mark.parametrize(
    ("offset", "before", "above"),
    [(9, [], [10, 20, 30]), (10, [], [20, 30]), (20, [10], [30]), (29, [10], [30]), (1000, [10, 20], [])],
)
def test_segments_that_lie_wholly_on_one_side_of_an_offset(offset: int, before: list[int], above: list[int]) -> None:
    """One that has the offset is on neither side; the last one reaches as far as one asks."""
    segments = Segments([a_segment(10), a_segment(20), a_segment(30)])
    assert bases(segments.before(offset)) == before
    assert bases(segments.above(offset)) == above


def test_segments_are_added_replaced_and_removed() -> None:
    """The order is kept, and the last one is the active one."""
    segments = Segments([a_segment(0)])
    segments.add(a_segment(5))
    assert (segments.active.base_offset, segments.first.base_offset, len(segments)) == (5, 0, 2)
    assert segments.after(segments.first) is segments.active
    assert segments.after(segments.active) is None
    segments.replace([segments.first], [a_segment(1), a_segment(3)])
    assert bases(list(segments)) == [1, 3, 5]
    segments.replace([segments.active], [])
    assert segments.active.base_offset == 3
    with pytest.raises(AssertionError):
        segments.add(a_segment(3))
