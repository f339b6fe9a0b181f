"""Members of many groups on raw sockets that do nothing but heartbeat, each on a connection of its own.

JoinGroup 3, SyncGroup 2 and Heartbeat 2: the last inflexible ones, by which a member is in the group with its first
request. Every member beats once in an interval, spread evenly over it; a beat is due by the clock, whatever became of
the one before, so that a broker that falls behind is seen to.
"""

from __future__ import annotations

import os
import select
import struct
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import wire
from benchmarks.clients.figures import Meter
from benchmarks.connection import Connection
from benchmarks.statistics import Percentiles, percentiles
from benchmarks.target import Endpoint

_JOIN_GROUP, _HEARTBEAT, _FIND_COORDINATOR, _SYNC_GROUP = 11, 12, 10, 14
_SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\0\0\0\0"
_ASSIGNMENT = b"\0\0\0\0\0\0\0\0\0\0"
_NO_ERROR = b"\0\0"
_BEAT_ANSWER_SIZE = 14
_READY_SECONDS = 60
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class GroupLoad:
    """So many groups of so many members; `interval_seconds` is how often each of them beats."""

    endpoint: Endpoint
    groups: int
    members: int
    session_seconds: float
    interval_seconds: float
    warmup_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """What was answered: how many beats a second, how many were refused, the broker's CPU for each; latency in µs.

    A refused beat is a member that the broker has put out, or a group that began to rebalance because of one.
    """

    per_second: float
    refused: int
    broker_cpu_us: float
    latency: Percentiles


@dataclass(slots=True)
class _Member:
    connection: Connection
    group: str
    member_id: str = ""
    generation: int = -1
    is_leader: bool = False

    def request(self) -> bytes:
        body = wire.string(self.group) + wire.SIZE.pack(self.generation) + wire.string(self.member_id)
        return wire.request(_HEARTBEAT, 2, body)


def heartbeats(load: GroupLoad) -> Heartbeats:
    """Form the groups, then beat for the time of the load."""
    with Connection(load.endpoint.address) as connection:
        _await_coordinator(connection)
    members = [
        _Member(Connection(load.endpoint.address), f"bench-{group}")
        for group in range(load.groups)
        for _ in range(load.members)
    ]
    try:
        _form(members, load)
        return _beat(members, load)
    finally:
        for member in members:
            member.connection.close()


def _await_coordinator(connection: Connection) -> None:
    """The first question for a coordinator makes the broker create the topic of committed offsets."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        answer = connection.ask(wire.request(_FIND_COORDINATOR, 1, wire.string("bench-0") + b"\0"))
        (error,) = struct.unpack_from(">h", answer, 8)
        if not error:
            return
        if time.monotonic() > deadline:
            raise wire.WireError("there is no group coordinator", error)
        time.sleep(0.01)


def _form(members: Sequence[_Member], load: GroupLoad) -> None:
    """Let all members join and sync; again where a coordinator is not ready yet or members came too late."""
    by_group: dict[str, list[_Member]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    for _ in range(_ATTEMPTS):
        _each(members, lambda member: _join_request(member, load), _joined)
        codes = _each(members, lambda member: _sync_request(member, by_group[member.group]), _synced)
        if not any(codes):
            return
        time.sleep(0.2)
    raise wire.WireError("the groups did not become stable", max(codes))


def _each(
    members: Sequence[_Member], request: Callable[[_Member], bytes], answered: Callable[[_Member, memoryview], int]
) -> list[int]:
    """Send one request for each member, then receive all answers: a group answers its members together."""
    for member in members:
        member.connection.socket.sendall(request(member))
    return [answered(member, member.connection.receive()) for member in members]


def _join_request(member: _Member, load: GroupLoad) -> bytes:
    timeout_ms = int(load.session_seconds * 1000)
    body = wire.string(member.group) + struct.pack(">ii", timeout_ms, timeout_ms) + wire.string(member.member_id)
    body += wire.string("consumer") + wire.SIZE.pack(1) + wire.string("range")
    body += wire.SIZE.pack(len(_SUBSCRIPTION)) + _SUBSCRIPTION
    return wire.request(_JOIN_GROUP, 3, body)


def _joined(member: _Member, answer: memoryview) -> int:
    error, generation = struct.unpack_from(">hi", answer, 8)
    position, texts = 14, []
    for _ in range(3):  # protocol, leader, member id
        (length,) = struct.unpack_from(">h", answer, position)
        texts.append(bytes(answer[position + 2 : position + 2 + max(length, 0)]).decode())
        position += 2 + max(length, 0)
    if not error:
        member.generation, member.member_id = generation, texts[2]
        member.is_leader = texts[1] == texts[2]
    return int(error)


def _sync_request(member: _Member, group: Sequence[_Member]) -> bytes:
    body = wire.string(member.group) + wire.SIZE.pack(member.generation) + wire.string(member.member_id)
    assigned = group if member.is_leader else ()
    body += wire.SIZE.pack(len(assigned))
    for each in assigned:
        body += wire.string(each.member_id) + wire.SIZE.pack(len(_ASSIGNMENT)) + _ASSIGNMENT
    return wire.request(_SYNC_GROUP, 2, body)


def _synced(_member: _Member, answer: memoryview) -> int:
    (error,) = struct.unpack_from(">h", answer, 8)
    return int(error)


def _beat(members: Sequence[_Member], load: GroupLoad) -> Heartbeats:
    sockets = [member.connection.socket.fileno() for member in members]
    requests = dict(zip(sockets, (member.request() for member in members), strict=True))
    poll = select.epoll()
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
    pace = load.interval_seconds / len(members)
    clock = time.perf_counter
    due_at: dict[int, float] = {}
    samples = array("d")
    refused = number = 0
    began = clock()

    def run(seconds: float) -> None:
        nonlocal refused, number
        until = clock() + seconds
        while (now := clock()) < until:
            while (due := began + number * pace) <= now:
                descriptor = sockets[number % len(sockets)]
                number += 1
                if descriptor in due_at:
                    continue  # the beat before has not been answered yet
                due_at[descriptor] = due
                os.write(descriptor, requests[descriptor])
            for descriptor, _event in poll.poll(max(0.0, min(due, until) - clock())):
                answer = os.read(descriptor, 64)
                if len(answer) != _BEAT_ANSWER_SIZE:
                    raise wire.WireError(f"a heartbeat was answered with {len(answer)} bytes")
                refused += answer[12:14] != _NO_ERROR
                samples.append((clock() - due_at.pop(descriptor)) * 1e6)

    run(load.warmup_seconds)
    del samples[:]
    with Meter(load.endpoint.pid) as meter:
        run(load.seconds)
    late = sum(1 for due in due_at.values() if clock() - due > load.session_seconds)
    cpu = meter.broker_cpu * 1e6 / len(samples)
    return Heartbeats(len(samples) / meter.elapsed, refused + late, cpu, percentiles(samples))
