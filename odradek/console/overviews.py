"""The last overview of the cluster, shared by all lists: it is asked for again when somebody looks and it is old.

Of a large cluster an overview takes seconds. So there nobody waits for a new one while there is one that is not too
old: it is asked for in the background. Where there is none yet, lists show the names at once, and the rest when it is
there. Of those who ask at one time, one asks the cluster.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.cluster.connection import ClusterClients
from odradek.cluster.overview import ClusterOverview, cluster_names, cluster_overview
from odradek.console.clusters import ClusterPool
from odradek.terminal.errors import CommandError

FRESH_S: Final = 3.0
SHARE: Final = 5
"""An overview is as fresh as FRESH_S says, or for so many times as long as it took."""
OLDEST_S: Final = 600.0
"""Older ones are shown to nobody."""
SLOW_S: Final = 1.0
"""Who looks waits for an overview that takes less."""
MUCH: Final = 2_000
"""Of a cluster with so much (`ClusterOverview.amount`) nobody waits for a first overview either."""


@dataclass(frozen=True, slots=True)
class TimedOverview:
    """An overview and its times, in seconds of a clock that never goes back; `took` is how long it was asked for."""

    overview: ClusterOverview
    at: float
    took: float

    def is_fresh(self, now: float) -> bool:
        """Say whether there is no need for another one."""
        return now - self.at < max(FRESH_S, SHARE * self.took)


class Overviews:
    """Asks the cluster when it has to, and remembers what it said."""

    def __init__(
        self,
        clusters: ClusterPool,
        ask: Callable[[ClusterClients], ClusterOverview] = lambda cluster: cluster_overview(cluster.requests),
        clock: Callable[[], float] = time.monotonic,
        ask_names: Callable[[ClusterClients], ClusterOverview] = lambda cluster: cluster_names(cluster.requests),
    ) -> None:
        self._clusters = clusters
        self._ask = ask
        self._ask_names = ask_names
        self._clock = clock
        self._asking = threading.Lock()
        self._last: TimedOverview | None = None
        self._asking_names = threading.Lock()
        self._names: TimedOverview | None = None

    def current(self) -> TimedOverview:
        """Return an overview that is fresh, or a last one while somebody asks for a fresh one; waits if there is none.

        Raises CommandError where the cluster is away.
        """
        last = self._usable()
        if last is not None and last.is_fresh(self._clock()):
            return last
        if last is not None and last.took >= SLOW_S:
            self.renew_in_background()
            return last
        if not self._asking.acquire(blocking=last is None):
            assert last is not None
            return last
        try:
            again = self._usable()
            if again is not None and again.is_fresh(self._clock()):
                return again  # somebody asked while we waited
            return self._renew()
        finally:
            self._asking.release()

    def at_once(self) -> TimedOverview:
        """Return like `current`, but of a large cluster that nobody has looked at the names alone, while more is asked.

        Raises CommandError where the cluster is away.
        """
        if self._usable() is not None:
            return self.current()
        with self._asking_names:
            names = self._names
            if names is None or not names.is_fresh(self._clock()):
                self._names = names = self._look(self._ask_names)
        if names.overview.amount < MUCH:
            return self.current()
        self.renew_in_background()
        return self._usable() or names

    def renew_in_background(self) -> None:
        """Ask the cluster on a thread, unless somebody does already; the next one who asks is told what went wrong."""
        if self._asking.acquire(blocking=False):
            threading.Thread(target=self._renew_and_release, name="console-overview", daemon=True).start()

    def age(self, timed: TimedOverview) -> float:
        """Return how many seconds old an overview is."""
        return self._clock() - timed.at

    def forget(self) -> None:
        """Let the next one who looks see what was just changed."""
        self._last = self._names = None

    def _usable(self) -> TimedOverview | None:
        last = self._last
        return last if last is not None and self._clock() - last.at < OLDEST_S else None

    def _renew_and_release(self) -> None:
        try:
            self._renew()
        except CommandError:
            self._last = self._names = None
        finally:
            self._asking.release()

    def _renew(self) -> TimedOverview:
        self._last = found = self._look(self._ask)
        return found

    def _look(self, ask: Callable[[ClusterClients], ClusterOverview]) -> TimedOverview:
        began = self._clock()
        with self._clusters.borrow() as cluster:
            overview = ask(cluster)
        now = self._clock()
        return TimedOverview(overview, now, now - began)
