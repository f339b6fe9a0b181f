"""Where a search ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from odradek.console.searching import RecordFilter, SearchBounds, sift
from odradek.records.consumed import Consumed


def _records(count: int, size: int = 10) -> Iterator[Consumed]:
    for number in range(count):
        yield Consumed("t", 0, number, number, "create", b"%d" % number, b"v" * size, [])


@pytest.mark.parametrize(
    ("bounds", "reason", "records", "found"),
    [
        (SearchBounds(5, 1000), "5 are shown at once", 5, [0, 1, 2, 3, 4]),
        (SearchBounds(1000, 7), "7 records were looked through", 7, list(range(7))),
        (SearchBounds(1000, 1000, bytes=1 << 20), "1 MiB were looked through", 11, list(range(11))),
        (SearchBounds(1000, 1000, found_bytes=1 << 20), "1 MiB are shown at once", 11, list(range(11))),
        (SearchBounds(1000, 1000), "", 20, list(range(20))),
        (SearchBounds(2, 1000, newest=True), "", 20, [18, 19]),
        (SearchBounds(1000, 1000, newest=True, found_bytes=3 << 20), "", 20, None),
    ],
)
def test_first_bound_ends_it(bounds: SearchBounds, reason: str, records: int, found: list[int] | None) -> None:
    """A search ends at the first of its bounds, says which, and where to go on."""
    result = sift(_records(20, 100_000), {0: 0}, RecordFilter().accepts, bounds, lambda: False)
    assert (result.ended_by, result.records, result.next_offsets) == (reason, records, {0: records})
    if found is None:
        assert sum(len(each.value or b"") for each in result.found) <= bounds.found_bytes
        assert result.found[-1].offset == 19
    else:
        assert [each.offset for each in result.found] == found


def test_time_ends_it() -> None:
    """A search that is late ends, with what it has."""
    result = sift(_records(20), {0: 0}, RecordFilter().accepts, SearchBounds(100, 100), lambda: True)
    assert (result.ended_by, len(result.found)) == ("10 seconds are over", 1)


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [
        (RecordFilter(), True),
        (RecordFilter(key=b"ke"), True),
        (RecordFilter(key=b"no"), False),
        (RecordFilter(key=b"key", value=b"no"), False),
        (RecordFilter(header_name="h"), True),
        (RecordFilter(header_name="other"), False),
        (RecordFilter(header_value=b"lu"), True),
        (RecordFilter(header_name="none", header_value=b"x"), False),
        (RecordFilter(header_name="none"), True),
    ],
)
def test_filter(wanted: RecordFilter, accepted: bool) -> None:
    """All that is asked for has to be there; null is nothing that anything is in."""
    record = Consumed("t", 0, 0, None, "none", b"key", None, [("h", b"value"), ("none", None)])
    assert wanted.accepts(record) is accepted
