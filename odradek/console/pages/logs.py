"""A look into the logs on this machine: which there are, and one with its segments, its upkeep and a look-up in it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import Response

from odradek.cluster.offset_spec import AtOffset, ForTimestamp, parse_offset_spec
from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.console.log_access import NamedLog, log_directories, named_log, reading, topic_rules
from odradek.console.page import ConsolePage
from odradek.console.pages import log_segments
from odradek.console.pictures.index_map import MOST_MARKS, index_map, scan_map
from odradek.console.pictures.log_strip import by_size, by_time, fate_text
from odradek.console.routes import PageRefusedError, view
from odradek.console.visit import Visit
from odradek.logs.explain import Explanation, explain_offset, explain_timestamp
from odradek.logs.explain_text import explain_lines
from odradek.logs.index_marks import index_marks
from odradek.logs.outline import (
    Checkpoints,
    DirectoryCheckpoints,
    FoundPartition,
    LogOutline,
    find_partitions,
    outline_log,
)
from odradek.logs.upkeep import LogUpkeep, plan_upkeep
from odradek.storage.files import PosixFiles

ON_A_PAGE: Final = 50
SEGMENTS_ON_A_PAGE: Final = 100
MOST_HEADERS: Final = 300_000
"""Batch headers that a look-up goes over: a second's worth. With an index a hundred are many."""


@dataclass(frozen=True, slots=True)
class LookupStep:
    """A step of a look-up in words."""

    title: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class LookupView:
    """A look-up, drawn and told."""

    summary: str
    steps: list[LookupStep]
    problem: str
    index_map: Markup | None
    scan_map: Markup | None
    batch: str | None
    """Address of the page of the batch."""


def show_logs(visit: Visit) -> Response:
    """Show the partitions in the log directories."""
    fs = PosixFiles()
    with reading("the log directories"):
        found = find_partitions(fs, log_directories(visit))
    search = visit.query("search")
    if search:
        found = [each for each in found if search.lower() in str(each.partition).lower()]
    page = visit.number("page", 1, 1, max(1, -(-len(found) // ON_A_PAGE)))
    some = found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    homes = {os.path.dirname(each.directory) for each in some}
    checkpoints = {home: DirectoryCheckpoints(fs, home) for home in homes}
    shown = [_row(each, checkpoints[os.path.dirname(each.directory)]) for each in some]
    return visit.page(
        "logs.html",
        rows=shown,
        search=search,
        total=len(found),
        page=page,
        pages=max(1, -(-len(found) // ON_A_PAGE)),
        directories=log_directories(visit),
    )


def show_log(visit: Visit) -> Response:
    """Show one partition, and a look-up in it where one is asked for."""
    log = named_log(visit)
    with reading(str(log.partition)):
        outline = log.outline()
    if not outline.segments:
        raise PageRefusedError(f"the segments of {log.partition} have just been removed", 404)
    rules = topic_rules(visit, log.partition.topic)
    now_ms = time.time_ns() // 1_000_000
    config = rules.config
    plan = plan_upkeep(outline, config or _kept_for_ever(), now_ms)
    count = len(plan.segments)
    page = visit.number("page", 1, 1, max(1, -(-count // SEGMENTS_ON_A_PAGE)))
    first = (page - 1) * SEGMENTS_ON_A_PAGE
    address = _address(log)
    lookup, problem = _lookup(visit, log, now_ms)
    return visit.page(
        "log.html",
        400 if problem else 200,
        log=outline,
        address=address,
        config=config,
        rules_problem=rules.problem,
        by_size=by_size(outline, plan, now_ms, lambda base: f"{address}/{base}"),
        by_time=by_time(plan, config.retention_ms if config and "delete" in config.cleanup_policy else -1, now_ms),
        plan=plan,
        upkeep=_upkeep_text(plan, config),
        segments=plan.segments[first : first + SEGMENTS_ON_A_PAGE],
        fate_text=fate_text if config else lambda _: "",
        page=page,
        pages=max(1, -(-count // SEGMENTS_ON_A_PAGE)),
        at=visit.query("at"),
        lookup=lookup,
        problem=problem,
    )


def _row(found: FoundPartition, checkpoints: DirectoryCheckpoints) -> LogOutline:
    try:
        return outline_log(PosixFiles(), found.directory, found.partition, checkpoints)
    except Exception:  # noqa: BLE001  one that cannot be read must not hide the others; its own page says why
        return LogOutline(found.directory, found.partition, None, [], Checkpoints(), [], 0, ["it cannot be read"])


def _lookup(visit: Visit, log: NamedLog, now_ms: int) -> tuple[LookupView | None, str]:
    """Return the look-up that the address asks for, or what is wrong with what it asks for."""
    wanted = visit.query("at")
    if not wanted:
        return None, ""
    try:
        spec = parse_offset_spec(wanted, now_ms)
    except ValueError as wrong:
        return None, str(wrong)
    with reading(str(log.partition)):
        match spec:
            case AtOffset(offset):
                told = explain_offset(log.fs, log.directory, offset, time.perf_counter_ns, MOST_HEADERS)
            case ForTimestamp(milliseconds):
                told = explain_timestamp(log.fs, log.directory, milliseconds, time.perf_counter_ns, MOST_HEADERS)
            case _:
                return None, f"{wanted!r} is a place that depends on the log; look for an offset or a time"
        return _drawn(log, told), ""


def _drawn(log: NamedLog, told: Explanation) -> LookupView:
    lines = list(explain_lines(told))
    steps: list[LookupStep] = []
    for line in lines[1:]:
        if line.is_heading and line.text[:1].isdigit():
            steps.append(LookupStep(line.text, []))
        elif steps and line.text and not line.is_heading:
            steps[-1].lines.append(line.text.removeprefix("   "))
    marks = batch = None
    if told.segment is not None:
        marks = index_map(index_marks(log.fs, log.directory, told.segment, MOST_MARKS), told.segment_size, told)
        if told.batch is not None:
            batch = f"{_address(log)}/{told.segment}/{told.batch.position}"
    what = f"offset {told.offset}" if told.offset is not None else f"the first record at {told.timestamp} ms or later"
    return LookupView(what, steps, told.problem, marks, scan_map(told), batch)


def _upkeep_text(plan: LogUpkeep, config: TopicConfig | None) -> str:
    if config is None or plan.compaction is None:
        return ""
    found = plan.compaction
    if not found.dirty_bytes:
        return "There is nothing to compact: no closed segment is dirty."
    told = f"{found.ratio:.0%} of the bytes that may be compacted are dirty"
    limit = f"a round begins above {config.min_cleanable_dirty_ratio:.0%} (min.cleanable.dirty.ratio)"
    if found.overdue:
        return f"{told}, and a record has waited for max.compaction.lag.ms: the log is due for a round."
    return f"{told}; {limit}: {'the log is due' if plan.is_worth_it else 'not yet'}."


def _kept_for_ever() -> TopicConfig:
    """Return a config by which nothing goes, for a log of which none is known."""
    return replace(kafka_defaults(), retention_ms=-1, retention_bytes=-1)


def _address(log: NamedLog) -> str:
    return f"/logs/{quote(log.partition.topic, safe='')}/{log.partition.partition}"


PAGE = ConsolePage(
    "Logs",
    "/logs",
    [
        view("/logs", show_logs),
        view("/logs/{topic}/{partition}", show_log),
        *log_segments.ROUTES,
    ],
    lambda settings: bool(settings.log_dirs),
)
