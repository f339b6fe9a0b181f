"""Connections that the next task of a worker goes on with."""

import pytest

from pyspark_odradek.client.cluster import ClusterConnections, ClusterOptions
from pyspark_odradek.client.kept_connections import ConnectionKeeper


class ClosedOrNot(ClusterConnections):
    """Knows whether it was closed."""

    def __init__(self) -> None:
        super().__init__(ClusterOptions((), idle_timeout_s=10))
        self.closed = False

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_the_next_task_has_the_connections_of_the_one_before() -> None:
    """As long as the options are the same, and they were not idle for too long."""
    now = [0.0]
    keeper = ConnectionKeeper(lambda: now[0])
    with keeper.connections("a", ClosedOrNot) as first:
        pass
    now[0] = 10.0
    with keeper.connections("a", ClosedOrNot) as second, keeper.connections("a", ClosedOrNot) as beside:
        assert second is first
        assert beside is not first
    with keeper.connections("b", ClosedOrNot) as other:
        assert other not in (first, beside)
    now[0] = 20.1
    with keeper.connections("a", ClosedOrNot) as late:
        assert late not in (first, beside)
    assert isinstance(beside, ClosedOrNot)
    assert beside.closed, "one of the two had no place"


def test_what_ended_badly_is_closed() -> None:
    """A task that fails, or that nobody reads to its end, leaves no answers to the next one."""
    keeper = ConnectionKeeper()
    with pytest.raises(KeyError), keeper.connections("a", ClosedOrNot) as first:
        raise KeyError
    assert isinstance(first, ClosedOrNot)
    assert first.closed
    with keeper.connections("a", ClosedOrNot) as second:
        assert second is not first


def test_few_are_kept() -> None:
    """Queries of many clusters in one worker do not pile up connections."""
    keeper = ConnectionKeeper()
    made = []
    for key in range(9):
        with keeper.connections(key, ClosedOrNot) as each:
            made.append(each)
    assert [isinstance(each, ClosedOrNot) and each.closed for each in made] == [True] * 5 + [False] * 4
