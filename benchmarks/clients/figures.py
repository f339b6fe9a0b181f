"""What loads return, and the meter that reads the CPU of both sides over the measured part of a load."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from types import TracebackType

from benchmarks import machine
from benchmarks.statistics import Percentiles


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes of record values moved, and the seconds that took: elapsed, of the broker's CPU, of the client's."""

    payload_bytes: int
    elapsed: float
    broker_cpu: float
    client_cpu: float

    @property
    def megabytes_per_second(self) -> float:
        """Rate in MB (1e6 bytes) of record values a second."""
        return self.payload_bytes / 1e6 / self.elapsed

    @property
    def broker_cpu_per_gigabyte(self) -> float:
        """CPU seconds of the broker for each GB (1e9 bytes) of record values."""
        return self.broker_cpu / (self.payload_bytes / 1e9)


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests answered in the measured part and the seconds they took; latency in µs where it was measured.

    `acknowledged` counts those of the warm-up as well: so many records must be in the log at the end.
    """

    count: int
    acknowledged: int
    elapsed: float
    broker_cpu: float
    client_cpu: float
    latency: Percentiles | None = None

    @property
    def per_second(self) -> float:
        """Requests answered a second."""
        return self.count / self.elapsed

    @property
    def broker_cpu_us(self) -> float:
        """CPU of the broker for each request, in µs."""
        return self.broker_cpu * 1e6 / self.count

    @property
    def client_cpu_us(self) -> float:
        """CPU of the client for each request, in µs: it runs on the same cores."""
        return self.client_cpu * 1e6 / self.count


class Meter:
    """Reads clock and CPU when entered and when left; the broker's is that of all its processes together."""

    def __init__(self, *broker_pids: int) -> None:
        self._broker_pids = broker_pids
        self.elapsed = self.broker_cpu = self.client_cpu = 0.0

    def __enter__(self) -> Meter:
        self._before = self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            after = self._read()
            self.elapsed, self.broker_cpu, self.client_cpu = (b - a for a, b in zip(self._before, after, strict=True))

    def _read(self) -> tuple[float, float, float]:
        brokers = sum(map(machine.cpu_seconds, self._broker_pids))
        return time.perf_counter(), brokers, machine.cpu_seconds(os.getpid())
