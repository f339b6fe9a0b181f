"""One client's connection: frames in, answers out in order, on a transport that never waits.

A connection knows frames and answers, not APIs. It works on one request at a time, as Kafka does: while a request is
parked (a long poll, a produce that waits for its fsync) or an answer cannot be sent (`answer_sender`), nothing more is
read, and TCP tells the client to wait.

Ends are always defined: the client closes, the idle limit passes without a completed request, a frame breaks the rules,
or the broker stops. Each of them but the first is logged once, with the peer and the reason.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, NamedTuple

from odradek.broker.network.answer_sender import AnswerSender
from odradek.broker.network.arrival import Arrival
from odradek.broker.network.receiving import FrameError, FrameReader, ReceiveBuffers
from odradek.broker.network.sending import pack_size
from odradek.broker.network.transport import Transport
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, HandOver, LastAnswer, Response, Throttled
from odradek.broker.runtime.responses import Handle as FrameHandler

log = get_logger("network")

FRAMES_PER_TURN: Final = 128
"""Pipelined requests worked on before others get their turn, and answers that go out in one write."""

ANSWER_BYTES_PER_TURN: Final = 256 * 1024
"""Answers that may queue up before they are sent: a client that pipelines and does not read costs no more than this."""

LONGEST_MUTE_S: Final = 24 * 3600.0
"""A day: timers have bounds, and connections.max.idle.ms ends such a connection long before."""


class ClientConnection:
    """One client: takes requests in, one at a time, and sends their responses in order."""

    __slots__ = (
        "_arrival",
        "_closed",
        "_finishing",
        "_frames",
        "_handle",
        "_loop",
        "_memory",
        "_muted",
        "_on_close",
        "_on_starved",
        "_out",
        "_pending",
        "_reading",
        "_sender",
        "_transport",
        "_turn_scheduled",
        "_unsent",
        "context",
        "last_active",
    )

    def __init__(
        self,
        loop: AbstractEventLoop,
        transport: Transport,
        context: RequestContext,
        handle: FrameHandler,
        shared: ConnectionServices,
    ) -> None:
        self._loop = loop
        self._transport = transport
        self.context = context
        self._handle = handle
        self._on_close = shared.on_close
        self._on_starved = shared.on_starved
        self._memory = shared.buffers.memory
        self._frames = FrameReader(shared.buffers, shared.max_frame_bytes)
        self._sender = AnswerSender(loop, transport, self._memory, shared.threads, self)
        self._out = self._sender.queue
        self._unsent = self._out.pieces
        self._pending: Deferred[Response] | None = None
        self._reading = False
        self._turn_scheduled = False
        self._arrival = Arrival()
        self._finishing = False
        self._muted: TimerHandle | None = None
        """Until it is over, nothing is read."""
        self._closed = False
        self.last_active = loop.time()

    def start(self, max_first_frame_bytes: int | None = None) -> None:
        """Begin to read; frames may be no larger than that before it is known who the client is."""
        self._frames.narrow(max_first_frame_bytes)
        self._resume_reading()

    @property
    def is_busy(self) -> bool:
        """Whether a request is in work or an answer is not wholly sent."""
        return self._pending is not None or bool(self._unsent)

    @property
    def waits_for_client(self) -> bool:
        """Whether the next move is the client's: to send a request, or the rest of one, or to read its answer."""
        return self._pending is None and not self._sender.is_warming

    def close(self, reason: str | None = None) -> None:
        """Close at once; a reason is logged, None means that the client left in order."""
        if self._closed:
            return
        self._closed = True
        if reason is not None:
            log.info("connection closed", peer=self.context.peer, client=self.context.client_id, reason=reason)
        self._pause_reading()
        self._sender.close()
        if self._muted is not None:
            self._muted.cancel()
        self._transport.close()
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        self._frames.close()
        self._on_close(self)

    def is_slow_sender(self, now: float) -> bool:
        """Whether a request that arrives too slowly holds memory that others may wait for."""
        if not self._reading or not self._frames.held_bytes:
            return False  # what is not read now waits for memory itself, or for its answer
        return self._arrival.is_slow(now, self.last_active, self._frames.rest_bytes)

    def finish(self) -> None:
        """Close as soon as no request is in work and every answer is sent: the broker stops."""
        self._finishing = True
        if not self.is_busy:
            self.close()

    # events

    def _on_readable(self) -> None:
        frames = self._frames
        try:
            received = frames.receive(self._transport)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as broken:
            self.close(f"reading failed: {broken.strerror or broken}")
            return
        if received == 0:
            self.close("the client closed in the middle of a request" if frames.has_rest else None)
        elif self._pending is not None or self._unsent:
            if received > 0:
                frames.keep_rest()
            self._pause_reading()  # one request at a time: what came early waits, and the client with it
        else:
            frame = frames.take_only() if not self._finishing else None
            if frame is None:
                self._work()
            else:
                self._answer_only(frame)

    def _on_answer(self, answer: Response) -> None:
        """The parked request has its answer."""
        self._pending = None
        if self._closed:
            return
        if isinstance(answer, CloseConnectionError):
            self.close(str(answer))
            return
        self.last_active = self._loop.time()
        if isinstance(answer, HandOver | LastAnswer | Throttled):
            self._turn(answer)
        else:
            self._out.add_answer(answer)
        self.advance()

    def _on_turn(self) -> None:
        self._turn_scheduled = False
        if not self._closed:
            self.advance()

    # work

    def advance(self, has_read: bool = False) -> None:
        """Send what waits, then go on with the next requests if that is done; `has_read` says that the client took
        something of it."""
        if has_read:
            self.last_active = self._loop.time()
        self._sender.flush()
        if not self._closed and not self.is_busy and self._muted is None:
            self._work()

    def _answer_only(self, frame: memoryview) -> None:
        """Do the work of one frame with nothing behind it: `_work` without what is for several."""
        try:
            answer = self._handle(self.context, frame)
            if not isinstance(answer, bytes) and answer is not None:
                self._take_answer(answer)
        except Exception as failed:  # noqa: BLE001 - this connection must end, and no other
            self._failed(failed)
            return
        self.last_active = self._loop.time()
        if isinstance(answer, bytes):
            self._sender.send(pack_size(len(answer)) + answer)
            if self._unsent:
                self._sender.flush()
        elif answer is not None:
            if self._unsent:
                self._sender.flush()
            self._await_next(False)

    def _work(self) -> None:
        """Answer what can be answered, then wait for one thing: an answer, the socket, memory, or more bytes."""
        more = False
        if not self._finishing:
            try:
                more = self._answer_frames()
            except Exception as failed:  # noqa: BLE001 - this connection must end, and no other
                self._failed(failed)
                return
        self._await_next(more)

    def _failed(self, failed: Exception) -> None:
        """End the connection, since what came on it cannot be answered."""
        if isinstance(failed, FrameError | CloseConnectionError):
            self.close(str(failed))
            return
        log.error("request failed", peer=self.context.peer, client=self.context.client_id, exc_info=failed)
        self.close("the broker failed to answer; its log says why")

    def _await_next(self, more: bool) -> None:
        """Wait for what comes next; `more` says that whole frames may be there already."""
        if self._closed:
            return
        kept = self._frames.keep_rest()
        if not self._frames.has_rest:
            self._arrival.since = 0.0
        elif not self._arrival.since:
            self._arrival.since = self._loop.time()
        if self._pending is not None or self._unsent or self._muted is not None:
            return
        if self._finishing:
            self.close()
        elif more:
            if not self._turn_scheduled:
                self._turn_scheduled = True
                self._loop.call_soon(self._on_turn)
        elif not kept:
            self._pause_reading()
            self._memory.when_freed(self._on_turn)
            self._on_starved()
        elif not self._reading:
            self._resume_reading()

    def _answer_frames(self) -> bool:
        """Work on complete frames until one parks, none is left, or the turn is over; returns whether more may be
        there.

        Raises:
            FrameError, CloseConnectionError: the connection must end; what was answered before has been sent.
        """
        frames = self._frames.take_frames(FRAMES_PER_TURN)
        if not frames:
            return False
        handle, context = self._handle, self.context
        answers: list[bytes] = []
        queued = done = 0
        try:
            for frame in frames:
                done += 1
                answer = handle(context, frame)
                if isinstance(answer, bytes):
                    answers.append(pack_size(len(answer)))
                    answers.append(answer)
                    queued += len(answer)
                    if queued > ANSWER_BYTES_PER_TURN:
                        break
                elif answer is None:
                    continue
                else:
                    self._send_answers(answers)
                    answers = []
                    self._take_answer(answer)
                    break  # record data goes out before the next request is looked at
        finally:
            self._send_answers(answers)
            if done < len(frames):
                self._frames.put_back(frames[done:])
        self.last_active = self._loop.time()
        if self._unsent:
            self._sender.flush()
        return done < len(frames) or len(frames) == FRAMES_PER_TURN

    def _take_answer(self, answer: Response | Deferred[Response]) -> None:
        """Take an answer that is not bytes: after it nothing is answered for now.

        Raises:
            CloseConnectionError: it is that.
        """
        if isinstance(answer, list):
            self._out.add_answer(answer)
        elif isinstance(answer, CloseConnectionError):
            raise answer
        elif isinstance(answer, HandOver | LastAnswer | Throttled):
            self._turn(answer)
        elif isinstance(answer, Deferred):
            self._pending = answer
            answer.on_done(self._on_answer)

    def _send_answers(self, answers: list[bytes]) -> None:
        """Send complete answers with one call, as far as the socket takes them; the rest is queued."""
        if answers:
            self._sender.send(b"".join(answers))

    def _turn(self, answer: HandOver | LastAnswer | Throttled) -> None:
        """Send an answer after which everything is another, or over, or has to wait."""
        if answer.answer is not None:
            self._out.add_answer(answer.answer)
        if isinstance(answer, HandOver):
            self._handle = answer.handle
            self._frames.narrow(None)
            return
        if isinstance(answer, Throttled):
            self._mute(answer.seconds)
            return
        self._frames.swallow(self._transport)  # what was not read would have the end take the answer away
        self._finishing = True

    def _mute(self, seconds: float) -> None:
        """Read nothing for a while; whoever sends on is told by TCP to wait."""
        if self._finishing:
            return
        self._pause_reading()
        self._muted = self._loop.call_later(min(seconds, LONGEST_MUTE_S), self._on_unmuted)

    def _on_unmuted(self) -> None:
        self._muted = None
        self.advance()

    # readiness

    def _resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self._transport.watch_reading(self._loop, self._on_readable)

    def _pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.unwatch_reading(self._loop)


class ConnectionServices(NamedTuple):
    """What all connections of a broker share."""

    buffers: ReceiveBuffers
    max_frame_bytes: int
    threads: Executor
    on_close: Callable[[ClientConnection], None]
    on_starved: Callable[[], None]
    """Called when a connection must wait for memory."""
