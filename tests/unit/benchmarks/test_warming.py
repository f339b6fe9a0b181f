"""When a broker counts as warm."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from benchmarks.clients.warming import MOST_STRETCHES, STEADY_STRETCHES, stretches_until_steady


def _stretches(costs: Iterator[float]) -> int:
    return stretches_until_steady(lambda: next(costs))


def test_it_is_warm_once_nothing_is_gained_any_more() -> None:
    """After the last stretch that was better, as many follow as are to bring nothing; noise of a percent is no gain."""
    assert _stretches(chain((100.0, 60.0, 50.0), repeat(49.6))) == 3 + STEADY_STRETCHES


def test_one_slow_stretch_is_not_the_end() -> None:
    """A stretch in which garbage was collected says nothing of those after it."""
    assert _stretches(chain((100.0, 60.0, 80.0, 40.0), repeat(41.0))) == 4 + STEADY_STRETCHES


def test_warming_ends_some_time() -> None:
    """Where every stretch is better than all before, it goes on for no longer than is reasonable."""
    assert _stretches(100.0 * 0.9**number for number in range(100)) == MOST_STRETCHES
