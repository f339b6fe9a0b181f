"""How fast a group reads."""

import pytest

from odradek.cluster.group_progress import GroupProgress, progress, total_lag
from odradek.cluster.groups import CommittedPosition


def _at(partition: int, committed: int | None, end: int | None) -> CommittedPosition:
    return CommittedPosition("t", partition, committed, end, None)


def test_rates_and_when_it_has_caught_up() -> None:
    """Of all partitions together; what is gained on the producers is what takes the lag away."""
    before = [_at(0, 10, 100), _at(1, 0, 50)]
    after = [_at(0, 30, 110), _at(1, 10, 50)]
    assert total_lag(after) == 120
    assert progress(before, after, 10) == GroupProgress(3.0, 1.0, 60.0)


@pytest.mark.parametrize(
    ("after", "caught_up"), [([_at(0, 10, 100)], None), ([_at(0, 20, 120)], None), ([_at(0, 100, 100)], 0.0)]
)
def test_a_group_that_does_not_gain(after: list[CommittedPosition], caught_up: float | None) -> None:
    """It never catches up, unless it is there already."""
    found = progress([_at(0, 10, 100)], after, 1)
    assert found is not None
    assert found.caught_up_in_s == caught_up


def test_only_what_is_known_at_both_times_counts() -> None:
    """A partition that is new, or of which nothing was committed, says nothing of the speed; nor does no time."""
    before = [_at(0, None, 100)]
    after = [_at(0, 50, 110), _at(1, 5, 5), _at(2, 5, None)]
    assert progress(before, after, 1) == GroupProgress(0.0, 10.0, None)
    assert progress(before, after, 0) is None
