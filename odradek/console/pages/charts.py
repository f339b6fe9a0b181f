"""The last hour: rates of topics, lags of groups and times of requests, as the console itself has measured them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from odradek.console.history import History, SeriesKey, SeriesKind
from odradek.console.page import ConsolePage
from odradek.console.pictures.line_chart import MOST_LINES, ChartLine, line_chart
from odradek.console.routes import view
from odradek.console.visit import Visit

SPAN_S: Final = 3600.0
SPANS: Final = {"10 minutes": 600.0, "1 hour": SPAN_S}
_LATENCY_FIRST: Final = ("Produce", "FetchConsumer", "Fetch", "FetchFollower")


@dataclass(frozen=True, slots=True)
class ChartKey:
    """A line of a chart in words."""

    name: str
    look: str
    now: str
    least: str
    most: str


@dataclass(frozen=True, slots=True)
class ChartView:
    """A chart with its title and its lines in words."""

    title: str
    picture: Markup
    keys: Sequence[ChartKey]


def show_charts(visit: Visit) -> Response:
    """Show the charts, of everything or of one topic or group."""
    history = visit.console.history
    topic, group = visit.query("topic"), visit.query("group")
    span = SPANS.get(visit.query("span"), SPAN_S)
    wanted: list[tuple[str, list[tuple[SeriesKey, str]], Callable[[float], str]]] = []
    if not group:
        wanted.append(("Records written per second", _keys(history, SeriesKind.RECORDS_PER_S, topic), rate_text))
    if not topic:
        wanted.append(("Records that groups are behind", _keys(history, SeriesKind.LAG, group), rate_text))
        if group:
            parts = [(key, key.part) for key in history.largest(SeriesKind.LAG, MOST_LINES, group)]
            wanted.append(("Records that it is behind, by partition", parts, rate_text))
        commits = [each for each in _keys(history, SeriesKind.COMMITTED_PER_S, group) if each[0].name]
        wanted.append(("Records committed per second", commits, rate_text))
    if not topic and not group and visit.console.settings.metrics_url is not None:
        names = _request_names(history)
        for title, kind in (
            ("Time of requests, 99 of 100 below", SeriesKind.LATENCY_P99),
            ("Time of requests, half of them below", SeriesKind.LATENCY_MEDIAN),
        ):
            wanted.append((title, [(SeriesKey(kind, name), name) for name in names], seconds_text))
        counts = [(SeriesKey(SeriesKind.REQUESTS_PER_S, name), name) for name in names]
        wanted.append(("Requests per second", counts, rate_text))
    return visit.page(
        "charts.html",
        charts=[_chart(history, title, keys, show, span) for title, keys, show in wanted],
        topic=topic,
        group=group,
        spans=list(SPANS),
        span=next(name for name, seconds in SPANS.items() if seconds == span),
        rounds=len(history.times()),
        problem=history.problem,
        left_out=history.left_out,
    )


def rate_text(value: float) -> str:
    """Return a rate in short: `0.25`, `12.5`, `1,234`."""
    if value < 100:
        return f"{value:.{2 if value < 10 else 1}f}".rstrip("0").rstrip(".")
    return f"{value:,.0f}"


def seconds_text(value: float) -> str:
    """Return a short time: `0.4 ms`, `12 ms`, `1.5 s`."""
    if value < 1:
        return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value * 1000:.0f} ms"
    return f"{value:.1f} s"


def _keys(history: History, kind: SeriesKind, only: str) -> list[tuple[SeriesKey, str]]:
    """Return the series of a chart with their names: one that is asked for, or all together and the largest."""
    if only:
        return [(SeriesKey(kind, only), only)]
    return [
        (SeriesKey(kind), "all"),
        *((key, key.name) for key in history.largest(kind, MOST_LINES - 1)),
    ]


def _request_names(history: History) -> list[str]:
    """Return the kinds of requests that are drawn: those that matter most to clients, then the most frequent."""
    found = [key.name for key in history.largest(SeriesKind.REQUESTS_PER_S, 50)]
    return sorted(found, key=lambda name: (name not in _LATENCY_FIRST, found.index(name)))[:MOST_LINES]


def _chart(
    history: History, title: str, keys: Sequence[tuple[SeriesKey, str]], show: Callable[[float], str], span: float
) -> ChartView:
    times, found = history.lines(key for key, _ in keys)
    recent = sum(time >= times[-1] - span for time in times) if times else 0
    times = times[len(times) - recent :]
    lines = [ChartLine(name, found[key][-recent:] if recent else []) for key, name in keys if key in found]
    return ChartView(
        title,
        line_chart(title, times, lines, show, span),
        [_key(number, each, show) for number, each in enumerate(lines)],
    )


def _key(number: int, line: ChartLine, show: Callable[[float], str]) -> ChartKey:
    values = [value for value in line.values if not math.isnan(value)]
    now = show(line.values[-1]) if values and not math.isnan(line.values[-1]) else "–"
    least, most = (show(min(values)), show(max(values))) if values else ("–", "–")
    return ChartKey(line.name, f"line line-{number}", now, least, most)


PAGE = ConsolePage("Charts", "/charts", [view("/charts", show_charts)])
