"""Connections that a task leaves to the next one of the same worker: Spark uses its Python processes again.

Only what ended well is kept, so nobody finds an answer that was meant for somebody else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark_odradek.client.cluster import ClusterConnections

_MOST: Final = 4
"""So many clusters, or ways to read from one, are kept connections to."""


@dataclass(frozen=True, slots=True)
class _KeptConnections:
    cluster: ClusterConnections
    since: float


class ConnectionKeeper:
    """Keeps connections by what they were made from, the newest ones, for as long as their options say."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Hashable, _KeptConnections] = {}

    @contextmanager
    def connections(self, key: Hashable, make: Callable[[], ClusterConnections]) -> Iterator[ClusterConnections]:
        """Give connections that no other task uses, kept afterwards unless an error comes out, or the task is left."""
        cluster = self._take(key) or make()
        try:
            yield cluster
        except BaseException:
            cluster.close()
            raise
        if previous := self._kept.pop(key, None):
            previous.cluster.close()
        self._kept[key] = _KeptConnections(cluster, self._clock())
        while len(self._kept) > _MOST:
            self._kept.pop(next(iter(self._kept))).cluster.close()

    def _take(self, key: Hashable) -> ClusterConnections | None:
        found = self._kept.pop(key, None)
        if found is None:
            return None
        if self._clock() - found.since > found.cluster.options.idle_timeout_s:
            found.cluster.close()
            return None
        return found.cluster


KEEPER: Final = ConnectionKeeper()
"""Of this process."""
