"""How fast something comes, over the last seconds, and how long to wait where that is too fast.

Kafka's `Rate` over a `SampledStat`, to the millisecond: values are added up in samples of a window's length, which
begin with a value and not with the clock; a sample counts until its last value is as old as all windows are long. The
time that a rate is taken over is that since the oldest sample began, but never less than all windows but one and what
of the last has passed. Times are in milliseconds of a clock that never goes back.
"""

from __future__ import annotations

from collections import deque
from math import floor
from typing import NamedTuple


class Windows(NamedTuple):
    """What rates are measured over; quota.window.num and quota.window.size.seconds."""

    number: int = 11
    size_s: int = 1

    @property
    def size_ms(self) -> int:
        """Length of one in milliseconds."""
        return self.size_s * 1000

    @property
    def shortest_s(self) -> int:
        """The shortest time that a rate is ever taken over, in seconds."""
        return (self.number - 1) * self.size_s


class _Sample:
    __slots__ = ("last_ms", "start_ms", "total")

    def __init__(self, now_ms: float) -> None:
        self.begin(now_ms)

    def begin(self, now_ms: float) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0


class Rate:
    """What came in the last windows."""

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: deque[_Sample] = deque(maxlen=windows.number + 1)

    def record(self, value: float, now_ms: float) -> None:
        """Note what came; a value below zero takes back what was noted."""
        samples = self._samples
        if not samples or now_ms - samples[-1].start_ms >= self._windows.size_ms:
            samples.append(_Sample(now_ms))
        newest = samples[-1]
        newest.total += value
        newest.last_ms = now_ms

    def total(self, now_ms: float) -> float:
        """Return what came in the samples that count."""
        expiry_ms = self._windows.number * self._windows.size_ms
        total = 0.0
        for sample in self._samples:
            if now_ms - sample.last_ms >= expiry_ms:
                sample.begin(now_ms)
            total += sample.total
        return total

    def measured_ms(self, now_ms: float) -> float:
        """Return the time that the rate is taken over; `total` has been asked for at the same time."""
        number, size_ms = self._windows.number, self._windows.size_ms
        elapsed = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        missing = number - 1 - int(elapsed // size_ms)
        if missing > 0:
            elapsed += missing * size_ms
        return max(elapsed, 1.0)

    def throttle_ms(self, limit: float, now_ms: float, extra: float = 0.0) -> int:
        """Return for how long nothing may come until the rate is `limit` a second, 0 if it is not above that.

        `extra` counts as if it had been noted. A limit that is no number is none, as in Kafka.
        """
        total = self.total(now_ms) + extra
        measured_ms = self.measured_ms(now_ms)
        rate = total / (measured_ms / 1000)
        if not rate > limit:
            return 0
        return floor((rate - limit) / limit * measured_ms + 0.5)

    def room(self, limit: float, now_ms: float) -> float:
        """Return how much more may come now without the rate being above `limit`."""
        return limit * self.measured_ms(now_ms) / 1000 - self.total(now_ms)
