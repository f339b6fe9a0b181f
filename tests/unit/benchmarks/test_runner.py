"""Axes are taken from targets in the order that the plan says, and one that fails leaves the others alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.axis import Axis, Bench, Measure, Stage, Values
from benchmarks.runner import BenchmarkPlan, run
from benchmarks.target import Target
from benchmarks.wire import WireError


def _no_command(*_: object) -> list[str]:
    raise AssertionError("no axis of these tests starts a broker")


def _target(name: str, ours: bool = True) -> Target:
    return Target(name, _no_command, _no_command, 0.0, ours)


def _axis(name: str, take: Callable[[Stage], Values], ours_only: bool = False) -> Axis:
    return Axis(name, name, (Measure("value", "ms"), Measure("rare", "MB")), take, ours_only=ours_only)


class _Recorder:
    """Notes who was measured, and gives 1.0, 2.0, … in turn."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def __call__(self, stage: Stage) -> Values:
        self.taken.append(stage.target.name)
        return {"value": float(len(self.taken))}


@pytest.mark.parametrize(
    ("in_turns", "order", "medians"),
    [
        (True, ["base", "head", "base", "head", "base", "head"], {"base": 3.0, "head": 4.0}),
        (False, ["base", "base", "base", "head", "head", "head"], {"base": 2.0, "head": 5.0}),
    ],
)
def test_targets_are_taken_in_turns_or_one_after_the_other(
    tmp_path: Path, in_turns: bool, order: list[str], medians: Values
) -> None:
    """In turns, what the machine does in between hits both alike; the table has the medians of either."""
    taken = _Recorder()
    plan = BenchmarkPlan([_axis("moved", taken)], [_target("base"), _target("head")], 3, in_turns=in_turns)
    report = run(plan, Bench(1.0, tmp_path))
    assert taken.taken == order
    assert report.rows[0].values == medians
    assert report.rows[1].values == {}, "a measure that was not taken has no figure"
    assert not report.failed


def test_an_axis_that_failed_once_is_noted_and_not_tried_again(tmp_path: Path) -> None:
    """The other target and the other axes are measured all the same, and the run counts as failed."""
    tried: list[str] = []

    def fails_with_base(stage: Stage) -> Values:
        tried.append(stage.target.name)
        if stage.target.name == "base":
            raise WireError("no answer")
        return {"value": 1.0}

    after = _Recorder()
    axes = [_axis("fails", fails_with_base), _axis("after", after)]
    report = run(BenchmarkPlan(axes, [_target("base"), _target("head")], 2, in_turns=True), Bench(1.0, tmp_path))
    assert tried == ["base", "head", "head"]
    assert after.taken == ["base", "head"] * 2
    assert report.failed
    told = [note for note in report.notes if "others used" not in note]  # whatever else this machine does meanwhile
    assert told == ["fails failed with base: no answer"]
    assert report.rows[0].values == {"head": 1.0}


def test_what_only_odradek_has_is_not_asked_of_another_broker(tmp_path: Path) -> None:
    """Of an axis that is ours only, the other broker has no figure."""
    taken = _Recorder()
    plan = BenchmarkPlan([_axis("own", taken, ours_only=True)], [_target("theirs", ours=False), _target("odradek")])
    report = run(plan, Bench(1.0, tmp_path))
    assert taken.taken == ["odradek"]
    assert report.rows[0].values == {"odradek": 1.0}
