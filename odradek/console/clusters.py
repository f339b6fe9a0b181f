"""Connections to the cluster, shared by all requests: each is used by one of them at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from odradek.cluster.connection import ClusterClients
from odradek.terminal.errors import CommandError

AT_ONCE: Final = 4
"""Requests that talk to the cluster at one time; each has clients with threads of their own."""
WAIT_S: Final = 20.0


class ClusterPool:
    """Lends clients of a cluster; `make` connects, and raises CommandError where it cannot."""

    def __init__(self, make: Callable[[], ClusterClients], at_once: int = AT_ONCE, wait_s: float = WAIT_S) -> None:
        self._make = make
        self._wait_s = wait_s
        self._free = threading.Semaphore(at_once)
        self._idle: list[ClusterClients] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self) -> Iterator[ClusterClients]:
        """Lend clients that nobody else uses meanwhile.

        Those that something went wrong with are not lent again. Raises CommandError where the cluster is away, or all
        clients are in use for too long.
        """
        began = time.monotonic()
        if not self._free.acquire(timeout=self._wait_s):
            waited = time.monotonic() - began
            raise CommandError(f"the console has been busy for {waited:.0f} seconds with other pages; try again")
        try:
            with self._lock:
                clients = self._idle.pop() if self._idle else None
            if clients is None:
                clients = self._make()
            try:
                yield clients
            except BaseException:
                clients.close()
                raise
            with self._lock:
                self._idle.append(clients)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close what is not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()
