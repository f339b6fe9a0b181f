"""What the console measures by itself while it runs: the sampler with its own connection to the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable

from odradek.cluster.connection import ClusterClients
from odradek.cluster.exporting import ClusterCollector
from odradek.console.broker_metrics import fetch_request_times
from odradek.console.history import History
from odradek.console.sampling import RequestTimes, Sampler
from odradek.console.settings import ConsoleSettings
from odradek.metrics.samples import Samples

_ANY = re.compile(".*", re.DOTALL)


class ClusterProbe:
    """Asks a cluster for its offsets and lags, over a connection that is made anew after an error. One thread calls."""

    def __init__(self, make: Callable[[], ClusterClients]) -> None:
        self._make = make
        self._clients: ClusterClients | None = None

    def collect(self) -> Samples:
        """Return what a client sees of the cluster; CommandError where it is away."""
        if self._clients is None:
            self._clients = self._make()
        try:
            return ClusterCollector(self._clients.requests, _ANY, _ANY, with_details=False).collect()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        clients, self._clients = self._clients, None
        if clients is not None:
            clients.close()


def make_sampler(settings: ConsoleSettings, history: History, probe: ClusterProbe) -> Sampler:
    """Return the sampler of a console, which has not begun."""
    url = settings.metrics_url
    times: Callable[[], dict[str, RequestTimes]] | None = (lambda: fetch_request_times(url)) if url else None
    return Sampler(history, probe.collect, times)
