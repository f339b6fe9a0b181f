"""Where copied records are from, and the places in a copy that stand for offsets of the original."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.cluster.origins import HEADER, CopyFound, Origin, origin_of, place_in_copy
from odradek.pipeline.relay import SOURCE_HEADER

COPY = list[int | None]
"""A log: of each offset the original's, None where a record is not from there."""


def _find(log: COPY, gone: set[int]) -> Any:
    def find(at: int, until: int) -> CopyFound | None:
        there = ((offset, log[offset]) for offset in range(at, until) if offset not in gone)
        return next((CopyFound(offset, source) for offset, source in there if source is not None), None)

    return find


@st.composite
def copied_logs(draw: st.DrawFn) -> COPY:
    """Copies of the offsets 0 to 39 less some that are not wanted, cut short and begun again at what was kept, to
    the end at last; before some of them somebody else wrote."""
    unwanted = draw(st.sets(st.integers(0, 39), max_size=30))
    others = draw(st.sets(st.integers(0, 239), max_size=60))
    log: COPY = []
    kept = copied = 0
    for cut, was_kept in [*draw(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=5)), (40, True)]:
        if cut < kept:
            continue
        for source in range(kept, cut):
            log += [None] if copied in others else []
            log += [] if source in unwanted else [source]
            copied += 1
        kept = cut if was_kept else kept
    return log


@given(copied_logs(), st.sets(st.integers(0, 250)), st.integers(0, 41))
def test_nothing_that_is_wanted_lies_before_the_place(log: COPY, gone: set[int], wanted: int) -> None:
    """Whatever of the original at or after the offset is in the copy comes at the place or later, though copying was
    done again in parts, others wrote too, and compaction has taken records away."""
    place = place_in_copy(0, len(log), wanted, _find(log, gone))
    assert 0 <= place <= len(log)
    assert {source for source in log if source is not None and source >= wanted} == {
        source for source in log[place:] if source is not None and source >= wanted
    }


def test_the_place_is_the_next_record() -> None:
    """In a copy that was made in one go nothing is read again; after all of it comes its end."""
    log: COPY = [*range(0, 100, 2)]
    find = _find(log, set())
    assert [place_in_copy(0, 50, wanted, find) for wanted in (0, 1, 2, 51, 98, 99, 500)] == [0, 1, 1, 26, 49, 50, 50]


def test_the_header_is_the_one_that_the_relay_writes() -> None:
    """Both sides have one name for it, and the last one counts where a copy was copied."""
    assert HEADER == SOURCE_HEADER
    headers = [(HEADER, b"a/0/5"), ("other", b"x"), (HEADER, b"eu.orders/3/77")]
    assert origin_of(headers) == Origin("eu.orders", 3, 77)


@pytest.mark.parametrize(
    "value", [None, "a/0/1", b"", b"a/0", b"a/0/-1", b"a/x/1", b"a/0/1/2", b"a/0/\xff", b"a" * 400]
)
def test_what_is_no_origin_is_none(value: object) -> None:
    """A header that somebody else wrote under the name says nothing."""
    assert origin_of([(HEADER, value)]) is None
