"""Ctrl-C and SIGTERM for work that must end between two records, not within one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether the first SIGINT or SIGTERM has come; the second one ends the work at once.

    Away from the main thread, where signals cannot be taken, it is never asked.
    """
    asked = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    with _signals_go_to(on_signal):
        yield lambda: asked


@contextmanager
def told_to_end() -> Iterator[Callable[[], bool]]:
    """Have SIGINT and SIGTERM raise KeyboardInterrupt; give a function that tells whether one has come.

    For work in libraries that may swallow what is raised: ask when it is done. Away from the main thread it is never
    told.
    """
    told = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        raise KeyboardInterrupt

    with _signals_go_to(on_signal):
        yield lambda: told


@contextmanager
def _signals_go_to(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM call a function, and what it was before afterwards; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
