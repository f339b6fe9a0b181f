"""Doing many things on a few threads."""

from collections.abc import Callable
from threading import Barrier, get_ident

import pytest

from odradek.storage.threads import for_each


@pytest.mark.parametrize("threads", [0, 1, 2, 20])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_every_item_is_done_once(threads: int, count: int) -> None:
    """Whatever the number of threads, all items are given out, each once, before the call returns."""
    done: list[int] = []
    for_each(range(count), lambda: done.append, threads)
    assert sorted(done) == list(range(count))


def test_threads_work_at_the_same_time_each_with_its_own_worker() -> None:
    """Two items that wait for each other get done by two threads."""
    meeting = Barrier(2, timeout=30)
    workers: set[int] = set()

    def make_worker() -> Callable[[int], None]:
        workers.add(get_ident())
        return lambda _: print(meeting.wait(), end="")  # noqa: T201 - a worker returns nothing

    for_each(range(2), make_worker, 2)
    assert len(workers) == 2


def test_exception_ends_the_work_and_is_raised_here() -> None:
    """No further items are started after a failure."""
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            raise KeyError(number)

    with pytest.raises(KeyError):
        for_each(range(1000), lambda: work, 1)
    assert begun == [0, 1, 2, 3]
