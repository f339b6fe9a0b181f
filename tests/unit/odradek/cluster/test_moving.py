"""How far a plan is, what is throttled for it, and what a drained broker still has on its way."""

import pytest

from odradek.cluster.drain import drained
from odradek.cluster.moving import MoveState, move_states
from odradek.cluster.throttles import throttled_replicas
from odradek.cluster.topology import OngoingReassignment, PartitionState

KEY = ("t", 0)


def _state(*replicas: int, moving: OngoingReassignment | None = None, number: int = 0) -> PartitionState:
    return PartitionState("t", number, replicas[0], replicas, replicas, reassignment=moving)


TO_THREE = OngoingReassignment(replicas=(3, 1, 2), adding=(3,), removing=(2,))


@pytest.mark.parametrize(
    ("state", "target", "expected"),
    [
        (_state(1, 2), (1, 2), MoveState.DONE),
        (_state(1, 2), (2, 1), MoveState.OTHERWISE),
        (_state(3, 1, 2, moving=TO_THREE), (3, 1), MoveState.MOVING),
        (_state(3, 1, 2, moving=TO_THREE), (1, 2), MoveState.OTHERWISE),
    ],
)
def test_what_has_become_of_a_plan(state: PartitionState, target: tuple[int, ...], expected: MoveState) -> None:
    """A partition is there, on its way there, or something else has come up; the order counts."""
    assert move_states([state], {KEY: target}) == {KEY: expected}


def test_partitions_that_are_not_planned_are_left_out() -> None:
    """Nobody asked for them."""
    assert move_states([_state(1, 2)], {("other", 0): (1,)}) == {}


def test_a_move_is_throttled_at_both_ends_and_nothing_else_is() -> None:
    """The replicas that were there as leaders, those that are added as followers; a new order moves no bytes."""
    before = {("t", 0): (1, 2), ("t", 1): (1, 2), ("u", 0): (1, 2)}
    target = {("t", 0): (3, 1), ("t", 1): (2, 3), ("u", 0): (2, 1)}
    assert throttled_replicas(before, target) == {
        "t": [
            ("leader.replication.throttled.replicas", "0:1,0:2,1:1,1:2"),
            ("follower.replication.throttled.replicas", "0:3,1:3"),
        ]
    }


def test_draining_looks_at_where_partitions_are_going() -> None:
    """One that is leaving is waited for, one that is coming is sent elsewhere, one that is not concerned stays."""
    racks = dict.fromkeys((1, 2, 3, 4))
    coming = _state(3, 1, 2, moving=TO_THREE, number=1)
    leaving = _state(3, 1, 2, moving=TO_THREE, number=2)
    states = [_state(1, 2), coming, leaving]
    assert drained(states, 2, racks, {1, 3, 4}) == {("t", 0): (1, 4), ("t", 1): (3, 1), ("t", 2): (3, 1)}
    assert drained([_state(1, 2), coming], 3, racks, {1, 2, 4}) == {("t", 1): (4, 1)}
    assert drained([_state(1, 2)], 4, racks, {1, 2, 3}) == {}
