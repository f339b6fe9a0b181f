"""What the tests of old versions share: answers that come from a thread."""

import asyncio
from collections.abc import Callable

from tests.support.partitions import Reply


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop and its threads work until something holds."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("nothing happens")


async def answered(reply: Reply) -> Reply:
    """Wait for an answer."""
    await until(lambda: not reply.is_waiting)
    return reply
