"""Threads that wait for the disk, and tell the event loop."""

import asyncio
import threading
import weakref

from odradek.broker.runtime.disk_threads import DiskThreads


async def test_the_loop_is_told_how_work_has_ended() -> None:
    """Well, or with what it has raised; the thread goes on after that."""
    loop = asyncio.get_running_loop()
    threads = DiskThreads(loop, "test", 1)
    ended: asyncio.Queue[BaseException | None] = asyncio.Queue()

    def fail() -> None:
        raise OSError("no")

    for work in (fail, lambda: None):
        threads.submit(work, ended.put_nowait)
    assert str(await asyncio.wait_for(ended.get(), 10)) == "no"
    assert await asyncio.wait_for(ended.get(), 10) is None
    threads.stop()


async def test_work_that_waits_does_not_keep_other_work_from_its_thread() -> None:
    """As many pieces of work are under way as there may be threads, and no more."""
    threads = DiskThreads(asyncio.get_running_loop(), "test", 2)
    ended: asyncio.Queue[BaseException | None] = asyncio.Queue()
    meeting = threading.Barrier(2, timeout=10)

    def meet() -> None:
        meeting.wait()

    for _ in range(4):
        threads.submit(meet, ended.put_nowait)
    for _ in range(4):
        assert await asyncio.wait_for(ended.get(), 10) is None
    assert sum(thread.name.startswith("test-") for thread in threading.enumerate()) == 2
    threads.stop()
    assert not any(thread.name.startswith("test-") for thread in threading.enumerate())


class Held:
    """Something that a piece of work holds, as a flush holds files."""

    def use(self) -> None:
        """Be used."""


async def test_idle_threads_hold_nothing() -> None:
    """A file that the last flush was about is given back when its partition is deleted."""
    threads = DiskThreads(asyncio.get_running_loop(), "test", 1)
    held = Held()
    reference = weakref.ref(held)
    ended: asyncio.Queue[BaseException | None] = asyncio.Queue()
    threads.submit(held.use, ended.put_nowait)
    await asyncio.wait_for(ended.get(), 10)
    del held
    async with asyncio.timeout(10):
        while reference() is not None:
            await asyncio.sleep(0.001)
    threads.stop()
