"""A histogram of durations in bounded memory: exact counts, values to within one percent.

Log-linear, as HdrHistogram: values below 256 have a bucket each, and every doubling after that has 128.
"""

from __future__ import annotations

from array import array

_SUB_BITS = 7
_SUB_BUCKETS = 1 << _SUB_BITS
_MAX_BITS = 42
MAX_VALUE = (1 << _MAX_BITS) - 1
"""Larger values count as this one; in microseconds it is 50 days."""


class Histogram:
    """Counts of whole numbers of 0 or more, with percentiles."""

    def __init__(self) -> None:
        self.count = 0
        self.max = 0
        self._sum = 0
        self._buckets = array("Q", bytes(8 * _SUB_BUCKETS * (_MAX_BITS - _SUB_BITS + 1)))

    @property
    def mean(self) -> float:
        """The mean, exact; 0 where nothing was counted."""
        return self._sum / self.count if self.count else 0.0

    def add(self, value: int, times: int = 1) -> None:
        """Count a value; one below 0, as clocks that are set back make, counts as 0."""
        value = min(max(0, value), MAX_VALUE)
        self.count += times
        self._sum += value * times
        self.max = max(self.max, value)
        self._buckets[_bucket(value)] += times

    def percentile(self, percent: float) -> int:
        """Return a value that so many percent of the values do not exceed, 0 where nothing was counted.

        It is the largest value of its bucket, and never more than the maximum.
        """
        wanted = self.count * percent / 100
        seen = 0
        for bucket, times in enumerate(self._buckets):
            seen += times
            if times and seen >= wanted:
                return min(_largest(bucket), self.max)
        return self.max


def _bucket(value: int) -> int:
    shift = max(0, value.bit_length() - _SUB_BITS - 1)
    return (shift << _SUB_BITS) + (value >> shift)


def _largest(bucket: int) -> int:
    shift = max(0, (bucket >> _SUB_BITS) - 1)
    return (((bucket - (shift << _SUB_BITS)) + 1) << shift) - 1
