"""Which client asks a cluster, for planning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark_odradek.client.cluster import ClusterConnections
from pyspark_odradek.client.settings import PLANNING_RETRY_TIMEOUT_S, cluster_options, needs_librdkafka
from pyspark_odradek.client.view import ClusterView
from pyspark_odradek.reading.options import ReadOptions


def open_view(options: ReadOptions) -> ClusterView:
    """Return a view of the cluster, not connected yet. Raises OptionError."""
    if needs_librdkafka(options.kafka):
        from pyspark_odradek.client.librdkafka import LibrdkafkaView

        return LibrdkafkaView(options.kafka, min(options.poll_timeout_s, PLANNING_RETRY_TIMEOUT_S))
    return ClusterConnections(cluster_options(options.kafka, options.poll_timeout_s))


@contextmanager
def connect(options: ReadOptions) -> Iterator[ClusterView]:
    """Give a view of the cluster, closed afterwards. Raises OptionError."""
    view = open_view(options)
    try:
        yield view
    finally:
        view.close()
