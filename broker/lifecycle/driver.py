"""What keeps a broker in its cluster: sends what `BrokerLifecycle` asks for, over a channel of its own.

Owns: the timer of the next request, and telling what became of the broker. Must not know: what a broker does. Nothing
here waits for a disk, and nothing else uses the channel: a heartbeat that comes late has all leaderships moved.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.lifecycle.state import BrokerLifecycle, HeartbeatFlags, LifecycleState, LifecycleTimes
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.nodes.controller_channel import Answer, ControllerRequests
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError, error_name
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

_ATTEMPT_OF_SESSION: Final = 0.5
"""A heartbeat is given up after this part of the session timeout."""

log = get_logger("lifecycle")


class _Wish(NamedTuple):
    """What a request asks for, or tells."""

    state: LifecycleState
    flags: HeartbeatFlags
    failed_directories: tuple[UUID, ...]


class LifecycleDriver:
    """Registers a broker, and keeps it registered."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        channel: ControllerRequests,
        metadata: MetadataImages,
        registration: BrokerRegistrationRequest,
        times: LifecycleTimes,
    ) -> None:
        self._loop = loop
        self._channel = channel
        self._metadata = metadata
        self._registration = registration
        self._life = BrokerLifecycle(times, loop.time())
        self._timer: TimerHandle | None = None
        self._is_asking = False
        self._is_stopped = False
        self._told = ""
        self._waiting: list[tuple[Callable[[], bool], Deferred[str | None]]] = []
        self._failed_directories: dict[UUID, bool] = {}
        """Whether the controller has been told of each."""

    @property
    def broker_epoch(self) -> int:
        """Of the last registration, -1 if there was none."""
        return self._life.broker_epoch

    @property
    def is_fenced(self) -> bool:
        """Whether the controller keeps clients away from this broker."""
        return self._life.is_fenced

    @property
    def state(self) -> LifecycleState:
        """Where the broker is in its life."""
        return self._life.state

    def start(self) -> None:
        """Register."""
        self._ask()

    def caught_up(self) -> Deferred[str | None]:
        """Resolved once this broker has the metadata up to its registration; with the reason if it is refused."""
        return self._when(lambda: self._life.state is not LifecycleState.STARTING)

    def ready(self) -> Deferred[str | None]:
        """The broker can serve: resolved once it may; with the reason if it is refused."""
        self._life.ready()
        self._ask_soon()
        return self._when(lambda: self._life.state not in (LifecycleState.STARTING, LifecycleState.RECOVERY))

    def leave(self) -> Deferred[str | None]:
        """Have the controller move the leaderships away; resolved once the broker may stop."""
        self._life.leave(self._loop.time())
        self._ask_soon()
        return self._when(lambda: self._life.state is LifecycleState.SHUTTING_DOWN)

    def directory_failed(self, directory: UUID) -> None:
        """Tell the controller with the next heartbeat, which is due at once, that this log directory has failed."""
        self._failed_directories[directory] = False
        self._ask_soon()

    def has_told(self, directory: UUID) -> bool:
        """Return whether the controller knows that a directory has failed."""
        return self._failed_directories.get(directory, False)

    def stop(self) -> None:
        """Ask nothing any more."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _when(self, condition: Callable[[], bool]) -> Deferred[str | None]:
        reached: Deferred[str | None] = Deferred()
        self._waiting.append((condition, reached))
        self._loop.call_soon(self._tell)
        return reached

    def _tell(self) -> None:
        """Resolve what has been waited for."""
        refusal = self._life.refusal
        waiting, self._waiting = self._waiting, []
        for condition, reached in waiting:
            if refusal is not None or condition():
                reached.resolve(refusal)
            else:
                self._waiting.append((condition, reached))

    def _ask_soon(self) -> None:
        """Ask now, or when the answer to the last request is there."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_asking:
            self._ask()

    def _ask(self) -> None:
        self._timer = None
        if self._is_stopped or self._life.state is LifecycleState.SHUTTING_DOWN or self._life.refusal is not None:
            return
        self._is_asking = True
        life = self._life
        timeout_s = life.times.session_timeout_s * _ATTEMPT_OF_SESSION
        before = self._wish()
        if life.is_registered:
            answer = self._channel.send(self._heartbeat(), timeout_s)
        else:
            answer = self._channel.send(self._registration, timeout_s)
        answer.on_done(lambda said: self._answered(before, said))

    def _wish(self) -> _Wish:
        return _Wish(self._life.state, self._life.flags, tuple(self._failed_directories))

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        life, flags = self._life, self._life.flags
        return BrokerHeartbeatRequest(
            broker_id=self._registration.broker_id,
            broker_epoch=life.broker_epoch,
            current_metadata_offset=self._metadata.image.offset - 1,
            want_fence=flags.want_fence,
            want_shut_down=flags.want_shut_down,
            offline_log_dirs=list(self._failed_directories),
            cordoned_log_dirs=None if life.state is LifecycleState.STARTING else [],
        )

    def _answered(self, before: _Wish, answer: Answer) -> None:
        self._is_asking = False
        if self._is_stopped:
            return
        life, now = self._life, self._loop.time()
        was_fenced, was_registered = life.is_fenced, life.is_registered
        match answer:
            case BrokerRegistrationResponse():
                self._note(answer.error_code, "register")
                delay_s = life.registered(answer.error_code, answer.broker_epoch, now)
            case BrokerHeartbeatResponse():
                self._note(answer.error_code, "beat")
                if not answer.error_code:
                    self._failed_directories.update(dict.fromkeys(before.failed_directories, True))
                delay_s = life.answered(
                    answer.error_code, answer.is_caught_up, answer.is_fenced, answer.should_shut_down, now
                )
            case KafkaError():
                self._note(answer.code, "reach the controller")
                delay_s = (
                    life.unanswered(now) if life.is_registered else life.registered(answer.code, life.broker_epoch, now)
                )
            case _:
                raise AssertionError(f"{type(answer).__name__} is no answer to a heartbeat")
        if life.is_registered and not was_registered:
            log.info("registered", epoch=life.broker_epoch)
        elif life.state is LifecycleState.RUNNING and life.is_fenced and not was_fenced:
            log.warning("the controller has fenced this broker: its heartbeats came too late")
        if (
            before != _Wish(life.state, life.flags, tuple(self._failed_directories))
            and life.state is not LifecycleState.RECOVERY
        ):
            delay_s = 0.0  # what it wants has changed meanwhile
        self._timer = self._loop.call_later(delay_s, self._ask)
        self._tell()

    def _note(self, code: int, what: str) -> None:
        """Say once what the controller does not like."""
        told = "" if code == ErrorCode.NONE else f"cannot {what}: {error_name(code)}"
        if told and told != self._told and code == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            log.info("waits for the end of the session that this node.id has with the controller")
        elif told and told != self._told:
            log.warning("the controller and this broker do not agree, it is tried again", reason=told)
        self._told = told
