"""Percentiles in bounded memory."""

import math
import sys

from hypothesis import given
from hypothesis import strategies as st

from odradek.load.histogram import MAX_VALUE, Histogram


def _of(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


@given(st.lists(st.integers(0, MAX_VALUE), min_size=1, max_size=200), st.floats(0.1, 100))
def test_percentiles_are_within_one_percent(values: list[int], percent: float) -> None:
    """Never below the true one, at most one percent above it, never above the largest value."""
    found = _of(values).percentile(percent)
    true = sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]
    assert true <= found <= max(values)
    assert found <= true * 1.01 + 1


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_count_mean_and_maximum_are_exact(values: list[int]) -> None:
    """They are kept beside the buckets."""
    histogram = _of(values)
    assert (histogram.count, histogram.max) == (len(values), max(values))
    assert histogram.mean == sum(values) / len(values)


def test_small_values_are_exact() -> None:
    """Below 256 each value has its own bucket."""
    histogram = _of(list(range(256)))
    assert [histogram.percentile(100 * (each + 1) / 256) for each in range(256)] == list(range(256))


def test_values_out_of_range_count_as_the_nearest() -> None:
    """A clock that was set back, or a wait of years."""
    histogram = _of([-5, MAX_VALUE + 1])
    assert (histogram.percentile(50), histogram.max) == (0, MAX_VALUE)


def test_nothing_counted() -> None:
    """Everything is 0."""
    assert (_of([]).percentile(99), _of([]).mean, _of([]).max) == (0, 0.0, 0)


def test_memory_does_not_grow() -> None:
    """The buckets take 36 KiB, for any number of values."""
    histogram = Histogram()
    before = sys.getsizeof(histogram._buckets)
    histogram.add(123_456, times=10**12)
    assert sys.getsizeof(histogram._buckets) == before < 40_000
