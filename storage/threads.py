"""Doing many things that wait for the disk, or for checksums, on a few threads, and waiting for all of them.

Used where a broker starts and stops, when nothing else goes on. Plain threads: `concurrent.futures` would take longer
to import than a start with a hundred logs takes.
"""

from collections import deque
from collections.abc import Callable, Iterable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def for_each(items: Iterable[T], make_worker: Callable[[], Callable[[T], None]], threads: int) -> None:
    """Give every item to one of up to `threads` workers, each made for its thread; return once all are done.

    After an exception no more items are handed out; the first one is raised again here.
    """
    waiting = deque(items)
    failures: list[BaseException] = []

    def run() -> None:
        worker = make_worker()
        while waiting and not failures:
            try:
                item = waiting.popleft()
            except IndexError:
                return  # another thread was quicker
            try:
                worker(item)
            except BaseException as failure:  # noqa: BLE001 - raised again by the thread that waits
                failures.append(failure)

    others = [Thread(target=run, name="storage", daemon=True) for _ in range(min(threads, len(waiting)) - 1)]
    for thread in others:
        thread.start()
    run()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
