"""Measuring the cluster now and then: what was seen in a round, what two rounds say, and the thread that does it.

Offsets, commits and lags come from the cluster itself, in the few requests of `odradek.cluster.exporting`; how long
requests take from the metrics of a broker, where the console was told of them. A round that fails leaves a gap.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from odradek.console.history import History, SeriesKey, SeriesKind
from odradek.metrics.samples import Samples
from odradek.terminal.errors import CommandError

INTERVAL_S: Final = 10.0
LARGEST_SHARE: Final = 0.05
"""Of the time that measuring may take: of a large cluster it is done less often."""
_ALL: Final = ""


@dataclass(slots=True)
class RequestTimes:
    """What a broker tells of the requests of one kind."""

    count: float = 0.0
    """Since the broker began."""
    buckets: dict[float, float] = field(default_factory=dict)
    """Requests that took at most so many seconds, since the broker began."""
    quantiles: dict[float, float] = field(default_factory=dict)
    """Seconds of the last minutes by quantile, where there are no buckets."""


@dataclass(slots=True)
class Sighting:
    """What was seen in a round. Time is in seconds of a clock that never goes back."""

    time_s: float
    ends: dict[tuple[str, str], float] = field(default_factory=dict)
    """End offset of each partition."""
    lags: dict[str, float] = field(default_factory=dict)
    """Of each group."""
    partition_lags: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By group, topic and partition."""
    committed: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """Offset by group, topic and partition."""
    requests: dict[str, RequestTimes] = field(default_factory=dict)
    """By the name of the request."""


def sighting_of(samples: Samples, time_s: float, requests: Mapping[str, RequestTimes] | None = None) -> Sighting:
    """Return what a round is about, out of everything that was collected."""
    seen = Sighting(time_s, requests=dict(requests or {}))
    for labels, value in samples.of("kafka_topic_partition_current_offset").items():
        assert isinstance(value, int | float)
        seen.ends[labels[0], labels[1]] = value
    for labels, value in samples.of("kafka_consumergroup_lag_sum").items():
        assert isinstance(value, int | float)
        seen.lags[labels[0]] = seen.lags.get(labels[0], 0.0) + value
    for labels, value in samples.of("kafka_consumergroup_lag").items():
        assert isinstance(value, int | float)
        seen.partition_lags[labels[0], labels[1], labels[2]] = value
    for labels, value in samples.of("kafka_consumergroup_current_offset").items():
        assert isinstance(value, int | float)
        seen.committed[labels[0], labels[1], labels[2]] = value
    return seen


def compare(before: Sighting | None, now: Sighting) -> dict[SeriesKey, float]:
    """Return the values of a round, those of all together first, and then the largest: what is behind may be left out.

    Without a round before it there are no rates. An offset that went back (a topic made anew) counts for nothing.
    """
    values: dict[SeriesKey, float] = {SeriesKey(SeriesKind.LAG): sum(now.lags.values())} if now.lags else {}
    rates: dict[str, float] = {}
    commits: dict[str, float] = {}
    seconds = now.time_s - before.time_s if before is not None else 0.0
    if before is not None and seconds > 0:
        for partition, end in now.ends.items():
            was = before.ends.get(partition)
            if was is not None:
                rates[partition[0]] = rates.get(partition[0], 0.0) + max(0.0, end - was) / seconds
        for place, offset in now.committed.items():
            was = before.committed.get(place)
            if was is not None:
                commits[place[0]] = commits.get(place[0], 0.0) + max(0.0, offset - was) / seconds
        values[SeriesKey(SeriesKind.RECORDS_PER_S)] = sum(rates.values())
        for name, times in now.requests.items():
            earlier = before.requests.get(name)
            if earlier is not None and times.count >= earlier.count:
                values |= _request_values(name, earlier, times, seconds)
    for kind, found in (
        (SeriesKind.LAG, now.lags),
        (SeriesKind.RECORDS_PER_S, rates),
        (SeriesKind.COMMITTED_PER_S, commits),
    ):
        largest = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        values |= {SeriesKey(kind, name): value for name, value in largest}
    furthest = sorted(now.partition_lags.items(), key=lambda each: (-each[1], each[0]))
    for (group, topic, index), lag in furthest:
        values[SeriesKey(SeriesKind.LAG, group, f"{topic}-{index}")] = lag
    return values


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """Return the value below which a share of what was counted is, evenly spread within a bucket; None for nothing.

    Buckets are counts by upper bound, each with all below it; the last bound is infinite. Follows Prometheus'
    histogram_quantile: what is in the last bucket counts as its lower bound.
    """
    bounds = sorted(buckets)
    total = buckets[bounds[-1]] if bounds else 0.0
    if total <= 0:
        return None
    wanted, lower, counted = share * total, 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted and buckets[bound] > counted:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * (wanted - counted) / (buckets[bound] - counted)
        lower, counted = bound, buckets[bound]
    return lower


def _request_values(name: str, before: RequestTimes, now: RequestTimes, seconds: float) -> dict[SeriesKey, float]:
    count = now.count - before.count
    values = {SeriesKey(SeriesKind.REQUESTS_PER_S, name): count / seconds}
    for kind, share in ((SeriesKind.LATENCY_MEDIAN, 0.5), (SeriesKind.LATENCY_P99, 0.99)):
        if now.buckets:
            found = quantile({bound: each - before.buckets.get(bound, 0) for bound, each in now.buckets.items()}, share)
        else:
            found = now.quantiles.get(share) if count else None
        if found is not None:
            values[SeriesKey(kind, name)] = found
    return values


class Sampler:
    """A thread that measures, and keeps what it finds in a history."""

    def __init__(
        self,
        history: History,
        collect: Callable[[], Samples],
        request_times: Callable[[], Mapping[str, RequestTimes]] | None = None,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`collect` and `request_times` may raise CommandError and OSError, as where the cluster is away."""
        self._history = history
        self._collect = collect
        self._request_times = request_times
        self._interval_s = interval_s
        self._clock = clock
        self._wall_clock = wall_clock
        self._before: Sighting | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to measure."""
        self._thread = threading.Thread(target=self._run, name="console-sampler", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> bool:
        """Measure no more; False where a round is still under way."""
        self._stop.set()
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def round(self) -> None:
        """Measure once."""
        problem = ""
        requests: Mapping[str, RequestTimes] = {}
        try:
            samples = self._collect()
        except (CommandError, OSError) as failed:
            samples, problem = None, str(failed)
        if self._request_times is not None:
            try:
                requests = self._request_times()
            except (CommandError, OSError) as failed:
                problem = problem or str(failed)
        self._history.problem = problem
        if samples is None:
            self._before = None
            self._history.record(self._wall_clock(), {})
            return
        now = sighting_of(samples, self._clock(), requests)
        self._history.record(self._wall_clock(), compare(self._before, now))
        self._before = now

    def _run(self) -> None:
        while not self._stop.is_set():
            began = self._clock()
            try:
                self.round()
            except Exception as failed:  # noqa: BLE001  one answer that is not understood must not end all charts
                self._before = None
                self._history.record(self._wall_clock(), {})
                self._history.problem = f"the last round of measuring failed: {failed}"
            took = self._clock() - began
            self._stop.wait(max(self._interval_s - took, took * (1 / LARGEST_SHARE - 1)))
