"""Where a follower cuts its log, held against two logs whose common beginning is known."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.replication.truncation import truncation_point
from odradek.storage.checkpoints.leader_epochs import EpochEnd, EpochStart, LeaderEpochCache
from tests.support.memory_files import MemoryFiles

Log = list[int]
"""The leader epoch of each record."""


def cache(log: Log) -> LeaderEpochCache:
    """Return the leader epochs of a log."""
    starts = [EpochStart(epoch, at) for at, epoch in enumerate(log) if at == 0 or log[at - 1] != epoch]
    return LeaderEpochCache(MemoryFiles(), "/t-0", starts)


def epochs(counts: list[int], first: int = 0) -> Log:
    """Return a log with so many records of each epoch."""
    return [first + epoch for epoch, count in enumerate(counts) for _ in range(count)]


@given(
    common=st.lists(st.integers(0, 3), max_size=4),
    lead=st.lists(st.integers(0, 3), max_size=5),
    follow=st.lists(st.integers(0, 3), max_size=5),
)
def test_repeated_cuts_end_where_the_logs_part(common: list[int], lead: list[int], follow: list[int]) -> None:
    """Whatever two leaders wrote in epochs of their own, odd ones here and even ones there (KIP-279).

    Nothing of what both have is cut, and all else is, within as many steps as there are epochs.
    """
    shared = epochs(common)
    first = len(common)
    leader = shared + [2 * epoch for epoch in epochs(lead, first)] + [2 * (first + 6)]
    log = shared + [2 * epoch + 1 for epoch in epochs(follow, first)]
    of_leader = cache(leader)
    steps = 0
    while log:
        end = of_leader.end_offset_for(log[-1], len(leader))
        if end.epoch == log[-1] and end.end_offset >= len(log):
            break
        own = cache(log)
        point = truncation_point(len(log), lambda epoch: own.end_offset_for(epoch, len(log)), end)  # noqa: B023
        assert len(shared) <= point < len(log)
        log = log[:point]
        steps += 1
    assert log == shared
    assert steps <= len(follow) + 1


def test_leader_that_knows_no_epoch_cuts_to_its_end() -> None:
    """An offset without an epoch is all there is to go by; without an offset nothing is cut."""
    assert truncation_point(10, lambda _: EpochEnd(-1, -1), EpochEnd(-1, 7)) == 7
    assert truncation_point(10, lambda _: EpochEnd(-1, -1), EpochEnd(3, 7)) == 7
    assert truncation_point(10, lambda _: EpochEnd(-1, -1), EpochEnd(-1, -1)) == 10
