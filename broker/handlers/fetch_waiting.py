"""Fetches that wait: for more to be there, within the time that they have.

A fetch of few partitions stands with them as a `DelayedOperation`, and looks again in one go whenever it is woken. One
of many partitions takes several turns of the loop for a look, so it is a task, which rests in between.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, sleep
from collections.abc import Callable, Sequence
from functools import partial

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch_reading import FetchJob, FetchRead, FetchReader
from odradek.broker.handlers.fetch_steps import READS_FROM_DISK, FetchSteps
from odradek.broker.partitions.delayed_operation import DelayedOperation, Watched
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import Response

MEMORY_OF_A_PARTITION = 600
"""Bytes that a partition of a request that waits takes, and its part of the answer."""
_LOOK_AGAIN: Response = b""

FetchEncoder = Callable[[FetchJob, FetchRead], Response]
"""Makes the response of what was found."""


class WaitingFetch:
    """A fetch of few partitions that waits for more."""

    def __init__(self, job: FetchJob, reader: FetchReader, steps: FetchSteps, encode: FetchEncoder) -> None:
        self._job = job
        self._reader = reader
        self._steps = steps
        self._encode = encode
        self._reads_from_disk = 0
        """How often it was woken, and needed what only the disk has, since it last did not."""
        self._is_reading = False
        self._is_final = False
        """Whether its time is up."""

    def begin(self, loop: AbstractEventLoop) -> Deferred[Response]:
        """Stand with the partitions until there is enough, or the time is up."""
        self._delayed = DelayedOperation(
            loop, self._job.request.max_wait_ms / 1000, self._attempt, self._reader.watched(self._job)
        )
        return self._delayed

    def _attempt(self, final: bool) -> Response:
        """Answer a fetch that was woken, or whose time is up; what only the disk has is read on a thread before."""
        self._is_final |= final
        if self._is_reading:
            return None
        job = self._job
        job.look_again()
        found = self._reader.read(job, waits=self._reads_from_disk == READS_FROM_DISK)
        if found.cold:
            self._is_reading = True
            self._reads_from_disk += 1
            self._steps.bring(found.cold).add_done_callback(self._on_brought)
            return None
        self._reads_from_disk = 0
        if not self._is_final and not job.has_enough(found):
            return None
        job.is_told(found)
        return self._encode(job, found)

    def _on_brought(self, _: object) -> None:
        self._is_reading = False
        if self._is_final:
            self._delayed.expire()
        else:
            self._delayed.wake()


class WideFetches:
    """Fetches of so many partitions that looking at them takes several turns of the loop."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        reader: FetchReader,
        steps: FetchSteps,
        converter: Converter,
        memory: RequestMemory,
    ) -> None:
        """`converter` has the thread on which large answers are made."""
        self._loop = loop
        self._reader = reader
        self._steps = steps
        self._converter = converter
        self._memory = memory

    async def answer(self, job: FetchJob, encode: FetchEncoder) -> Response:
        """Answer when there is enough, or the time is up.

        It looks again when something has happened, but rests four times as long as a look takes.
        """
        held = MEMORY_OF_A_PARTITION * sum(len(partitions) for _, partitions in job.wanted)
        self._memory.hold(held)
        try:
            deadline = self._loop.time() + job.request.max_wait_ms / 1000
            while True:
                job.look_again()
                events = job.quiet.events if job.quiet is not None else 0
                began = self._loop.time()
                found = await self._steps.read(job)
                now = self._loop.time()
                if job.has_enough(found) or now >= deadline:
                    break
                watched = self._reader.watched(job)
                has_missed = job.quiet is not None and job.quiet.events != events
                rested = min(deadline, now + 4 * (now - began))
                woken, deadline = await self._woken(watched, deadline, rested, has_missed)
                if not woken and self._loop.time() >= deadline:  # nothing happened to any: it is as it was
                    break
            job.is_told(found)
            return await self._converter.run(partial(encode, job, found), 0)
        finally:
            self._memory.release(held)

    async def _woken(
        self, watched: Sequence[Watched], deadline: float, rested: float, has_missed: bool
    ) -> tuple[bool, float]:
        """Wait until something happens to one of the partitions, or already has, but not shorter than until `rested`.

        Returns whether something has, and the deadline, which has come if the broker stops.
        """
        is_final = False

        def attempt(final: bool) -> Response:
            nonlocal is_final
            is_final = final
            return _LOOK_AGAIN

        delayed = DelayedOperation(self._loop, max(deadline - self._loop.time(), 0), attempt, watched)
        if has_missed:
            delayed.wake()
        try:
            await sleep(max(rested - self._loop.time(), 0))
            outcome = delayed.now_or_later()
            if isinstance(outcome, Deferred):
                await outcome
        finally:
            delayed.cancel()
        return not is_final, self._loop.time() if is_final else deadline
