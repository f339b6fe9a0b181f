"""Which client asks a cluster, for planning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark_odradek.client.cluster import Cluster
from pyspark_odradek.client.settings import cluster_options
from pyspark_odradek.client.view import ClusterView
from pyspark_odradek.options import ReadOptions

PLANNING_PATIENCE_S: Final = 10.0
"""For how long planning tries to reach a cluster: whoever starts a query waits for it."""


def open_view(options: ReadOptions) -> ClusterView:
    """Return a view of the cluster, not connected yet. Raises OptionError."""
    return Cluster(cluster_options(options.kafka, min(PLANNING_PATIENCE_S, options.patience_s)))


@contextmanager
def connect(options: ReadOptions) -> Iterator[ClusterView]:
    """Give a view of the cluster, closed afterwards. Raises OptionError."""
    view = open_view(options)
    try:
        yield view
    finally:
        view.close()
