"""Requests of a broker to the active controller, whoever that is at the time.

Owns: one request in flight, in order; a controller that is none any more, or a connection that broke, has the request
sent again to the next one as soon as it is known; deadlines. A broker has several of these, so that none of its
concerns waits behind another. Must not know: what is asked. Source: `NodeToControllerChannelManager`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress, NodeConnection
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError

POLL_S: Final = 0.1
"""How often it is looked whether a controller is known."""
MAX_WAITING: Final = 10_000
"""Requests that may wait for a controller; more are refused at once."""

Answer = Message | KafkaError
"""What the controller said, or why it could not be asked: REQUEST_TIMED_OUT, UNSUPPORTED_VERSION."""


class ControllerRequests(Protocol):
    """Something that puts requests to the active controller."""

    def send(self, request: Message, timeout_s: float | None = None) -> Deferred[Answer]:
        """Send a request; the answer, of the response's class, comes later. None: however long it takes."""


class _Waiting:
    """A request without an answer."""

    __slots__ = ("answer", "request", "timer")

    def __init__(self, request: Message, answer: Deferred[Answer]) -> None:
        self.request = request
        self.answer = answer
        self.timer: TimerHandle | None = None


class ControllerChannel:
    """A `ControllerRequests` over a connection of its own."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        connector: Connector,
        leader: Callable[[], NodeAddress | None],
        client_id: str,
        request_timeout_s: float,
    ) -> None:
        """`leader` tells where the active controller is, if that is known; `request_timeout_s` is how long one attempt
        may take."""
        self._loop = loop
        self._connector = connector
        self._leader = leader
        self._client_id = client_id
        self._request_timeout_s = request_timeout_s
        self._waiting: deque[_Waiting] = deque()
        self._in_flight: _Waiting | None = None
        self._connection: NodeConnection | None = None
        self._poll: TimerHandle | None = None
        self._is_closed = False

    def send(self, request: Message, timeout_s: float | None = None) -> Deferred[Answer]:
        """Send a request; see `ControllerRequests.send`."""
        answer: Deferred[Answer] = Deferred()
        if self._is_closed or len(self._waiting) >= MAX_WAITING:
            refused = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "too many requests wait for a controller")
            self._loop.call_soon(answer.resolve, refused)
            return answer
        waiting = _Waiting(request, answer)
        if timeout_s is not None:
            waiting.timer = self._loop.call_later(timeout_s, self._expire, waiting)
        self._waiting.append(waiting)
        self._go_on()
        return answer

    def close(self) -> None:
        """Give up; nobody is told any more."""
        self._is_closed = True
        if self._poll is not None:
            self._poll.cancel()
        if self._connection is not None:
            self._connection.close()
        if self._in_flight is not None:
            self._waiting.append(self._in_flight)
        for waiting in self._waiting:
            if waiting.timer is not None:
                waiting.timer.cancel()
            waiting.answer.cancel()
        self._waiting.clear()

    def _send_next(self) -> None:
        self._poll = None
        if not self._waiting or self._is_closed:
            return
        leader = self._leader()
        if leader is None:
            self._poll = self._loop.call_later(POLL_S, self._send_next)
            return
        if self._connection is None or self._connection.address != leader:
            self._leave()
            self._connection = self._connector.connect(leader, self._client_id)
        self._in_flight = waiting = self._waiting.popleft()
        sent = self._connection.send(waiting.request, self._request_timeout_s)
        sent.on_done(partial(self._answered, waiting))

    def _answered(self, waiting: _Waiting, answer: Message | Disconnected) -> None:
        self._in_flight = None
        if isinstance(answer, Disconnected) and answer.is_unsupported:
            self._finish(waiting, KafkaError(ErrorCode.UNSUPPORTED_VERSION, answer.reason))
        elif isinstance(answer, Disconnected) or is_from_no_controller(answer):
            # another one may be about to be the controller: look again, but not at once
            self._leave()
            self._waiting.appendleft(waiting)
            self._poll = self._loop.call_later(POLL_S, self._send_next)
        else:
            self._finish(waiting, answer)
        self._go_on()

    def _finish(self, waiting: _Waiting, answer: Answer) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        waiting.answer.resolve(answer)

    def _expire(self, waiting: _Waiting) -> None:
        if waiting is self._in_flight:
            self._in_flight = None
            self._leave()
        else:
            self._waiting.remove(waiting)
        waiting.answer.resolve(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller has answered in time"))
        self._go_on()

    def _go_on(self) -> None:
        """Send the next one, unless something else will."""
        if self._in_flight is None and self._poll is None:
            self._send_next()

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def is_from_no_controller(answer: Message) -> bool:
    """Return whether an answer says, anywhere, that the node is not the active controller."""
    if getattr(answer, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER:
        return True
    topics = getattr(answer, "topics", None) or ()
    return any(getattr(topic, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER for topic in topics)
