"""Where records are converted between versions, and large batches checked: on a thread of its own, one after the other.

A record of the old formats costs a Python object, so a request of an old client can cost seconds. One thread does all
of it, so that others share the processor with one of them at most, and so that what waits for the disk on the broker's
other threads does not wait for this. While it works, Python changes between threads more often: the event loop gives
its turn away with every system call, and would wait five milliseconds each time to get it back. Knows nothing of
requests.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError, Lock, Task
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.broker.runtime.short_turns import in_short_turns

log = get_logger("conversion")

T = TypeVar("T")


class Converter:
    """Runs one piece of work after the other; its thread starts with the first one."""

    def __init__(self, loop: AbstractEventLoop, memory: RequestMemory) -> None:
        self._loop = loop
        self._memory = memory
        self._thread: ThreadPoolExecutor | None = None
        self._turn = Lock()

    async def run(self, work: Callable[[], T], work_bytes: int) -> T:
        """Do the work on the thread, and give its result to the event loop.

        `work_bytes` is the memory that it may take at most, which is counted while it runs.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "odradek-conversion")
        async with self._turn:
            self._memory.begin_work(work_bytes)
            try:
                return await self._loop.run_in_executor(self._thread, in_short_turns, work)
            finally:
                self._memory.end_work(work_bytes)


def in_task(
    loop: AbstractEventLoop, work: Coroutine[None, None, Response], is_kept: bool = False
) -> Deferred[Response]:
    """Do what takes several steps as a task, and return the place for its response.

    `is_kept` lets it end although nobody waits for it any more: what it does is the point of it.
    """
    task = loop.create_task(work)
    deferred: Deferred[Response] = Deferred(None if is_kept else task.cancel)
    task.add_done_callback(lambda done: deferred.resolve(_response_of(done)))
    return deferred


def _response_of(task: Task[Response]) -> Response:
    try:
        return task.result()
    except CloseConnectionError as close:
        return close
    except CancelledError:
        return None
    except Exception as failed:  # our fault: whoever waits must not wait for ever
        log.error("a request that took longer failed", exc_info=failed)
        return CloseConnectionError("the broker failed to answer; its log says why")
