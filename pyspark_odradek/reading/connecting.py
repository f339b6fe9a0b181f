"""Which client asks a cluster, for planning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Final

from pyspark_odradek.client.backoff import Backoff
from pyspark_odradek.client.cluster import ClusterConnections, ClusterOptions
from pyspark_odradek.client.settings import PLANNING_RETRY_TIMEOUT_S, cluster_options, needs_librdkafka
from pyspark_odradek.client.view import ClusterView
from pyspark_odradek.reading.options import ReadOptions

_RETRY_INTERVAL_S: Final = 1.0
"""As in Spark's own source."""


def open_view(options: ReadOptions) -> ClusterView:
    """Return a view of the cluster, not connected yet. Raises OptionError."""
    if needs_librdkafka(options.kafka):
        from pyspark_odradek.client.librdkafka import LibrdkafkaView

        return LibrdkafkaView(
            options.kafka,
            min(options.poll_timeout_s, PLANNING_RETRY_TIMEOUT_S),
            options.fetch_offset_retries or 0,
            _interval_s(options),
        )
    return ClusterConnections(_with_retries(cluster_options(options.kafka, options.poll_timeout_s), options))


def _with_retries(found: ClusterOptions, options: ReadOptions) -> ClusterOptions:
    """Return how to reach a cluster for planning, where the options say how often and when it is asked again."""
    if options.fetch_offset_retry_interval_s is not None or options.fetch_offset_retries is not None:
        pause = Backoff(_interval_s(options), 0)
        found = replace(found, retry_backoff=pause, reconnect_backoff=pause)
    if options.fetch_offset_retries is not None:
        found = replace(found, retries=options.fetch_offset_retries, retry_timeout_s=inf, first_retry_timeout_s=inf)
    return found


def _interval_s(options: ReadOptions) -> float:
    given = options.fetch_offset_retry_interval_s
    return _RETRY_INTERVAL_S if given is None else given


@contextmanager
def connect(options: ReadOptions) -> Iterator[ClusterView]:
    """Give a view of the cluster, closed afterwards. Raises OptionError."""
    view = open_view(options)
    try:
        yield view
    finally:
        view.close()
