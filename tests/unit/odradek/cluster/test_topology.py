"""What is judged of a partition."""

import pytest

from odradek.cluster.topology import OngoingReassignment, PartitionState, troubled


def _state(isr: tuple[int, ...], **more: object) -> PartitionState:
    known: dict[str, object] = {"topic": "t", "number": 0, "leader": isr[0] if isr else None, "replicas": (1, 2, 3)}
    return PartitionState(**{**known, "isr": isr, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "judged"),
    [
        (_state((1, 2, 3), min_isr=2), []),
        (_state((1, 2), min_isr=2), ["under_replicated"]),
        (_state((1,), min_isr=2), ["under_replicated", "under_min_isr"]),
        (_state((1,)), ["under_replicated"]),
        (_state((), min_isr=1), ["under_replicated", "under_min_isr", "offline"]),
        (_state((1,), leader=None, min_isr=1), ["under_replicated", "offline"]),
    ],
)
def test_what_is_wrong_with_a_partition(state: PartitionState, judged: list[str]) -> None:
    """Each judgement stands for itself; without a minimum nobody can say that it is not reached."""
    names = ("under_replicated", "under_min_isr", "offline")
    assert [name for name in names if troubled([state], [name])] == judged
    assert troubled([state]) == ([state] if judged else [])


def test_replicas_that_are_being_added_are_not_missing() -> None:
    """A reassignment is no trouble until one of the replicas that were there falls out."""
    moving = OngoingReassignment(replicas=(3, 4, 1, 2), adding=(3, 4), removing=(1,))
    assert moving.target == (3, 4, 2)
    assert not _state((1, 2), replicas=moving.replicas, reassignment=moving).is_under_replicated
    assert _state((1,), replicas=moving.replicas, reassignment=moving).is_under_replicated
