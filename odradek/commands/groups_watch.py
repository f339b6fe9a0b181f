"""`odradek groups watch`: whether groups keep up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import count
from typing import Annotated, Final

from typer import Argument, Option

from odradek.cli.command import online, part
from odradek.cli.completion import group_names
from odradek.cluster.connection import ClusterClients
from odradek.cluster.group_progress import GroupProgress, progress, total_lag
from odradek.cluster.groups import GroupDescription, describe_group
from odradek.documents import groups as documents
from odradek.terminal.durations import duration_ms
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK
from odradek.terminal.human import count_text, duration_text, time_text
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

app = part()

STEP_S: Final = 0.1
_HEADINGS: Final = ("TIME", "GROUP", "STATE", "MEMBERS", "LAG", "CONSUMED/S", "PRODUCED/S", "CAUGHT UP IN")


@online(
    app,
    "watch",
    document=documents.WATCHED,
    examples="""\
    odradek groups watch billing
    odradek groups watch billing audit --interval 10s
    odradek groups watch billing --count 2 --json""",
)
def watch(
    cluster: ClusterClients,
    output: CommandOutput,
    names: Annotated[
        list[str],
        Argument(metavar="GROUP...", help="Names of groups.", show_default=False, autocompletion=group_names),
    ],
    interval: Annotated[str, Option("--interval", "-i", metavar="DURATION", help="Between two looks.")] = "5s",
    times: Annotated[
        int | None, Option("--count", "-n", min=1, metavar="N", help="So many looks; until Ctrl-C if not given.")
    ] = None,
) -> int:
    """Show every few seconds how far groups are behind, how fast they read, and when they will have caught up."""
    seconds = duration_ms(interval, "--interval") / 1000
    width = max(len("GROUP"), *map(len, names))
    before: dict[str, tuple[float, GroupDescription]] = {}
    with asked_to_stop() as asked:
        for look in count(1):
            for name in names:
                now, found = time.monotonic(), describe_group(cluster, name)
                since = before.get(name)
                made = None if since is None else progress(since[1].positions, found.positions, now - since[0])
                before[name] = now, found
                _show(output, found, made, width, with_headings=look == 1 and name == names[0])
            if look == times:
                return EXIT_OK
            if not _wait(seconds, asked):
                return EXIT_INTERRUPTED
    return EXIT_OK


def _wait(seconds: float, asked: Callable[[], bool]) -> bool:
    """Wait, or return False when it is to stop."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if asked():
            return False
        time.sleep(min(STEP_S, left))
    return not asked()


def _show(
    output: CommandOutput, group: GroupDescription, made: GroupProgress | None, width: int, *, with_headings: bool
) -> None:
    now_ms, lag = time.time_ns() // 1_000_000, total_lag(group.positions)
    if output.json:
        document = {
            "time": now_ms,
            "group": group.name,
            "state": group.state,
            "members": len(group.members),
            "lag": lag,
            "consumed_per_second": None if made is None else round(made.consumed_per_s, 3),
            "produced_per_second": None if made is None else round(made.produced_per_s, 3),
            "caught_up_in_seconds": None
            if made is None or made.caught_up_in_s is None
            else round(made.caught_up_in_s, 3),
        }
        output.text(json.dumps(document) + "\n")
        return
    if with_headings:
        output.heading(_line(_HEADINGS, width))
    rates = ("-", "-", "-")
    if made is not None:
        left = "never" if made.caught_up_in_s is None else duration_text(made.caught_up_in_s)
        rates = (count_text(made.consumed_per_s), count_text(made.produced_per_s), "-" if not lag else left)
    state = group.state.lower().replace("_", " ")
    shown = (time_text(now_ms)[11:19], group.name, state, str(len(group.members)), count_text(lag), *rates)
    output.line(_line(shown, width))


def _line(cells: tuple[str, ...], width: int) -> str:
    at, name, state, *numbers = cells
    widths = (7, 12, 11, 11, 13)
    right = "  ".join(each.rjust(wide) for each, wide in zip(numbers, widths, strict=True))
    return f"{at:<8}  {name:<{width}}  {state:<12}  {right}"
