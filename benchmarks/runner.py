"""Runs axes against targets and gathers what they gave, as data; prints only progress, tables are made elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
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
    """What to run: axes against targets in turn, each axis `repeat` times (medians), with floors or without.

    Before each it waits up to `patience_seconds` for others to leave the machine alone.
    """

    axes: Sequence[Axis]
    targets: Sequence[Target]
    repeat: int = 1
    floors: bool = True
    patience_seconds: float = 0


def run(plan: BenchmarkPlan, bench: Bench) -> Report:
    """Run the plan; an axis that fails is noted, with its reason, and the others still run."""
    report = Report(tuple(target.name for target in plan.targets), machine.describe())
    began = time.monotonic()
    taken: dict[tuple[str, str], Values] = {}
    floors: dict[str, Values] = {}
    for target in plan.targets:
        stage = Stage(bench, target)
        try:
            for axis in plan.axes:
                if not (axis.ours_only and target.name != "odradek"):
                    taken[target.name, axis.name] = _take(plan, axis, stage, report)
                if plan.floors and axis.floor and target is plan.targets[-1]:
                    floors[axis.name] = _floor(axis, bench, report)
        finally:
            stage.close()
    for axis in plan.axes:
        for measure in axis.measures:
            values = {
                target.name: found[measure.key]
                for target in plan.targets
                if measure.key in (found := taken.get((target.name, axis.name), {}))
            }
            report.rows.append(Row(axis, measure, values, floors.get(axis.name, {}).get(measure.key)))
    report.seconds = time.monotonic() - began
    return report


def _take(plan: BenchmarkPlan, axis: Axis, stage: Stage, report: Report) -> Values:
    """Each measure's median over the repetitions; nothing when one of them failed."""
    name = stage.target.name
    taken: list[Values] = []
    try:
        for _ in range(plan.repeat):
            taken.append(_once(plan, axis, stage, report))
    except _FAILURES as error:
        report.failed = True
        report.notes.append(f"{axis.name} failed with {name}: {error}")
        stage.close()
        return {}
    values = {key: median(each[key] for each in taken) for key in taken[0]}
    shown = ", ".join(f"{values[measure.key]:.4g} {measure.unit}" for measure in axis.measures)
    print(f"{name} {axis.name}: {shown}", file=sys.stderr)
    return values


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
