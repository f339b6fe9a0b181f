"""Lives of simulated clusters, by their seeds: `python -m tests.simulation --seeds 0-10000`, `--seed 7 --log` for one.

Says for each broken one why, with its seed, and ends with exit code 1 if there was any.
"""

from __future__ import annotations

import argparse
import gc
import io
import logging
import os
import signal
import sys
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from unittest import mock

from odradek.broker.runtime.logging import configure_logging
from tests.simulation.clients import BrokenPromiseError
from tests.simulation.planted import PLANTED
from tests.simulation.scenario import Scenario
from tests.simulation.shape import Shape, shape_of

LIVES_PER_COLLECTION = 10
"""Garbage is collected between lives only: each is small, and goes as a whole."""


def live(seed: int, shape: Shape | None, transactions: bool) -> Scenario:
    """Live through the life of one seed, and return it; raises BrokenPromiseError.

    `transactions`: that there are some in it, by one copier or two.
    """
    if transactions:
        shape = shape or shape_of(seed)
        shape = replace(shape, copiers=1 + seed % 2)
    chance = Random(seed)
    scenario = Scenario(seed, shape)
    with mock.patch("os.urandom", chance.randbytes):
        scenario.run()
    return scenario


def main() -> int:
    """Live through the lives that the arguments name; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", default="", help="first-last, the last one left out")
    parser.add_argument("--transactions", action="store_true", help="copies in transactions in each of them")
    parser.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--story", action="store_true", help="show what went wrong with the nodes, and when")
    parser.add_argument("--log", action="store_true", help="show what the nodes say")
    parser.add_argument("--until-broken", action="store_true", help="stop after the first broken one")
    parser.add_argument("--planted", choices=PLANTED, help="with this bug, in the kind of life in which it shows")
    parser.add_argument("--like", choices=PLANTED, help="the same kind of life, without the bug")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of names in a set would be another one each time
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    configure_logging("info" if given.log else "error", sys.stderr if given.log else io.StringIO(), as_json=False)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # what a process was doing when it was killed stays undone
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last)) if given.seed is None else range(given.seed, given.seed + 1)
    kind = given.planted or given.like
    shape = PLANTED[kind].shape if kind else None
    end = time.monotonic() + given.seconds
    gc.disable()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lived = broken = acknowledged = leaderships = 0
    with ExitStack() as stack:
        if given.planted:
            PLANTED[given.planted].plant(stack)
        for seed in seeds:
            if time.monotonic() > end or (broken and given.until_broken):
                break
            try:
                scenario = live(seed, shape, given.transactions)
            except BrokenPromiseError as promise:
                broken += 1
                print(promise, flush=True)  # noqa: T201
            except KeyboardInterrupt:  # what was found until then is told
                break
            else:
                acknowledged += sum(map(len, scenario.ledger.acknowledged.values()))
                leaderships += scenario.checks.leaderships
                if given.story:
                    print("\n".join([*scenario.faults.story, f"{scenario.world.events} events"]))  # noqa: T201
            lived += 1
            if lived % LIVES_PER_COLLECTION == 0:
                gc.collect()
    print(f"{lived} lives, {broken} broken; {acknowledged} records acknowledged, {leaderships} leaderships")  # noqa: T201
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
