"""Run a load in a process of its own and bring its result back.

A load shares neither interpreter lock nor heap with the rest of the benchmark, nor with another load that runs at the
same time. Functions and arguments must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def run(load: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `load` in a new process and return its result, or raise what it raised."""
    with beside(load, *args, **kwargs) as future:
        return future.result()


@contextmanager
def beside(load: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Iterator[Future[T]]:
    """Call `load` in a new process while the block runs; the future gives its result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool.submit(load, *args, **kwargs)
