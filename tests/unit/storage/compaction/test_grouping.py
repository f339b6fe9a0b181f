"""Which segments are written together."""

from odradek.storage.compaction.grouping import MAX_SOURCES, SegmentSizes, group_segments


def sizes(*log_sizes: int, index: int = 1, time_index: int = 1, step: int = 10) -> list[SegmentSizes]:
    """Segments of these sizes."""
    return [
        SegmentSizes(number * step, (number + 1) * step, size, index, time_index)
        for number, size in enumerate(log_sizes)
    ]


def counts(groups: list[tuple[SegmentSizes, ...]]) -> list[int]:
    """How many segments each group has."""
    return [len(group) for group in groups]


def test_groups_are_as_large_as_a_segment_may_be() -> None:
    """Data together is at most segment.bytes; order is kept, and nothing is left out."""
    segments = sizes(40, 40, 40, 100, 10, 90, 1)
    groups = group_segments(segments, 100, 1000)
    assert counts(groups) == [2, 1, 1, 2, 1]
    assert [segment for group in groups for segment in group] == segments


def test_indexes_together_must_fit_too() -> None:
    """Neither kind of index together is larger than segment.index.bytes."""
    assert counts(group_segments(sizes(1, 1, 1, index=40), 1000, 100)) == [2, 1]
    assert counts(group_segments(sizes(1, 1, 1, time_index=60), 1000, 100)) == [1, 1, 1]


def test_a_segment_that_is_too_large_alone_is_a_group() -> None:
    """Limits that were lowered meanwhile keep nothing from being compacted."""
    assert counts(group_segments(sizes(500, 1), 100, 1000)) == [1, 1]


def test_offsets_of_a_group_fit_into_an_index() -> None:
    """The last offset is at most 2^31 - 1 after the first one's base; empty segments do not count."""
    assert counts(group_segments(sizes(1, 1, 1, step=1 << 30), 1000, 1000)) == [2, 1]
    assert counts(group_segments(sizes(1, 1, 0, step=1 << 30), 1000, 1000)) == [3]


def test_a_group_has_a_bounded_number_of_segments() -> None:
    """However small they are, so that swapping a group in is quick."""
    assert counts(group_segments(sizes(*[0] * (MAX_SOURCES + 1)), 1000, 1000)) == [MAX_SOURCES, 1]


def test_no_segments_make_no_groups() -> None:
    """Nothing in, nothing out."""
    assert group_segments([], 100, 100) == []
