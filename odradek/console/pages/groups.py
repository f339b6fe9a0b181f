"""Consumer groups: how far behind they are, who is in them, and moving their offsets."""

from __future__ import annotations

import time
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from odradek.cluster.connection import ClusterClients
from odradek.cluster.group_resets import OffsetReset, plan_reset
from odradek.cluster.groups import delete_group, describe_group, move_offsets
from odradek.cluster.offset_spec import SYNTAX, OffsetSpecification, parse_offset_spec
from odradek.cluster.offsets import Partition
from odradek.console.listing import list_page
from odradek.console.page import ConsolePage
from odradek.console.pages.fields import whole_number
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.terminal.errors import WrongUsageError

MOST_SHOWN: Final = 1_000
"""Partitions, or members, of one group on a page."""
MOST_SHIFTED: Final = (1 << 63) - 1
SHOWN: Final = "shown"
"""The field that has what a dry run showed, a line for each partition."""


def address(name: str) -> str:
    """Return where a group is shown. A group may have any name, so it is no part of the path."""
    return f"/groups/group?{urlencode({'name': name})}"


def show_groups(visit: Visit) -> Response:
    """Show the groups that were looked for, a page of them."""
    timed = visit.console.overviews.at_once()
    text, state = visit.query("q"), visit.query("state")
    groups = timed.overview.groups
    listed = list_page(
        [each for each in groups if text.lower() in each.name.lower() and state in ("", each.state.lower())],
        {
            "name": lambda each: each.name,
            "state": lambda each: each.state,
            "type": lambda each: each.kind,
            "topics": lambda each: len(each.lags),
            "lag": lambda each: each.lag,
        },
        visit.query("sort"),
        visit.number("page", 1, 1, 1_000_000),
        {"q": text, "state": state},
    )
    return visit.page(
        "groups_rows.html" if visit.is_part else "groups.html",
        listed=listed,
        text=text,
        state=state,
        states=sorted({each.state.lower() for each in groups}),
        all_groups=groups,
        silent=timed.overview.silent,
        age=visit.console.overviews.age(timed),
        is_whole=timed.overview.is_whole,
    )


def show_group(visit: Visit) -> Response:
    """Show members, offsets and lag of a group."""
    name = _name(visit)
    with visit.cluster() as cluster:
        group = describe_group(cluster, name)
    lags = [each.lag for each in group.positions if each.lag is not None]
    return visit.page(
        "group.html",
        group=group,
        lag=sum(lags) if lags else None,
        positions=group.positions[:MOST_SHOWN],
        members=group.members[:MOST_SHOWN],
        topics=sorted({each.topic for each in group.positions}),
        places=SYNTAX.replace("`", ""),
        address=address(name),
    )


def try_reset(visit: Visit) -> Response:
    """Show what a reset would do."""
    name = _name(visit)
    with visit.cluster() as cluster:
        planned = _planned(cluster, name, visit)
    return visit.page(
        "group_reset.html",
        name=name,
        address=address(name),
        rows=[(place, planned.before.get(place), after) for place, after in sorted(planned.after.items())],
        shown=shown_text(planned),
    )


def reset(visit: Visit) -> Response:
    """Set the offsets that a dry run has shown."""
    name, offsets = _name(visit), read_shown(visit.field(SHOWN))
    with visit.cluster() as cluster:
        move_offsets(cluster, name, offsets)
    visit.console.overviews.forget()
    return visit.go("/groups/group", f"the offsets of {name} are set in {len(offsets):,} partitions", name=name)


def delete(visit: Visit) -> Response:
    """Delete a group whose name was typed."""
    name = _name(visit)
    if visit.field("typed") != name:
        raise WrongUsageError(f"the name of the group was not typed as it is; {name} is still there")
    with visit.cluster() as cluster:
        delete_group(cluster, name)
    visit.console.overviews.forget()
    return visit.go("/groups", f"group {name} is deleted")


def shown_text(planned: OffsetReset) -> str:
    """Return offsets as the form of a reset carries them."""
    return "\n".join(f"{topic} {number} {offset}" for (topic, number), offset in sorted(planned.after.items()))


def read_shown(text: str) -> dict[Partition, int]:
    """Return the offsets that a form carries; WrongUsageError for what is none."""
    offsets: dict[Partition, int] = {}
    for line in text.splitlines():
        try:
            topic, number, offset = line.split(" ")
            offsets[topic, int(number[:20])] = int(offset[:20])
        except ValueError:
            raise WrongUsageError("the form does not say which offsets to set; begin again") from None
    if not offsets:
        raise WrongUsageError("there is nothing to set")
    return offsets


def _planned(cluster: ClusterClients, name: str, visit: Visit) -> OffsetReset:
    to, shift = visit.query("to"), whole_number(visit.query("shift"), "shift by", -MOST_SHIFTED, MOST_SHIFTED)
    topic = visit.query("topic")
    partition = whole_number(visit.query("partition"), "partition", 0, (1 << 31) - 1)
    if bool(to) == (shift is not None):
        raise WrongUsageError("give either a place or by how many offsets to move")
    if partition is not None and not topic:
        raise WrongUsageError("say of which topic the partition is")
    place: OffsetSpecification | int = shift or 0
    if to:
        try:
            place = parse_offset_spec(to, time.time_ns() // 1_000_000)
        except ValueError as wrong:
            raise WrongUsageError(str(wrong).replace("`", "")) from None
    return plan_reset(cluster, name, [(topic, [] if partition is None else [partition])] if topic else [], place)


def _name(visit: Visit) -> str:
    return visit.request.query_params.get("name", "")


PAGE = ConsolePage(
    "Groups",
    "/groups",
    [
        view("/groups", show_groups),
        view("/groups/group", show_group),
        view("/groups/reset", try_reset),
        action("/groups/reset", reset),
        action("/groups/delete", delete),
    ],
)
