"""Rates as Kafka measures them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.quotas.rates import Rate, Windows

KAFKAS = Windows()
LIMIT = 50_000.0


class NaiveRate:
    """Kafka's `SampledStat` and `Rate`, word for word: a ring of samples that are used again."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.samples: list[list[float]] = []
        """Start, last event and value of each."""
        self.current = 0

    def record(self, value: float, now: float) -> None:
        if not self.samples:
            self.samples.append([now, now, 0.0])
        if now - self.samples[self.current][0] >= self.windows.size_ms:
            self.current = (self.current + 1) % (self.windows.number + 1)
            if self.current >= len(self.samples):
                self.samples.append([now, now, 0.0])
            else:
                self.samples[self.current] = [now, now, 0.0]
        self.samples[self.current][2] += value
        self.samples[self.current][1] = now

    def measure(self, now: float) -> tuple[float, float]:
        """Return the rate, and the milliseconds that it is taken over."""
        for sample in self.samples:
            if now - sample[1] >= self.windows.number * self.windows.size_ms:
                sample[:] = [now, now, 0.0]
        if not self.samples:
            self.samples.append([now, now, 0.0])
        elapsed = now - min(sample[0] for sample in self.samples)
        full = int(elapsed / self.windows.size_ms)
        if full < self.windows.number - 1:
            elapsed += (self.windows.number - 1 - full) * self.windows.size_ms
        elapsed = max(elapsed, 1)
        return sum(sample[2] for sample in self.samples) / (elapsed / 1000), elapsed

    def throttle_ms(self, limit: float, now: float) -> int:
        rate, measured = self.measure(now)
        return math.floor((rate - limit) / limit * measured + 0.5) if rate > limit else 0


def test_the_example_that_was_seen_on_kafka() -> None:
    """50 kB/s: five times 100 kB pass, then 1697, 3998 and 5993 ms, each waited for before the next."""
    rate = Rate(KAFKAS)
    now, told = 0.0, []
    for _ in range(5):
        rate.record(100_000, now)
        told.append(rate.throttle_ms(LIMIT, now))
    assert told == [0] * 5
    for at in (303, 2002, 6007):
        rate.record(100_000, at)
        told.append(rate.throttle_ms(LIMIT, at))
    assert told[5:] == [1697, 3998, 5993]


steps = st.lists(
    st.tuples(st.integers(0, 4000) | st.integers(0, 30), st.integers(-50, 400_000)), min_size=1, max_size=60
)


@given(steps, st.sampled_from([Windows(), Windows(2, 1), Windows(1, 1), Windows(5, 3)]), st.floats(0.5, 1e6))
def test_rates_are_those_of_the_naive_model(sequence: list[tuple[int, int]], windows: Windows, limit: float) -> None:
    """Whatever comes, whenever: throttle times are the same, and so is what still has room."""
    rate, naive, now = Rate(windows), NaiveRate(windows), 1000
    for pause, value in sequence:
        now += pause
        rate.record(value, now)
        naive.record(value, now)
        expected, measured = naive.measure(now)
        assert rate.total(now) / (rate.measured_ms(now) / 1000) == pytest.approx(expected)
        assert rate.measured_ms(now) == measured
        assert rate.throttle_ms(limit, now) == pytest.approx(naive.throttle_ms(limit, now), abs=1)
        assert rate.room(limit, now) == pytest.approx(limit * measured / 1000 - expected * measured / 1000, abs=1e-3)


def test_what_is_to_come_counts_as_if_it_had() -> None:
    """And is not noted by that."""
    rate = Rate(KAFKAS)
    assert rate.throttle_ms(LIMIT, 0.0, 600_000) == 2000
    assert rate.throttle_ms(LIMIT, 0.0, 500_000) == 0
    assert rate.total(0.0) == 0


def test_a_limit_that_is_no_number_limits_nothing() -> None:
    """Kafka's log may have one."""
    rate = Rate(KAFKAS)
    rate.record(1e12, 0.0)
    assert rate.throttle_ms(math.nan, 0.0) == 0


def test_the_shortest_time_is_that_of_all_windows_but_one() -> None:
    """Ten seconds, by Kafka's defaults."""
    assert (KAFKAS.shortest_s, Windows(3, 5).shortest_s) == (10, 10)
