"""How late the event loop is: a timer that says how long after it was due it got its turn."""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Iterator
from typing import Final

from odradek.broker.monitoring.durations import Durations, Recent
from odradek.metrics.samples import Samples

INTERVAL_S: Final = 0.25
_S = 1e9


class LoopLag:
    """Looks four times a second."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._durations = Durations()
        self._recent = Recent()
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Begin to look."""
        due = self._loop.time() + INTERVAL_S
        self._timer = self._loop.call_at(due, self._look, due)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, due: float) -> None:
        self._durations.add(max(round((self._loop.time() - due) * _S), 0))
        self.start()

    def collect(self, samples: Samples, now_s: float) -> Iterator[None]:
        """Add how late it was."""
        samples.add("odradek_loop_lag_seconds", self._recent.summary(self._durations, now_s, _S))
        yield
