"""The list of topics."""

from __future__ import annotations

from starlette.responses import Response

from odradek.cluster.topology import describe_partitions
from odradek.console.page import ConsolePage
from odradek.console.routes import view
from odradek.console.visit import Visit


def show_topics(visit: Visit) -> Response:
    """Show the topics of the cluster."""
    with visit.cluster() as cluster:
        partitions = describe_partitions(cluster.requests, None)
    counts: dict[str, int] = {}
    for each in partitions:
        counts[each.key[0]] = counts.get(each.key[0], 0) + 1
    return visit.page("topics.html", topics=sorted(counts.items()))


PAGE = ConsolePage("Topics", "/topics", [view("/topics", show_topics)])
