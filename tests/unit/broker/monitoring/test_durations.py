"""Durations in buckets, and the quantiles of the last minutes."""

import random

import pytest

from odradek.broker.monitoring.durations import (
    BOUNDS_NS,
    LOOK_S,
    QUANTILES,
    WINDOW_S,
    Durations,
    Recent,
    histogram,
    quantile_ns,
)

MS = 1_000_000


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_off_by_a_tenth_at_most(seed: int) -> None:
    """Whatever the distribution is."""
    chance = random.Random(seed)
    values = sorted(round(10 ** chance.uniform(3.2, 9)) for _ in range(5_000))
    durations = Durations()
    for value in values:
        durations.add(value)
    for _, share in QUANTILES:
        true = values[min(round(share * len(values)), len(values) - 1)]
        assert quantile_ns(durations.buckets, share) == pytest.approx(true, rel=0.2)
    assert durations.count == len(values)
    assert durations.total_ns == sum(values)


@pytest.mark.parametrize("took", [0, 1, BOUNDS_NS[-1], BOUNDS_NS[-1] + 1, 10**15])
def test_any_duration_has_a_bucket(took: int) -> None:
    """What takes for ever, too."""
    durations = Durations()
    durations.add(took)
    assert durations.count == 1
    assert 0 <= quantile_ns(durations.buckets, 0.5) <= BOUNDS_NS[-1]


def test_quantiles_forget_what_is_long_ago() -> None:
    """Counts and sums do not."""
    durations, recent = Durations(), Recent()
    for _ in range(1_000):
        durations.add(900 * MS)
    first = recent.summary(durations, 100.0, MS)
    assert dict(first.parts)["0.50"] == pytest.approx(900, rel=0.2)
    now = 100.0
    while now < 100.0 + WINDOW_S + 3 * LOOK_S:
        now += 15
        durations.add(1 * MS)
        last = recent.summary(durations, now, MS)
    assert dict(last.parts)["0.999"] == pytest.approx(1, rel=0.2)
    assert last.observed == 1_000 + (WINDOW_S + 3 * LOOK_S) / 15
    assert last.total == pytest.approx(900_000 + last.observed - 1_000)


def test_nothing_has_no_quantiles() -> None:
    """Rather than zeros that look like times."""
    assert Recent().summary(Durations(), 1.0, MS).parts == []


def test_histogram_counts_what_is_below_each_bound() -> None:
    """Cumulative, and all at the end."""
    durations = Durations()
    for took in (50_000, 3 * MS, 20_000 * MS):
        durations.add(took)
    parts = dict(histogram(durations).parts)
    assert (parts["0.0001"], parts["0.005"], parts["10"], parts["+Inf"]) == (1, 2, 2, 3)
    assert list(parts.values()) == sorted(parts.values())
