"""How long things take: counts in buckets of fixed bounds, and the quantiles of the last minutes.

A duration costs one bisection and one addition; all else is done when somebody looks. Buckets are a fifth of their
value wide, so that a quantile is off by a tenth at most.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Final

from odradek.metrics.samples import Distribution

FIRST_NS: Final = 1_000
STEPS: Final = 108
BOUNDS_NS: Final = tuple(round(FIRST_NS * 2 ** (step / 4)) for step in range(STEPS + 1))
"""Upper bounds of the buckets, from a microsecond to two minutes; what takes longer has a bucket of its own."""

WINDOW_S: Final = 300.0
"""How long what was measured counts for quantiles."""
LOOK_S: Final = 30.0
"""How often it is noted what there was, so that it can be told what came later."""
QUANTILES: Final = (("0.50", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("0.98", 0.98), ("0.99", 0.99), ("0.999", 0.999))
LE_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds that histograms are told with."""


class Durations:
    """How many durations there were in each bucket, and their sum."""

    __slots__ = ("buckets", "total_ns")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_NS) + 1)
        self.total_ns = 0

    def add(self, took_ns: int) -> None:
        """Count one."""
        self.buckets[bisect_left(BOUNDS_NS, took_ns)] += 1
        self.total_ns += took_ns

    def add_zeros(self, count: int) -> None:
        """Count so many that took no time."""
        self.buckets[0] += count

    def add_all(self, other: Durations) -> None:
        """Count those of another."""
        self.buckets = [mine + more for mine, more in zip(self.buckets, other.buckets, strict=True)]
        self.total_ns += other.total_ns

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.buckets)


class Recent:
    """The quantiles of what was counted lately; there is one of these for each that is told."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Sequence[int]]] = deque()
        """What had been counted at which time, the oldest first."""

    def summary(self, durations: Durations, now_s: float, unit_ns: float) -> Distribution:
        """Return count and sum of all, and the quantiles of the last minutes, none if nothing came; `unit_ns` is how
        many nanoseconds the unit has that values are told in."""
        seen = self._seen
        while len(seen) > 1 and seen[1][0] <= now_s - WINDOW_S:
            seen.popleft()
        before = seen[0][1] if seen and seen[0][0] <= now_s - LOOK_S else None
        recent = durations.buckets
        if before is not None:
            recent = [now - then for now, then in zip(recent, before, strict=True)]
            if not any(recent):
                recent = durations.buckets
        if not seen or seen[-1][0] <= now_s - LOOK_S:
            seen.append((now_s, tuple(durations.buckets)))
        parts = [(text, quantile_ns(recent, share) / unit_ns) for text, share in QUANTILES] if any(recent) else []
        return Distribution(durations.count, durations.total_ns / unit_ns, parts)


def quantile_ns(buckets: Sequence[int], share: float) -> float:
    """Return the duration that a share of those in the buckets did not exceed, as if each bucket was filled evenly."""
    rank = share * sum(buckets)
    below = 0
    for place, count in enumerate(buckets):
        if count and below + count >= rank:
            first = BOUNDS_NS[place - 1] if place else 0
            last = BOUNDS_NS[place] if place < len(BOUNDS_NS) else BOUNDS_NS[-1]
            return first + (last - first) * max(rank - below, 0) / count
        below += count
    return 0.0


def histogram(durations: Durations) -> Distribution:
    """Return the durations as a histogram of Prometheus, in seconds; each bound counts what lies safely below it."""
    parts: list[tuple[str, float]] = []
    below = place = 0
    for bound_s in LE_S:
        while place < len(BOUNDS_NS) and BOUNDS_NS[place] <= bound_s * 1e9:
            below += durations.buckets[place]
            place += 1
        parts.append((f"{bound_s:g}", below))
    count = durations.count
    parts.append(("+Inf", count))
    return Distribution(count, durations.total_ns / 1e9, parts)
