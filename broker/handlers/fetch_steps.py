"""Reading for a fetch that takes more than one turn of the loop: of many partitions, or of what only the disk has.

What of indexes and batch headers is not in memory is read through on a thread, and looked at again after that, so that
a consumer of last week does not hold up the producers of now; what happens to the records themselves is
`broker.network.cold_reads`. Many partitions are looked at a few at a time. Must not know: sessions, waiting for more.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, sleep
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress

from odradek.broker.handlers.fetch_reading import FetchJob, FetchRead, FetchReader
from odradek.protocol.hot.fetch import FetchResult
from odradek.storage.errors import NotInMemory

MOST_AT_ONCE = 256
"""Partitions that are looked at in one turn of the loop: some milliseconds."""
READS_FROM_DISK = 16
"""A read needs an index, its pages and some batch headers of each partition, one after the other."""


class FetchSteps:
    """Reads for fetches step by step."""

    def __init__(self, loop: AbstractEventLoop, reader: FetchReader, threads: Executor | None) -> None:
        """`threads` are for reading the disk."""
        self._loop = loop
        self._reader = reader
        self._threads = threads

    async def read(self, job: FetchJob, found: FetchRead | None = None) -> FetchRead:
        """Read until nothing is missing any more, beginning with what was found already.

        Each time what was missing is read on a thread: a place needs an index, then a header. Where memory is so short
        that all is gone again each time, the last read waits for the disk.
        """
        if found is None:
            found = await self._in_slices(job, waits=False)
        for left in reversed(range(READS_FROM_DISK)):
            if not found.cold:
                break
            await self.bring(found.cold)
            found = await self._in_slices(job, waits=left == 0)
        return found

    def bring(self, cold: Sequence[NotInMemory]) -> Future[None]:
        """Read what is missing on a thread."""
        return self._loop.run_in_executor(self._threads, _bring_all, cold)

    async def _in_slices(self, job: FetchJob, waits: bool) -> FetchRead:
        found = FetchRead([], job.max_bytes, waits)
        looked_at = 0
        for ref, wanted in job.wanted:
            results: list[FetchResult] = []
            for first in range(0, len(wanted), MOST_AT_ONCE):
                some = wanted[first : first + MOST_AT_ONCE]
                self._reader.read_some(job, [(ref, some)], found)
                results += found.topics.pop()[1]
                looked_at += len(some)
                if looked_at >= MOST_AT_ONCE:
                    looked_at = 0
                    await sleep(0)
            found.topics.append((ref, results))
        return found


def _bring_all(cold: Sequence[NotInMemory]) -> None:
    """Read what was missing, on a thread; errors show when it is looked at again."""
    for missing in cold:
        with suppress(OSError):
            missing.bring()
