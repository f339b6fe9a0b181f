"""Run a load in a process of its own and bring its result back.

A load shares neither interpreter lock nor heap with the rest of the benchmark, nor with another load that runs at the
same time. Functions, arguments and results must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class LoadError(Exception):
    """A load failed; the message says how, the cause is what it raised."""


@dataclass(frozen=True, slots=True)
class Running(Generic[T]):
    """A load under way in another process."""

    _future: Future[T]

    def result(self) -> T:
        """Wait for the load and return its result; LoadError, whatever it raised."""
        error = self._future.exception()
        if error is not None:
            raise LoadError(f"{type(error).__name__}: {error}") from error
        return self._future.result()


def run(load: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `load` in a new process and return its result; LoadError when it raised."""
    with beside(load, *args, **kwargs) as running:
        return running.result()


@contextmanager
def beside(load: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Iterator[Running[T]]:
    """Call `load` in a new process while the block runs."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield Running(pool.submit(load, *args, **kwargs))
