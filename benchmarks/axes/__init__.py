"""Every axis, in the order in which they run: of one broker, and of a cluster.

What needs a quiet disk and a quiet machine comes first; what leaves gigabytes to be written back comes last.
"""

from __future__ import annotations

from benchmarks.axes import (
    cluster,
    cluster_transactions,
    compaction,
    durable,
    endtoend,
    fetch,
    footprint,
    groups,
    lookup,
    metadata,
    produce,
    replication,
    requests,
    security,
    spark,
    spark_jar,
    startup,
    tls,
    transactions,
)
from benchmarks.axis import Axis

ALL: tuple[Axis, ...] = (
    *startup.EMPTY,
    *footprint.IDLE,
    *requests.AXES,
    *endtoend.AXES,
    *groups.AXES,
    *transactions.AXES,
    *durable.AXES,
    *produce.AXES,
    *fetch.AXES,
    *security.AXES,
    *tls.AXES,
    *footprint.LOADED,
    *lookup.AXES,
    *metadata.AXES,
    *lookup.ENGINE,
    *compaction.AXES,
    *spark.AXES,
    *startup.WITH_DATA,
)

CLUSTER: tuple[Axis, ...] = (*cluster.AXES, *cluster_transactions.AXES, *replication.AXES)
"""Those of three brokers, in the order in which they run; they take a while."""

ON_REQUEST: tuple[Axis, ...] = spark_jar.AXES
"""Those that run only where they are named: they need more than the others."""
