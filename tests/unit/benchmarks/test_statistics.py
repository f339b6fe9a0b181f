"""Percentiles are nearest-rank: every figure is a sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics import median, percentile, percentiles


def test_percentile_is_the_smallest_sample_that_so_many_do_not_exceed() -> None:
    """Of 200 samples 0..199 the 99th percentile is the 198th, the median the 100th, the whole the last."""
    samples = range(200)
    assert percentile(samples, 0.99) == 197
    assert percentile(samples, 0.5) == 99
    assert percentile(samples, 1.0) == 199


def test_percentiles_take_samples_in_any_order() -> None:
    """Sorting is the function's own business."""
    found = percentiles([5, 1, 4, 2, 3])
    assert (found.count, found.p50, found.p99, found.p999) == (5, 3, 5, 5)


def test_percentiles_scale_to_another_unit() -> None:
    """Scaling changes the figures and not the count."""
    found = percentiles([1000, 3000]).scaled(1e-3)
    assert (found.count, found.p50, found.p99) == (2, 1, 3)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01])
def test_percentile_refuses_fractions_outside_its_range(fraction: float) -> None:
    """There is no sample that no sample exceeds by more than all."""
    with pytest.raises(ValueError, match="fraction"):
        percentile([1], fraction)


def test_percentile_refuses_no_samples() -> None:
    """Nothing measured has no percentile."""
    with pytest.raises(ValueError, match="no samples"):
        percentiles([])


@given(st.lists(st.integers(), min_size=1), st.floats(min_value=0.001, max_value=1))
def test_percentile_is_a_sample_with_enough_at_or_below_it(samples: list[int], fraction: float) -> None:
    """By definition, and no smaller sample will do."""
    ordered = sorted(samples)
    found = percentile(ordered, fraction)
    at_or_below = sum(sample <= found for sample in samples)
    below = sum(sample < found for sample in samples)
    assert found in samples
    assert at_or_below >= fraction * len(samples) - 1e-6
    assert below < fraction * len(samples) + 1e-6


@given(st.lists(st.integers(), min_size=1))
def test_median_is_a_sample(samples: list[int]) -> None:
    """Never a value between two."""
    assert median(samples) in samples
