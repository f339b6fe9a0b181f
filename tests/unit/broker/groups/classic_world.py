"""A world for one classic group: carries out its effects with a list for a log and time that a test moves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, OperationResult, TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.joining import refusal
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    ClassicHeartbeat,
    HeartbeatResult,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SupportedProtocol,
    SyncRequest,
    SyncResult,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataValue

RANGE = (SupportedProtocol("range", b"what range needs"),)
SESSION_MS = 10_000
REBALANCE_MS = 60_000
FIRST_MS = 1_000_000


class Request:
    """A token: one request, and its answer once there is one."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.answers: list[OperationResult] = []

    def __repr__(self) -> str:
        return f"<{self.label}>"

    @property
    def parked(self) -> bool:
        """Whether it still waits."""
        return not self.answers

    @property
    def answer(self) -> OperationResult:
        """The only answer."""
        (answer,) = self.answers
        return answer

    @property
    def joined(self) -> JoinResult:
        """The only answer, of a JoinGroup."""
        assert isinstance(self.answer, JoinResult)
        return self.answer

    @property
    def synced(self) -> SyncResult:
        """The only answer, of a SyncGroup."""
        assert isinstance(self.answer, SyncResult)
        return self.answer

    @property
    def left(self) -> LeaveResult:
        """The only answer, of a LeaveGroup."""
        assert isinstance(self.answer, LeaveResult)
        return self.answer


class Failed:
    """What the shard answers where an append failed under an answer."""

    def __init__(self, error: ErrorCode) -> None:
        self.error = error


class World:
    """One group and all around it."""

    def __init__(self, limits: ClassicGroupLimits | None = None, group: ClassicGroup | None = None) -> None:
        self.limits = limits or ClassicGroupLimits()
        self.now = FIRST_MS
        self.group = group or ClassicGroup("g", self.limits, self.now)
        self.log: list[CoordinatorRecord] = []
        self.timers: dict[TimerKey, int] = {}
        self.append_error = ErrorCode.NONE
        """What the next appends fail with."""
        self.held: list[Effects] | None = None
        """Not None: appends take their time; `release` ends them."""
        self.requests: list[Request] = []
        self._ids = itertools.count(1)

    # Carrying out effects, as effects.py says.

    def carry_out(self, effects: Effects) -> None:
        """Set timers, append, tell the machine, answer."""
        self._set_timers(effects)
        if effects.records and self.held is not None:
            self.held.append(effects)
        else:
            self._finish(effects)

    def release(self) -> None:
        """End the appends that were held."""
        held, self.held = self.held or [], None
        for effects in held:
            self._finish(effects)

    def _finish(self, effects: Effects) -> None:
        error = self.append_error if effects.records else ErrorCode.NONE
        if error is ErrorCode.NONE:
            self.log += effects.records
        if effects.after is not None:
            self.carry_out(effects.after(error, self.now))
        for token, answer in effects.answers:
            assert isinstance(token, Request)
            token.answers.append(answer if error is ErrorCode.NONE else Failed(error))

    def _set_timers(self, effects: Effects) -> None:
        for key, delay_ms in effects.timers:
            if delay_ms is None:
                self.timers.pop(key, None)
            else:
                self.timers[key] = self.now + delay_ms

    def pass_time(self, ms: int) -> None:
        """Let time pass; timers run out in their order."""
        end = self.now + ms
        while self.timers:
            key, deadline = min(self.timers.items(), key=lambda item: item[1])
            if deadline > end:
                break
            del self.timers[key]
            self.now = max(self.now, deadline)
            self.carry_out(self.group.on_timer(key, self.now))
        self.now = end

    # Requests.

    def _request(self, label: str) -> Request:
        request = Request(label)
        self.requests.append(request)
        return request

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[SupportedProtocol, ...] = RANGE,
        protocol_type: str = "consumer",
        version: int = 9,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> Request:
        """Send a JoinGroup."""
        token = self._request(f"join {member_id or instance}")
        message = JoinRequest(
            member_id, instance, "c", "/127.0.0.1", session_ms, rebalance_ms, protocol_type, protocols, version,
            str(next(self._ids)),
        )  # fmt: skip
        refused = refusal(message, self.limits, group_exists=True)
        if refused is not None:
            token.answers.append(refused)
        else:
            self.carry_out(self.group.join(message, token, self.now))
        return token

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Request:
        """Send a SyncGroup."""
        token = self._request(f"sync {member_id}")
        known = self.group.generation if generation is None else generation
        message = SyncRequest(member_id, instance, known, protocol_type, protocol_name, assignments or {})
        self.carry_out(self.group.sync(message, token))
        return token

    def heartbeat(self, member_id: str, generation: int | None = None, instance: str | None = None) -> ErrorCode:
        """Send a Heartbeat and return what it is told."""
        token = self._request(f"heartbeat {member_id}")
        known = self.group.generation if generation is None else generation
        self.carry_out(self.group.heartbeat(ClassicHeartbeat(member_id, instance, known), token))
        assert isinstance(token.answer, HeartbeatResult)
        return token.answer.error

    def leave(self, *leaving: LeavingMember) -> Request:
        """Send a LeaveGroup."""
        token = self._request("leave")
        self.carry_out(self.group.leave(leaving, token, self.now))
        return token

    # Several at once.

    def new_member(self, protocols: tuple[SupportedProtocol, ...] = RANGE) -> Request:
        """Send the two JoinGroups of a new member and return the second."""
        return self.join(self.join(protocols=protocols).joined.member_id, protocols=protocols)

    def stable(self, size: int, instances: tuple[str | None, ...] = ()) -> list[str]:
        """Make the empty group stable with some members, and return their ids, the leader's first."""
        wanted = [*instances, *[None] * (size - len(instances))]
        joins = [self.new_member() if instance is None else self.join(instance=instance) for instance in wanted]
        self.pass_time(self.limits.initial_rebalance_delay_ms * 2)
        ids = [request.joined.member_id for request in joins]
        for member_id in reversed(ids):
            self.sync(member_id, {one: f"part of {number}".encode() for number, one in enumerate(ids)})
        return ids

    @property
    def state(self) -> ClassicGroupState:
        """The state of the group."""
        return self.group.state

    @property
    def last_value(self) -> GroupMetadataValue:
        """The value of the last record."""
        value = self.log[-1].value
        assert isinstance(value, GroupMetadataValue)
        return value
