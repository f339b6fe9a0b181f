"""What the commands that move partitions have in common: to begin, to wait with progress, to take throttles away."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from typer import Option

from odradek.cluster.broker_requests import Address
from odradek.cluster.connection import ClusterClients
from odradek.cluster.directory_moves import Directories, begin_directory_moves, directory_states
from odradek.cluster.moving import MoveState, copied, move_states
from odradek.cluster.offsets import Partition
from odradek.cluster.placement import Assignment
from odradek.cluster.reassignments import alter_reassignments
from odradek.cluster.throttles import clear_throttles, set_throttles, throttled_replicas
from odradek.cluster.topology import (
    OngoingReassignment,
    PartitionState,
    describe_brokers,
    describe_partitions,
    list_reassignments,
)
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

PAUSE_S: Final = 0.5
"""Between two looks at how far it is."""
SEEN_TIMEOUT_S: Final = 2.0
SEEN_PAUSE_S: Final = 0.05
REASONS_SHOWN: Final = 3

Throttle = Annotated[
    int | None,
    Option("--throttle", metavar="BYTES", min=1, help="At most so many bytes a second into and out of each broker."),
]
NoWait = Annotated[bool, Option("--no-wait", help="Return once it has begun; `partitions reassign verify` waits.")]


@dataclass(frozen=True, slots=True)
class Move:
    """Partitions that are to move: how they are, and the replicas that they are to have."""

    states: Mapping[Partition, PartitionState]
    target: Assignment
    directories: Directories = field(default_factory=dict)
    """Of those replicas that are to be in a certain log directory."""

    @property
    def topics(self) -> list[str]:
        """The topics that they belong to."""
        return sorted({topic for topic, _ in self.target})

    @property
    def before(self) -> dict[Partition, tuple[int, ...]]:
        """The replicas that they had before anything was on its way."""
        return {key: replicas_before(self.states[key]) for key in self.target}


def replicas_before(state: PartitionState) -> tuple[int, ...]:
    """Return the replicas of a partition without those that are being added."""
    adding = state.reassignment.adding if state.reassignment is not None else ()
    return tuple(each for each in state.replicas if each not in adding)


def move_of(states: Iterable[PartitionState], target: Assignment, directories: Directories | None = None) -> Move:
    """Return the move to a target; CommandError where a partition of it does not exist."""
    known = {each.key: each for each in states}
    for topic, number in target:
        if (topic, number) not in known:
            raise CommandError(
                f"topic {topic} has no partition {number}; `odradek topics describe` shows what there is"
            )
    return Move({key: known[key] for key in target}, target, directories or {})


def begin(cluster: ClusterClients, output: CommandOutput, move: Move, throttle: int | None) -> None:
    """Throttle, and have the controller begin; CommandError where it refuses partitions."""
    brokers = describe_brokers(cluster.requests)
    wanted = {broker for replicas in move.target.values() for broker in replicas}
    if unknown := sorted(wanted - brokers.brokers.keys()):
        raise CommandError(
            f"there is no broker {', '.join(map(str, unknown))}; `odradek cluster status` shows those there are"
        )
    for each in sorted(wanted - brokers.live.keys()):
        output.note(f"broker {each} is fenced: what it is to have waits until it is back")
    if throttle is not None:
        involved = wanted.union(*move.before.values())
        topics = throttled_replicas(move.before, move.target)
        set_throttles(cluster, throttle, sorted(involved & brokers.live.keys()), topics)
    addresses = {number: each.address for number, each in brokers.live.items()}
    # First, so that replicas that are to come are made where they belong.
    refused = begin_directory_moves(cluster.requests, addresses, move.directories, move.before)
    refused |= alter_reassignments(cluster.requests, _changes(move))
    if refused:
        raise CommandError(_refusals(refused, len(move.target)))


def wait(cluster: ClusterClients, output: CommandOutput, move: Move, again: str) -> None:
    """Wait until the partitions have moved, showing how far they are.

    At Ctrl-C the move goes on by itself; `again` is the command that looks after it then. KeyboardInterrupt is raised.
    """
    addresses = {number: each.address for number, each in describe_brokers(cluster.requests).live.items()}
    leaders = {key: each.leader for key, each in move.states.items() if each.leader is not None}
    largest: dict[Partition, int] = {}
    with asked_to_stop() as is_asked, output.progress(in_bytes=True) as progress:
        task = progress.add_task("", total=None)
        while True:
            ongoing = _still_moving(cluster, move.target)
            if not ongoing and not _changes_directories(cluster, addresses, move.directories):
                return
            if is_asked():
                output.note(f"{plural(len(ongoing), 'partition')} still on the way, which goes on; {again}")
                raise KeyboardInterrupt
            if not progress.disable:
                far = copied(cluster.requests, addresses, leaders, ongoing)
                largest |= {key: max(each.total, largest.get(key, 0)) for key, each in far.items()}
                there = sum(largest.values()) - sum(each.total - each.copied for each in far.values())
                said = f"{len(move.target) - len(ongoing)} of {plural(len(move.target), 'partition')}"
                progress.update(task, description=said, completed=there, total=sum(largest.values()))
            time.sleep(PAUSE_S)


def states_of(cluster: ClusterClients, move: Move) -> dict[Partition, MoveState]:
    """Return what has become of a plan.

    Brokers learn of the end of a move a moment after the controller, so what is neither done nor moving is looked at
    again for a while.
    """
    deadline = time.monotonic() + SEEN_TIMEOUT_S
    while True:
        states = move_states(describe_partitions(cluster.requests, move.topics), move.target)
        if move.directories:
            is_there = {key: state is MoveState.DONE for key, state in states.items()}
            addresses = {number: each.address for number, each in describe_brokers(cluster.requests).live.items()}
            for replica, state in directory_states(cluster.requests, addresses, move.directories).items():
                if is_there.get(replica.partition) and state is not MoveState.DONE:
                    # one replica that is somewhere else outweighs others that are on their way
                    known = states[replica.partition]
                    states[replica.partition] = known if known is MoveState.OTHERWISE else state
        if MoveState.OTHERWISE not in states.values() or time.monotonic() > deadline:
            return states
        time.sleep(SEEN_PAUSE_S)


def end_throttles(cluster: ClusterClients, topics: Collection[str]) -> bool:
    """Take the throttles of brokers and of these topics away, unless something still moves; returns whether."""
    if list_reassignments(cluster.requests):
        return False
    clear_throttles(cluster, describe_brokers(cluster.requests).live, topics)
    return True


def _changes(move: Move) -> dict[Partition, tuple[int, ...]]:
    """Return what the controller has to be asked for: not what is so already, or on its way to be so."""
    states = move_states(move.states.values(), move.target)
    return {key: replicas for key, replicas in move.target.items() if states[key] is MoveState.OTHERWISE}


def _still_moving(cluster: ClusterClients, target: Assignment) -> dict[Partition, OngoingReassignment]:
    return {key: each for key, each in list_reassignments(cluster.requests).items() if key in target}


def _changes_directories(cluster: ClusterClients, addresses: Mapping[int, Address], directories: Directories) -> bool:
    if not directories:
        return False
    return MoveState.MOVING in directory_states(cluster.requests, addresses, directories).values()


def _refusals(refused: Mapping[Partition, str], count: int) -> str:
    shown = [f"partition {number} of {topic}: {reason}" for (topic, number), reason in sorted(refused.items())]
    more = f"; and {len(shown) - REASONS_SHOWN} more" if len(shown) > REASONS_SHOWN else ""
    return f"{len(refused)} of {plural(count, 'partition')} refused: {'; '.join(shown[:REASONS_SHOWN])}{more}"
