"""Records as they come."""

from __future__ import annotations

import json
from collections.abc import Generator
from threading import Semaphore
from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from odradek.cluster.offset_spec import Latest
from odradek.cluster.topics import partitions_of
from odradek.console.pages.fields import whole_number
from odradek.console.pages.messages import LARGEST_PARTITION, MOST_PARTITIONS, record_filter
from odradek.console.record_text import shown_record
from odradek.console.routes import view
from odradek.console.searching import search_starts
from odradek.console.tailing import TAILS_AT_ONCE, TailStep, open_tail, tail
from odradek.console.visit import Visit
from odradek.terminal.errors import CommandError

_PLACES: Final = "tail.places"
_FILTERS: Final = ("partition", "key", "value", "header")


def show_tail(visit: Visit) -> Response:
    """Show the page that records come to."""
    name = visit.path("topic")
    with visit.cluster() as cluster:
        partitions = len(partitions_of(cluster, name))
    given = {each: visit.query(each) for each in _FILTERS}
    query = urlencode({each: value for each, value in given.items() if value})
    events = f"/topics/{quote(name, safe='')}/tail/events?{query}"
    return visit.page("tail.html", name=name, partitions=partitions, given=given, events=events)


def send_events(visit: Visit) -> Response:
    """Send the records that are written from now on."""
    name = visit.path("topic")
    partition = whole_number(visit.query("partition"), "partition", 0, LARGEST_PARTITION)
    wanted = record_filter(visit.query("key"), visit.query("value"), visit.query("header"))
    with visit.cluster() as cluster:
        numbers = partitions_of(cluster, name)
        if partition is not None and partition not in numbers:
            raise CommandError(f"topic {name} has no partition {partition}; it has 0 to {max(numbers)}")
        some = numbers[:MOST_PARTITIONS] if partition is None else [partition]
        consumer = open_tail(cluster, name, search_starts(cluster, name, some, Latest()))
    places = visit.console.parts.setdefault(_PLACES, Semaphore(TAILS_AT_ONCE))
    return visit.events(_events(visit, tail(consumer, wanted.accepts, places)))


def event(kind: str, data: object) -> bytes:
    """Return a server-sent event; its data is one line of JSON, whatever is in it."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _events(visit: Visit, steps: Generator[TailStep, None, None]) -> Generator[bytes, None, None]:
    yield event("open", {})
    try:
        for step in steps:
            if not step.records:
                yield b":\n\n"  # nothing, which tells us whether anybody is still there
                continue
            markup = visit.part("tail_rows.html", records=[shown_record(each) for each in reversed(step.records)])
            yield event("records", {"markup": markup, "count": len(step.records), "left_out": step.left_out})
        yield event("end", {"sentence": "an hour is over; start again to go on"})
    except CommandError as failed:
        yield event("end", {"sentence": str(failed)})
    finally:
        steps.close()


ROUTES: Final = (
    view("/topics/{topic}/tail", show_tail),
    view("/topics/{topic}/tail/events", send_events),
)
