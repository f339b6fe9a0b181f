"""How fast a group reads, from what it had committed at two times: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.cluster.groups import CommittedPosition


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """Offsets a second of all partitions together, and seconds until there is no lag; None for never."""

    consumed_per_s: float
    produced_per_s: float
    caught_up_in_s: float | None


def total_lag(positions: Sequence[CommittedPosition]) -> int:
    """Return how many offsets a group is behind in all."""
    return sum(each.lag or 0 for each in positions)


def progress(
    before: Sequence[CommittedPosition], after: Sequence[CommittedPosition], seconds: float
) -> GroupProgress | None:
    """Return what has happened between two looks; None where no time has passed.

    Only partitions count that were known at both. Offsets that were reset backwards count as negative.
    """
    if seconds <= 0:
        return None
    known = {(each.topic, each.partition): each for each in before}
    consumed = produced = 0
    for each in after:
        then = known.get((each.topic, each.partition))
        if then is None:
            continue
        if each.committed is not None and then.committed is not None:
            consumed += each.committed - then.committed
        if each.end is not None and then.end is not None:
            produced += each.end - then.end
    lag, gain = total_lag(after), (consumed - produced) / seconds
    caught_up = 0.0 if not lag else lag / gain if gain > 0 else None
    return GroupProgress(consumed / seconds, produced / seconds, caught_up)
