"""Requests that are too large to be worked on in one turn of the event loop: decoded, and their answers encoded, on a
thread, and handled portion by portion.

Names and numbers become objects of many times their size, so such a request counts as memory while it is worked on, and
what is larger than `runtime.frame_limits` allows is not taken at all. Must not know: APIs, handlers.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task, sleep
from collections.abc import Callable
from typing import Any

from odradek.broker.dispatch.division import Division
from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Done
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import Message

DIVIDED_FRAME = 8 * 1024
"""Bytes of a frame from which on it may name so many things that it is looked whether it has to be divided."""
LARGE_FRAME = 64 * 1024
"""Bytes of a frame from which on it is decoded on a thread: it may have 20,000 names of a byte."""
OBJECTS_TIMES_FRAME = 24
"""Memory of a request that is worked on, in times of its frame."""


class LargeRequests:
    """Works on them."""

    def __init__(self, loop: AbstractEventLoop, converter: Callable[[], Converter], memory: RequestMemory) -> None:
        self._loop = loop
        self._find_converter = converter
        self._memory = memory
        self._running: set[Task[None]] = set()

    def divided(
        self,
        division: Division,
        call: Callable[[Message], Message | Deferred[Any]],
        finish: Callable[[Message], Response],
    ) -> Deferred[Response]:
        """Answer the portions of a request one after the other, each in a turn of its own, and put the answer together
        on the thread."""

        async def work() -> Response:
            responses = await self._answer(division, call)
            return await self._find_converter().run(lambda: finish(division.join(responses)), 0)

        return in_task(self._loop, work(), is_kept=True)

    def large(
        self,
        frame: memoryview,
        decode: Callable[[memoryview], Division],
        begin: Callable[[Division], Response | Deferred[Response] | Callable[[Message], Message | Deferred[Any]]],
        finish: Callable[[Message], Response],
    ) -> Deferred[Response]:
        """Decode a frame on the thread and answer it; its memory is not needed after this call.

        `begin` answers the decoded request, or says what answers its portions.
        """
        held = len(frame) * OBJECTS_TIMES_FRAME
        if not self._memory.may_hold(held):
            raise CloseConnectionError(f"no memory for a request of {len(frame)} bytes now, others are worked on")
        self._memory.hold(held)
        copied = memoryview(bytes(frame))
        converter = self._find_converter()

        async def work() -> Response:
            try:
                division = await converter.run(lambda: decode(copied), 0)
                begun = begin(division)
                if isinstance(begun, Deferred):
                    return await begun
                if not callable(begun):
                    return begun
                responses = await self._answer(division, begun)
                return await converter.run(lambda: finish(division.join(responses)), 0)
            finally:
                self._memory.release(held)

        return in_task(self._loop, work(), is_kept=True)

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Do what a request leads to on the thread, and then call `done` on the event loop (`Threads`)."""

        async def run() -> None:
            failed: BaseException | None = None
            try:
                await self._find_converter().run(work, 0)
            except Exception as raised:  # noqa: BLE001 - whoever submitted it is told
                failed = raised
            done(failed)

        task = self._loop.create_task(run())
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, division: Division, call: Callable[[Message], Message | Deferred[Any]]) -> list[Message]:
        responses: list[Message] = []
        for portion in division.portions:
            outcome = call(portion)
            responses.append(await outcome if isinstance(outcome, Deferred) else outcome)
            await sleep(0)
        return responses
