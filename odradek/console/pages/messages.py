"""Records of a topic: looked for, shown, downloaded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from odradek.cluster.connection import ClusterClients
from odradek.cluster.offset_spec import SYNTAX, parse_offset_spec
from odradek.cluster.topics import partitions_of
from odradek.console.pages.fields import bytes_typed, whole_number
from odradek.console.record_text import shown_record
from odradek.console.routes import view
from odradek.console.searching import (
    MOST_FOUND,
    MOST_RECORDS,
    RecordFilter,
    SearchBounds,
    SearchResult,
    newest_starts,
    search,
    search_starts,
)
from odradek.console.visit import Visit
from odradek.records.json_lines import record_line
from odradek.terminal.errors import CommandError, WrongUsageError

FOUND: Final = (20, 50, 100, 200)
THROUGH: Final = (1_000, 10_000, MOST_RECORDS)
LARGEST_PARTITION: Final = (1 << 31) - 1
MOST_PARTITIONS: Final = 1_000
"""Partitions that one search goes through."""


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """What a visitor asks for; `start` is a place as `offset_spec` knows it, empty for the newest."""

    partition: int | None
    start: str
    found: int
    through: int
    key: str
    value: str
    header: str
    uncommitted: bool

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of its address."""
        given = {
            "partition": "" if self.partition is None else str(self.partition),
            "start": self.start,
            "found": str(self.found),
            "through": str(self.through),
            "key": self.key,
            "value": self.value,
            "header": self.header,
            "uncommitted": "1" if self.uncommitted else "",
        }
        return {name: value for name, value in given.items() if value}


def show_messages(visit: Visit) -> Response:
    """Show what was looked for, or the newest records."""
    topic, query = visit.path("topic"), _query(visit, FOUND[1], MOST_FOUND)
    with visit.cluster() as cluster:
        numbers = partitions_of(cluster, topic)
        result = _search(cluster, topic, numbers, query)
    records = result.found
    if not query.start:
        records = sorted(records, key=lambda each: (-(each.timestamp_ms or 0), each.partition, -each.offset))
    address = f"/topics/{quote(topic, safe='')}/messages"
    return visit.page(
        "messages_rows.html" if visit.is_part else "messages.html",
        name=topic,
        query=query,
        partitions=len(numbers),
        records=[shown_record(each) for each in records],
        result=result,
        found_choices=FOUND,
        through_choices=THROUGH,
        places=SYNTAX.replace("`", ""),
        download=f"{address}.jsonl?{urlencode(query.parameters)}",
        further=_further(address, query, result),
    )


def download_messages(visit: Visit) -> Response:
    """Give what was looked for as lines of JSON, in the form of `odradek consume --json`."""
    topic, query = visit.path("topic"), _query(visit, MOST_FOUND, MOST_FOUND)
    with visit.cluster() as cluster:
        result = _search(cluster, topic, partitions_of(cluster, topic), query)
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in topic)
    return Response(
        b"".join(record_line(each) for each in result.found),
        media_type="application/jsonl",
        headers={"content-disposition": f'attachment; filename="{safe}.jsonl"'},
    )


def _query(visit: Visit, found: int, most: int) -> MessageQuery:
    return MessageQuery(
        partition=whole_number(visit.query("partition"), "partition", 0, LARGEST_PARTITION),
        start=visit.query("start"),
        found=visit.number("found", found, 1, most),
        through=visit.number("through", THROUGH[0], 1, MOST_RECORDS),
        key=visit.query("key"),
        value=visit.query("value"),
        header=visit.query("header"),
        uncommitted=bool(visit.query("uncommitted")),
    )


def _search(cluster: ClusterClients, topic: str, numbers: list[int], query: MessageQuery) -> SearchResult:
    if query.partition is not None and query.partition not in numbers:
        raise CommandError(f"topic {topic} has no partition {query.partition}; it has 0 to {max(numbers)}")
    some = numbers[:MOST_PARTITIONS] if query.partition is None else [query.partition]
    accepts = record_filter(query.key, query.value, query.header).accepts
    bounds = SearchBounds(query.found, query.through, newest=not query.start)
    return search(cluster, topic, _starts(cluster, topic, some, query), accepts, bounds, uncommitted=query.uncommitted)


def _starts(cluster: ClusterClients, topic: str, numbers: list[int], query: MessageQuery) -> Mapping[int, int]:
    if not query.start:
        is_filtered = query.key or query.value or query.header
        return newest_starts(cluster, topic, numbers, query.through if is_filtered else query.found * len(numbers))
    try:
        place = parse_offset_spec(query.start, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(str(wrong).replace("`", "")) from None
    return search_starts(cluster, topic, numbers, place)


def record_filter(key: str, value: str, header: str) -> RecordFilter:
    """Return the filter that was typed; a header is its name, or `name=value`, or `=value`."""
    name, _, content = header.partition("=")
    return RecordFilter(bytes_typed(key), bytes_typed(value), name.strip(), bytes_typed(content.strip()))


def _further(address: str, query: MessageQuery, result: SearchResult) -> str:
    """Return where a search of one partition goes on; empty where it cannot or need not."""
    if not query.start or not result.ended_by or len(result.next_offsets) != 1:
        return ""
    [(number, offset)] = result.next_offsets.items()
    return f"{address}?{urlencode({**query.parameters, 'partition': number, 'start': offset})}"


ROUTES: Final = (
    view("/topics/{topic}/messages", show_messages),
    view("/topics/{topic}/messages.jsonl", download_messages),
)
