"""Runs axes against targets and gathers what they gave, as data; prints only progress, tables are made elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks import machine
from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.isolation import LoadError
from benchmarks.statistics import median
from benchmarks.target import BrokerError, Target
from benchmarks.wire import WireError

_BUSY_SHARE = 0.15
"""From this share of the machine on, what others use is noted beside the figures."""
_WARM_BYTES = 2 * 2**30
_FAILURES = (BrokerError, WireError, LoadError, OSError)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: of one measure of one axis, for each target by its name, and the floor where there is one."""

    axis: Axis
    measure: Measure
    values: Values
    floor: float | None


@dataclass(slots=True)
class Report:
    """All figures of a run, in order, and what should be known beside them."""

    targets: tuple[str, ...]
    machine: str
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """What to run: axes against targets, each axis `repeat` times (medians), with floors or without.

    One target after the other, or `in_turns`: each repetition of an axis with every target before the next one. Then
    the broker that axes share runs for every target at once, so a target must cost nothing while nobody asks it.
    Before each it waits up to `patience_seconds` for others to leave the machine alone.
    """

    axes: Sequence[Axis]
    targets: Sequence[Target]
    repeat: int = 1
    floors: bool = True
    patience_seconds: float = 0
    in_turns: bool = False

    def turns(self) -> Iterator[tuple[Axis, Target, bool]]:
        """What to take, in order; the last value says whether it is the last time of this axis with this target."""
        times = [number == self.repeat for number in range(1, self.repeat + 1)]
        if self.in_turns:
            yield from ((axis, target, last) for axis in self.axes for last in times for target in self.targets)
        else:
            yield from ((axis, target, last) for target in self.targets for axis in self.axes for last in times)


class _Taken:
    """What each axis gave with each target, time by time; nothing of those that failed once."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], list[Values] | None] = {}

    def failed(self, axis: Axis, target: Target) -> bool:
        """Whether this axis failed with this target before."""
        return self._values.get((axis.name, target.name), []) is None

    def add(self, axis: Axis, target: Target, values: Values | None) -> None:
        """Keep what one time gave; None when it failed."""
        found = self._values.setdefault((axis.name, target.name), [])
        if values is None:
            self._values[axis.name, target.name] = None
        elif found is not None:
            found.append(values)

    def medians(self, axis: Axis, target: Target) -> Values:
        """Each measure's median over the repetitions."""
        found = self._values.get((axis.name, target.name))
        return {key: median(each[key] for each in found) for key in found[0]} if found else {}


def run(plan: BenchmarkPlan, bench: Bench) -> Report:
    """Run the plan; an axis that fails is noted, with its reason, and the others still run."""
    report = Report(tuple(target.name for target in plan.targets), machine.describe())
    began = time.monotonic()
    taken = _Taken()
    floors: dict[str, Values] = {}
    stages = {target.name: Stage(bench, target) for target in plan.targets}
    try:
        for axis, target, last in plan.turns():
            if not plan.in_turns:
                _close(stage for name, stage in stages.items() if name != target.name)
            if (target.ours or not axis.ours_only) and not taken.failed(axis, target):
                taken.add(axis, target, _take(plan, axis, stages[target.name], report))
                if last:
                    _tell(axis, target, taken.medians(axis, target))
            if last and plan.floors and axis.floor and target is plan.targets[-1]:
                floors[axis.name] = _floor(axis, bench, report)
    finally:
        _close(stages.values())
    for axis in plan.axes:
        found = {target.name: taken.medians(axis, target) for target in plan.targets}
        for measure in axis.measures:
            values = {name: given[measure.key] for name, given in found.items() if measure.key in given}
            report.rows.append(Row(axis, measure, values, floors.get(axis.name, {}).get(measure.key)))
    report.seconds = time.monotonic() - began
    return report


def _close(stages: Iterable[Stage]) -> None:
    for stage in stages:
        stage.close()


def _take(plan: BenchmarkPlan, axis: Axis, stage: Stage, report: Report) -> Values | None:
    """What the axis gave this time; None, and a note, when it failed."""
    try:
        return _once(plan, axis, stage, report)
    except _FAILURES as error:
        report.failed = True
        report.notes.append(f"{axis.name} failed with {stage.target.name}: {error}")
        stage.close()
        return None


def _tell(axis: Axis, target: Target, values: Values) -> None:
    if values:
        shown = (f"{values[measure.key]:.4g} {measure.unit}" for measure in axis.measures if measure.key in values)
        print(f"{target.name} {axis.name}: {', '.join(shown)}", file=sys.stderr)


def _once(plan: BenchmarkPlan, axis: Axis, stage: Stage, report: Report) -> Values:
    if plan.patience_seconds:
        machine.await_quiet(plan.patience_seconds)
    _warm(axis)
    before = machine.read_cpu()
    values = axis.run(stage)
    share = before.others_share(machine.read_cpu())
    if share >= _BUSY_SHARE:
        note = f"{axis.name}, {stage.target.name}: others used {share:.0%} of the machine meanwhile"
        report.notes.append(note)
    return values


def _floor(axis: Axis, bench: Bench, report: Report) -> Values:
    assert axis.floor is not None  # the caller looked
    try:
        _warm(axis)
        return axis.floor(bench)
    except _FAILURES as error:
        report.failed = True
        report.notes.append(f"the floor of {axis.name} failed: {error}")
        return {}


def _warm(axis: Axis) -> None:
    if axis.bulk:
        machine.warm_memory(_WARM_BYTES)
