"""Two loads in turns, so that both are measured on the same machine at the same time: without something, and with."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import wire
from benchmarks.clients.figures import Requests
from benchmarks.clients.requests import RequestLoad, pipelined
from benchmarks.connection import Connection


@dataclass(frozen=True, slots=True)
class Side:
    """A load, and what its broker is told before each of its turns (a whole request); nothing where that is empty."""

    load: RequestLoad
    order: bytes = b""


def pipelined_in_turns(sides: tuple[Side, Side], rounds: int) -> list[tuple[Requests, Requests]]:
    """Run both sides so often, the one that was second before the other the next time; return the figures of each round
    in the order of the sides."""
    found = []
    for number in range(rounds):
        first = number % 2
        one, other = _turn(sides[first]), _turn(sides[1 - first])
        found.append((other, one) if first else (one, other))
    return found


def _turn(side: Side) -> Requests:
    if side.order:
        with Connection(side.load.endpoint.address) as connection:
            wire.check_quotas(connection.ask(side.order))
    return pipelined(side.load)
