"""One round of compaction as the broker sees it: sent to the process, and what that writes swapped in as it comes.

Each swap is a handful of renames between two requests; what waits for the disk is on a thread. A round whose log was
changed underneath it, deleted, or is no longer to be compacted is given up without a word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from odradek.broker.compaction.process import CompactionProcess
from odradek.broker.runtime.clock import Clock
from odradek.storage.compaction.planning import CleanerLimits, Round, last_batches, plan_round, still_fits, take_over
from odradek.storage.compaction.selection import Candidate
from odradek.storage.compaction.swap import Swapped, discard_cleaned
from odradek.storage.compaction.values import Cancel, Cancelled, RoundFailed, RoundFinished, Written
from odradek.storage.directories.manager import LogManager
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition

CHECK_S = 1.0
"""How often it is looked whether a round under way is still wanted."""


class Chosen(NamedTuple):
    """A log that is to be compacted."""

    partition: TopicPartition
    log: Log
    candidate: Candidate


class UncleanableError(Exception):
    """A log cannot be compacted: `path` says where, the message why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class NotNowError(Exception):
    """A log cannot be compacted as things are; some time later it may: `path` says where, the message why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class RoundServices(NamedTuple):
    """What a round needs of the broker."""

    loop: asyncio.AbstractEventLoop
    threads: Executor
    clock: Clock
    logs: LogManager

    async def on_thread(self, blocking: Callable[[], None] | None) -> None:
        """Have something done that waits for the disk, if there is anything to do."""
        if blocking is not None:
            await self.loop.run_in_executor(self.threads, blocking)


class BrokerRound:
    """The broker's side of compacting one log: gives the process its task, and takes new segments over."""

    def __init__(self, around: RoundServices, process: CompactionProcess, chosen: Chosen) -> None:
        self._around = around
        self._process = process
        self._chosen = chosen
        self._log = chosen.log
        self._local = chosen.log.local
        self._generation = chosen.log.local.generation
        self._is_cancelled = False

    @property
    def is_wanted(self) -> bool:
        """Whether the log is still there and still to be compacted, and neither on its way elsewhere nor there."""
        logs, name = self._around.logs, self._chosen.partition
        is_in_place = self._log.local is self._local and name not in logs.futures
        return is_in_place and logs.get(name) is self._log and self._log.config.compacted

    async def run(self, number: int, limits: CleanerLimits) -> RoundFinished | None:
        """Do the round; return how it ended, None where it was given up.

        Raises UncleanableError, NotNowError, ProcessGoneError, BadFrameError.
        """
        try:
            # What a crash leaves of a gap in the offsets is told from a loss by the recovery point: that comes first.
            await self._around.on_thread(self._around.logs.checkpoints.recovery_points())
        except OSError as failed:
            raise NotNowError(str(failed.filename or self._log.directory), failed.strerror or str(failed)) from failed
        producers = bytearray()
        if self.is_wanted:
            for piece in last_batches(self._log, self._chosen.candidate):
                producers += piece
                await asyncio.sleep(0)  # of a hundred thousand producers it takes a tenth of a second
        if not self.is_wanted or self._log.local.generation != self._generation:
            return None
        now_ms = self._around.clock.now_ms()
        running = plan_round(self._log, self._chosen.candidate, limits, number, now_ms, bytes(producers))
        if not running.sources:
            return None  # retention was quicker
        await self._process.send(running.task)
        failure: UncleanableError | NotNowError | None = None
        try:
            finished = await self._follow(running)
        except (UncleanableError, NotNowError) as failed:
            failure, finished = failed, None
            if not self._is_cancelled:
                await self._cancel(running)
                await self._drain(running)
        if self._is_cancelled:
            await self._around.on_thread(self.discard)
        if failure is not None and self.is_wanted:
            raise failure
        return finished

    def discard(self) -> None:
        """Remove what was being written; blocks."""
        discard_cleaned(self._log.local.fs, self._log.directory)

    async def _follow(self, running: Round) -> RoundFinished | None:
        """Take in what the process says, to the end of the round."""
        done = 0
        while True:
            message = await self._next_message(running)
            if isinstance(message, RoundFinished):
                return None if self._is_cancelled or not self.is_wanted else message
            if isinstance(message, Cancelled):
                return None
            if isinstance(message, RoundFailed):
                left = len(running.sources) - done
                if self._is_cancelled or not still_fits(self._log, running, done, left):
                    return None  # what is missing or cut was removed by somebody who may
                self._is_cancelled = True  # it has ended already
                raise (NotNowError if message.passes else UncleanableError)(message.path, message.reason)
            if isinstance(message, Written) and not self._is_cancelled:
                if not self.is_wanted or not still_fits(self._log, running, done, message.sources):
                    await self._cancel(running)
                elif not message.unchanged:
                    await self._swap(running, done, message)
                done += message.sources

    async def _next_message(self, running: Round) -> object:
        """Wait for the process, and look now and then whether the round is still wanted."""
        waiting = asyncio.ensure_future(self._process.receive())
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=CHECK_S)
                if not waiting.done() and not self._is_cancelled and not self.is_wanted:
                    await self._cancel(running)
        except BaseException:
            waiting.cancel()
            raise
        return waiting.result()

    async def _cancel(self, running: Round) -> None:
        self._is_cancelled = True
        await self._process.send(Cancel(running.task.number))

    async def _drain(self, running: Round) -> None:
        while not isinstance(await self._next_message(running), RoundFinished | RoundFailed | Cancelled):
            pass

    async def _swap(self, running: Round, done: int, written: Written) -> None:
        """Put a new segment in place of its sources. Raises UncleanableError."""
        directory, fs = self._log.directory, self._log.local.fs
        try:
            swapped: Swapped = take_over(self._log, running, done, written, self._around.clock.now_ms())
            if swapped.problem:
                raise UncleanableError(directory, swapped.problem)
            await self._around.on_thread(lambda: fs.sync_dir(directory))
        except FileNotFoundError:
            if self.is_wanted:
                raise UncleanableError(directory, "a file is missing that was there before") from None
            return  # the partition was deleted meanwhile
        except OSError as failed:
            raise UncleanableError(directory, str(failed)) from failed
        for path in swapped.doomed:
            self._log.local.deletions.add_file(path, self._log.config.file_delete_delay_ms)
