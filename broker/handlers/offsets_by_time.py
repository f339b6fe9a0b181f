"""Finding offsets by the time of records for ListOffsets, without holding up the event loop.

What only the disk has is read on a thread, and so is a batch that takes long to decode. What is in memory and small is
answered at once. Must not know: requests.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task
from concurrent.futures import Executor
from functools import partial

from odradek.broker.handlers.converting import Converter
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.compression import DEFAULT_LIMIT
from odradek.protocol.records.errors import TooMuchData
from odradek.storage.errors import NotInMemory
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import TimestampAndOffset
from odradek.storage.log.timestamps import TimestampCandidate, TimestampSearch

DECODED_IN_A_TURN = 256 * 1024
"""Bytes of records that are decoded in one turn of the loop: some 30 ms where each of them is empty."""
SMALL_BATCH = 64 * 1024
"""Bytes of records of a batch that is decoded on the loop."""
USUAL_RATIO = 8
"""Times of its size that a compressed batch may decompress to, to be decoded on the loop."""
LOOKS = 16
"""How often a search that finds nothing in memory is tried again, and four times for each segment; the last one waits
for the disk."""

FoundByTime = TimestampAndOffset | KafkaError | None

log = get_logger("storage")


class OffsetsByTime:
    """Finds them."""

    def __init__(self, loop: AbstractEventLoop, threads: Executor | None, converter: Converter) -> None:
        """`threads` are for reading the disk."""
        self._loop = loop
        self._threads = threads
        self._converter = converter
        self._left_in_turn = DECODED_IN_A_TURN

    def find(self, of: Log, search: TimestampSearch, upto: int) -> FoundByTime | Deferred[FoundByTime]:
        """Return the record that is searched for, None if there is none below `upto`, or why it cannot be found."""
        try:
            candidate = search(0, False)
            if candidate is None:
                return None
            most_bytes = candidate.size * USUAL_RATIO if candidate.is_compressed else candidate.size
            data = None
            if self._may_decode(most_bytes):
                data = candidate.file.pread_cached(candidate.size, candidate.position)
            if data is not None:
                found = candidate.record_in(bytes(data), most_bytes)
                if found is not None:
                    return found if found.offset < upto else None
        except (NotInMemory, TooMuchData):
            pass
        except OSError as failed:
            return of.local.failure("read from", failed)
        except KafkaError as refused:
            return refused
        task = self._loop.create_task(self._find_elsewhere(of, search, upto))
        later: Deferred[FoundByTime] = Deferred(task.cancel)
        task.add_done_callback(lambda done: later.resolve(_result_of(done)))
        return later

    def _may_decode(self, most_bytes: int) -> bool:
        """Whether so many bytes of records may be decoded in this turn of the loop, and count them if they may."""
        if most_bytes > min(SMALL_BATCH, self._left_in_turn):
            return False
        if self._left_in_turn == DECODED_IN_A_TURN:
            self._loop.call_soon(self._begin_turn)
        self._left_in_turn -= most_bytes
        return True

    def _begin_turn(self) -> None:
        self._left_in_turn = DECODED_IN_A_TURN

    async def _find_elsewhere(self, of: Log, search: TimestampSearch, upto: int) -> FoundByTime:
        start_offset = 0
        try:
            while (candidate := await self._search(of, search, start_offset)) is not None:
                data = await self._loop.run_in_executor(self._threads, candidate.read)
                found = await self._converter.run(partial(candidate.record_in, data), DEFAULT_LIMIT)
                if found is not None:
                    return found if found.offset < upto else None
                start_offset = candidate.next_offset
        except OSError as failed:
            return of.local.failure("read from", failed)
        except KafkaError as refused:
            return refused
        return None

    async def _search(self, of: Log, search: TimestampSearch, start_offset: int) -> TimestampCandidate | None:
        for _ in range(LOOKS + 4 * len(list(of.segments))):
            try:
                return search(start_offset, False)
            except NotInMemory as cold:
                await self._loop.run_in_executor(self._threads, _bring, cold)
        return search(start_offset, True)


def _bring(cold: NotInMemory) -> None:
    """Read what was missing; errors show when it is looked at again."""
    try:
        cold.bring()
    except OSError:
        return


def _result_of(task: Task[FoundByTime]) -> FoundByTime:
    if task.cancelled():
        return None
    failed = task.exception()
    if failed is not None:
        log.error("an offset could not be looked up by time", exc_info=failed)
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return task.result()
