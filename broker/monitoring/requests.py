"""Requests of each API: how many there were, and how long they took.

A `RequestMeter` stands between the connections and what works on their frames. It is there only where somebody looks at
metrics; then a request costs it two looks at the clock, a bisection and an addition. What is answered later is measured
when it is. Must not know: what is in a request, but for its API and version.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from struct import Struct
from time import perf_counter_ns

from odradek.broker.monitoring.durations import BOUNDS_NS, Durations, Recent, histogram
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Handle, Response
from odradek.metrics.samples import Samples
from odradek.protocol.registry import API, ApiKey

_VERSION = 0xFFFF
_API = 0x7FFF
_OF_FOLLOWER = 1 << 31
"""Marks fetches of followers, which Kafka counts apart."""
_FETCH_BEGIN, _FETCH_END = ApiKey.FETCH << 16, (ApiKey.FETCH + 1) << 16
_FETCHER = b"-fetcher-"
"""Is in the client ids of followers, ours and Apache Kafka's."""
_MS = 1e6


class _Measured:
    """The requests of one API in one version."""

    __slots__ = ("at_once", "at_work", "late", "waited")

    def __init__(self) -> None:
        self.at_once = Durations()
        """Those that were answered within the call."""
        self.late = Durations()
        """The others, to their answer,"""
        self.at_work = Durations()
        """and the part of it that was the call."""
        self.waited = Durations()
        """And the rest."""


class RequestMeter:
    """Measures all requests of a node."""

    def __init__(self) -> None:
        self._measured: dict[int, _Measured] = {}
        self.closed = 0
        """Requests that were answered by closing."""
        self._recent: dict[tuple[str, str], Recent] = {}

    def measured(self, handle: Handle) -> Handle:
        """Return what works on frames as `handle` does, and is measured."""

        measured, key_of = self._measured, Struct(">i").unpack_from

        def measure(context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
            began = perf_counter_ns()
            try:
                answer = handle(context, frame)
            except CloseConnectionError:
                self.closed += 1
                raise
            took = perf_counter_ns() - began
            key = key_of(frame)[0]  # API and version
            if _FETCH_BEGIN <= key < _FETCH_END and _FETCHER in context.raw_client_id:
                key |= _OF_FOLLOWER
            one = measured.get(key) or self._new(key)
            if isinstance(answer, Deferred):
                return answer.then(partial(self._answered, one, began, took))
            durations = one.at_once
            durations.buckets[bisect_left(BOUNDS_NS, took)] += 1  # as `Durations.add`, without a call
            durations.total_ns += took
            return answer

        return measure

    def _answered(self, one: _Measured, began: int, at_work: int, answer: Response) -> Response:
        took = perf_counter_ns() - began
        one.late.add(took)
        one.at_work.add(at_work)
        one.waited.add(took - at_work)
        return answer

    def _new(self, key: int) -> _Measured:
        """Return where requests of an API and version are counted; one that is not served has none of its own."""
        api, version = key >> 16 & _API, key & _VERSION
        known = API.get(ApiKey(api)) if api in API else None
        if known is None or not known.served.first <= version <= known.served.last:
            return self._measured.setdefault(key | _VERSION, _Measured())
        return self._measured.setdefault(key, _Measured())

    def collect(self, samples: Samples, now_s: float) -> Iterator[None]:
        """Add the metrics of requests."""
        samples.add("odradek_requests_closed_total", self.closed)
        by_api: dict[str, list[_Measured]] = {}
        answered: dict[tuple[str, str], int] = {}
        for key, one in self._measured.items():
            name, version = API[ApiKey(key >> 16 & _API)].name, key & _VERSION
            names = [name]
            if key >> 16 & _API == ApiKey.FETCH:
                names.append("FetchFollower" if key & _OF_FOLLOWER else "FetchConsumer")
            text = "unsupported" if version == _VERSION else str(version)
            for each in names:
                by_api.setdefault(each, []).append(one)
                answered[each, text] = answered.get((each, text), 0) + one.at_once.count + one.late.count
        for (name, text), count in answered.items():
            samples.add("kafka_network_requestmetrics_requests_total", count, name, text)
        for name, versions in by_api.items():
            total, local, remote = Durations(), Durations(), Durations()
            for one in versions:
                total.add_all(one.at_once)
                total.add_all(one.late)
                local.add_all(one.at_once)
                local.add_all(one.at_work)
                remote.add_zeros(one.at_once.count)
                remote.add_all(one.waited)
            for part, durations in (("totaltimems", total), ("localtimems", local), ("remotetimems", remote)):
                recent = self._recent.setdefault((name, part), Recent())
                summary = recent.summary(durations, now_s, _MS)
                samples.add(f"kafka_network_requestmetrics_{part}", summary, name)
            samples.add("odradek_request_duration_seconds", histogram(total), name)
            yield
