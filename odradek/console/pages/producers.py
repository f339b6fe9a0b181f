"""The producers that the partitions of a topic remember."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from odradek.cluster.hanging_transactions import chosen_partitions, producers_of
from odradek.console.pages.asking import told
from odradek.console.pages.fields import whole_number
from odradek.console.routes import view
from odradek.console.visit import Visit

MOST_SHOWN: Final = 500


def show_producers(visit: Visit) -> Response:
    """Show the producers of a topic, or of one of its partitions; with `open`, those in the midst of a transaction."""
    name, only_open = visit.path("topic"), bool(visit.query("open"))
    partition = whole_number(visit.query("partition"), "partition", 0, (1 << 31) - 1)
    with visit.cluster() as cluster:
        chosen = chosen_partitions(cluster.requests, name, [] if partition is None else [partition])
        found = told(lambda: producers_of(cluster.requests, chosen))
    rows = [each for each in found.value or () if each.start_offset is not None or not only_open]
    return visit.page(
        "producers.html",
        name=name,
        partition="" if partition is None else partition,
        only_open=only_open,
        rows=rows[:MOST_SHOWN],
        found=len(rows),
        problem=found.problem,
    )


ROUTES = [view("/topics/{topic}/producers", show_producers)]
