"""What was measured lately: values over time in memory of a fixed size, the oldest forgotten for the newest.

Of the last round all values are known, also those of series for which there is no memory.
Owns the memory and its bounds; what is measured, and how often, is `sampling`. Any thread may read.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from enum import StrEnum
from threading import Lock
from typing import Final, NamedTuple

SLOTS: Final = 360
"""Rounds that are kept: an hour at one in ten seconds."""
MOST_SERIES: Final = 4000
"""With four bytes a value, six megabytes."""


class SeriesKind(StrEnum):
    """What a series is about."""

    RECORDS_PER_S = "records/s"
    """Written to a topic, or to all (no name)."""
    LAG = "lag"
    """Records that a group is behind, or all groups (no name); of a group also by partition."""
    COMMITTED_PER_S = "committed/s"
    """Records that a group has committed."""
    LATENCY_MEDIAN = "median"
    """Seconds that half of the requests of a kind took at most."""
    LATENCY_P99 = "p99"
    """Seconds that 99 of 100 requests of a kind took at most."""
    REQUESTS_PER_S = "requests/s"
    """Requests of a kind."""


class SeriesKey(NamedTuple):
    """Which series; an empty name stands for all together, an empty part for the whole of what has the name."""

    kind: SeriesKind
    name: str = ""
    part: str = ""
    """Of a group the partition, `topic-0`."""


class History:
    """The last rounds of all series."""

    def __init__(self, slots: int = SLOTS, most_series: int = MOST_SERIES) -> None:
        self._slots = slots
        self._most_series = most_series
        self._lock = Lock()
        self._times = array("d")
        self._series: dict[SeriesKey, array[float]] = {}
        self._written: dict[SeriesKey, int] = {}
        self._rounds = 0
        self._last: Mapping[SeriesKey, float] = {}
        self.left_out = 0
        """Series of the last round for which there was no memory."""
        self.problem = ""
        """Why the last round was not measured, in a sentence; empty where it was."""

    def record(self, time_s: float, values: Mapping[SeriesKey, float]) -> None:
        """Keep the values of a round; of too many series the first are kept. Time is in seconds since 1970.

        Parts have half of the memory at most: there are many, and a topic or group that comes later needs a place, too.
        """
        with self._lock:
            place = self._rounds % self._slots
            if len(self._times) < self._slots:
                self._times.append(time_s)
            else:
                self._times[place] = time_s
            for kept in self._series.values():
                kept[place] = math.nan
            self._forget_gone()
            left_out = 0
            for key, value in values.items():
                series = self._series.get(key)
                if series is None:
                    if len(self._series) >= (self._most_series // 2 if key.part else self._most_series):
                        left_out += 1
                        continue
                    series = self._series[key] = array("f", [math.nan]) * self._slots
                series[place] = value
                self._written[key] = self._rounds
            self.left_out = left_out
            self._last = dict(values)
            self._rounds += 1

    def times(self) -> list[float]:
        """Return the times of the rounds, oldest first."""
        with self._lock:
            return self._in_order(self._times)

    def values(self, key: SeriesKey) -> list[float]:
        """Return the values of a series at `times`, NaN where it was not measured."""
        with self._lock:
            series = self._series.get(key)
            if series is None:
                return [math.nan] * len(self._times)
            return self._in_order(series[: len(self._times)] if self._rounds < self._slots else series)

    def lines(self, keys: Iterable[SeriesKey]) -> tuple[list[float], dict[SeriesKey, list[float]]]:
        """Return times and the values of several series at one moment."""
        with self._lock:
            count = len(self._times)
            found = {
                key: self._in_order(series[:count]) for key in keys if (series := self._series.get(key)) is not None
            }
            return self._in_order(self._times), found

    def latest(self, key: SeriesKey) -> float | None:
        """Return the value of the last round, None where it has none."""
        return self._last.get(key)

    def latest_of(self, kind: SeriesKind) -> dict[str, float]:
        """Return the values of the last round of all that is of a kind, by name."""
        return {key.name: value for key, value in self._last.items() if key.kind is kind and not key.part}

    def largest(self, kind: SeriesKind, count: int, of: str = "") -> list[SeriesKey]:
        """Return the series of a kind with the largest values of all that is kept, largest first; not the sum of all.

        With `of` they are the parts of what has this name.
        """
        with self._lock:
            found = [
                (max((value for value in series if not math.isnan(value)), default=0.0), key)
                for key, series in self._series.items()
                if key.kind is kind and key.name and (key.name == of and key.part if of else not key.part)
            ]
        return [key for value, key in sorted(found, key=lambda each: (-each[0], each[1]))[:count] if value > 0]

    def _forget_gone(self) -> None:
        """Give back the memory of what has not been there in any round that is kept."""
        for key in [key for key, last in self._written.items() if self._rounds - last >= self._slots]:
            del self._series[key], self._written[key]

    def _in_order(self, values: array[float]) -> list[float]:
        if self._rounds <= self._slots:
            return list(values)
        place = self._rounds % self._slots
        return [*values[place:], *values[:place]]
