"""What moving partitions begins with: the right sentence where that cannot be."""

import pytest

from odradek.cluster.topology import OngoingReassignment, PartitionState
from odradek.commands.reassigning import move_of
from odradek.terminal.errors import CommandError

MOVING = OngoingReassignment(replicas=(3, 1, 2), adding=(3,), removing=(2,))


def test_what_a_partition_had_before_is_without_what_is_being_added() -> None:
    """Where a move runs already, its new replicas are none to copy from."""
    state = PartitionState("t", 0, 1, (3, 1, 2), (1, 2), reassignment=MOVING)
    move = move_of([state, PartitionState("t", 1, 1, (1,), (1,))], {("t", 0): (3, 1)})
    assert move.before == {("t", 0): (1, 2)}
    assert move.topics == ["t"]


def test_a_partition_that_does_not_exist() -> None:
    """It is named, before anything has begun."""
    with pytest.raises(CommandError, match="topic t has no partition 7"):
        move_of([PartitionState("t", 0, 1, (1,), (1,))], {("t", 7): (1,)})
