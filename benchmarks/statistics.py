"""Pure arithmetic on measured samples: percentiles and medians.

Knows nothing of brokers, clocks or units; a sample is a number and what goes in comes out in the same unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Percentiles:
    """What is told of a set of samples, in the samples' own unit."""

    count: int
    p50: float
    p99: float
    p999: float

    def scaled(self, factor: float) -> Percentiles:
        """The same percentiles in another unit: each multiplied by `factor`."""
        return Percentiles(self.count, self.p50 * factor, self.p99 * factor, self.p999 * factor)


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """The nearest-rank percentile: the smallest sample that at least `fraction` of all samples do not exceed.

    `ordered` is in ascending order. Nearest rank, not interpolation, so that every figure is one that was measured.

    Raises ValueError when there are no samples or `fraction` lies outside (0, 1].
    """
    if not ordered:
        raise ValueError("no samples to take a percentile of")
    if not 0 < fraction <= 1:
        raise ValueError(f"a percentile's fraction lies in (0, 1], not {fraction}")
    # The product is rounded first: 0.99 * 200 is 198.00000000000003 in binary, and its rank is 198.
    rank = math.ceil(round(fraction * len(ordered), 9))
    return ordered[max(rank, 1) - 1]


def percentiles(samples: Iterable[float]) -> Percentiles:
    """Median, 99th and 99.9th percentile of `samples`, in any order; ValueError when there are none."""
    ordered = sorted(samples)
    return Percentiles(len(ordered), percentile(ordered, 0.5), percentile(ordered, 0.99), percentile(ordered, 0.999))


def median(samples: Iterable[float]) -> float:
    """The nearest-rank median: always one of the samples; ValueError when there are none."""
    return percentile(sorted(samples), 0.5)
