"""Carrying out what state machines want of the world, in order, and remembering who waits for what.

Owns: the order of `effects` (timers, append, what depends on it, answers), the timers of all machines of a partition,
and the tokens of parked requests. Must not know: what the machines do, or what their records mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from odradek.broker.coordinator.background import Background, Slices
from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, OperationResult, TimerKey, Token
from odradek.broker.coordinator.plain_records import KeyAndValue
from odradek.broker.coordinator.timers import TimerLoop, Timers
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class RequestFailed(NamedTuple):
    """The answer to a request that could not be carried out."""

    error: ErrorCode


class Machines(Protocol[M_contra]):
    """The state machines of one partition, by name, as the runtime sees them."""

    def encode(self, record: CoordinatorRecord) -> KeyAndValue:
        """Return key and value of a record as they are stored."""

    def appended(self, record: CoordinatorRecord, value: bytes | None, end: int) -> None:
        """A record was appended, with this value; the log ends at the offset `end` behind its batch."""

    def settle(self, machine: M_contra) -> None:
        """All that an event of the machine wanted is done, but for its answers: keep the machine, or drop it."""

    def on_timer(self, name: str, key: TimerKey) -> None:
        """A timer of the machine of that name ran out."""


@dataclass(frozen=True, slots=True)
class OperationServices:
    """What the operations of all partitions of a coordinator share."""

    scheduler: TimerLoop
    clock: Clock
    background: Background


class CoordinatorOperations(Generic[M]):
    """Carries out what a state machine returned: timers, records as one batch, then answers."""

    __slots__ = ("_background", "_clock", "_is_stopped", "_machines", "_timers", "writer")

    def __init__(self, writer: PartitionWriter, services: OperationServices, machines: Machines[M]) -> None:
        self.writer = writer
        self._clock = services.clock
        self._background = services.background
        self._machines = machines
        self._timers: Timers[tuple[str, TimerKey]] = Timers(services.scheduler, self._on_timer)
        self._is_stopped = False

    def ask(
        self, name: str, machine: M, event: Callable[[Token], Effects]
    ) -> OperationResult | Deferred[OperationResult]:
        """Let a machine work on a request, and return its answer, or the place where it will be."""
        answer: Deferred[OperationResult] = Deferred()
        self.carry_out(name, machine, event(answer))
        return answer.now_or_later()

    def carry_out(self, name: str, machine: M, effects: Effects) -> None:
        """Do what the machine of that name wants; see `effects`.

        Answers go out last of all: an answer may let its connection send the next request at once, and that must find
        everything done.
        """
        end = -1
        answers: list[tuple[Token, OperationResult]] = []
        following: Effects | None = effects
        while following is not None:
            effects, following = following, None
            error = ErrorCode.NONE
            if effects.records:
                try:
                    end = self._append(effects.records)
                except KafkaError as failed:
                    error = failed.code
            for key, delay_ms in effects.timers:
                if delay_ms is None:
                    self._timers.cancel((name, key))
                else:
                    self._timers.set((name, key), delay_ms)
            if error is ErrorCode.NONE:
                answers += effects.answers
            else:
                answers += [(token, RequestFailed(error)) for token, _ in effects.answers]
            if effects.background is not None and error is ErrorCode.NONE:
                self._begin(name, machine, effects.background)
            if effects.after is not None:
                following = effects.after(error, self._clock.now_ms())
        self._machines.settle(machine)
        if answers:
            self._give(answers, end)

    def when_safe(self, end: int) -> ErrorCode | Deferred[ErrorCode]:
        """Return NONE if all below the offset `end` is safe; otherwise how that went, once it is known."""
        if self.writer.is_safe(end):
            return ErrorCode.NONE
        waiting: Deferred[ErrorCode] = Deferred()
        self.writer.when_safe(end, waiting.resolve)
        return waiting

    def stop(self) -> None:
        """Forget all timers of all machines, and what is at work in the background for them."""
        self._is_stopped = True
        self._timers.clear()

    def _begin(self, name: str, machine: M, work: Slices[Callable[[int], Effects]]) -> None:
        def done(event: Callable[[int], Effects]) -> None:
            if not self._is_stopped:
                self.carry_out(name, machine, event(self._clock.now_ms()))

        self._background.add(work, done)

    def _append(self, records: Sequence[CoordinatorRecord]) -> int:
        machines = self._machines
        pairs = [machines.encode(record) for record in records]
        end = self.writer.append(pairs, self._clock.now_ms())
        for record, (_, value) in zip(records, pairs, strict=True):
            machines.appended(record, value, end)
        return end

    def _give(self, answers: Sequence[tuple[Token, OperationResult]], end: int) -> None:
        def give(error: ErrorCode) -> None:
            for token, answer in answers:
                assert isinstance(token, Deferred)
                token.resolve(answer if error is ErrorCode.NONE else RequestFailed(error))

        if end < 0 or self.writer.is_safe(end):
            give(ErrorCode.NONE)
        else:
            self.writer.when_safe(end, give)

    def _on_timer(self, name: tuple[str, TimerKey]) -> None:
        self._machines.on_timer(*name)
