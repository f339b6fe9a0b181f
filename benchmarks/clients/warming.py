"""Warming a broker that compiles what it runs often: until its CPU for each request falls no more.

Apache Kafka on the JVM takes tens of seconds for that, and by how long it was warmed its figures differ by a factor.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import machine

STRETCH_SECONDS = 4.0
MOST_STRETCHES = 20
STEADY_SHARE = 0.03
"""A stretch that is better than the best before by no more than this brings nothing."""
STEADY_STRETCHES = 3
"""So many in a row that bring nothing: collections of garbage make single ones slow."""


def run_until_steady(run: Callable[[float], object], count: Callable[[], int], broker_pid: int) -> int:
    """Let the load run, a stretch of seconds at a time, until the broker is warm; returns after how many stretches.

    `count` says how many requests were answered so far.
    """

    def cost() -> float:
        answered, used = count(), machine.cpu_seconds(broker_pid)
        run(STRETCH_SECONDS)
        return (machine.cpu_seconds(broker_pid) - used) / max(1, count() - answered)

    return stretches_until_steady(cost)


def stretches_until_steady(cost: Callable[[], float]) -> int:
    """Call `cost`, which returns what each request took, until that falls no more; returns how often."""
    best, in_vain = cost(), 0
    for stretch in range(1, MOST_STRETCHES):
        if in_vain == STEADY_STRETCHES:
            return stretch
        found = cost()
        in_vain = 0 if found < best * (1 - STEADY_SHARE) else in_vain + 1
        best = min(best, found)
    return MOST_STRETCHES
