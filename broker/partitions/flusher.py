"""Brings logs to the disk on threads, one fsync at a time per log: group commit.

Whatever was appended while an fsync ran is covered by the next one, so fifty producers that wait for the disk share one
fsync. What somebody waits for (`request`) has threads of its own; what is flushed so that a crash leaves little to
check (`request_in_background`) goes a few logs at a time, so that ten thousand dirty logs keep no producer waiting. A
log whose fsync failed takes nothing more until one has ended well (`storage.log.local_log`), so that is tried again
until it does, whoever asks for it.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from functools import partial

from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.disk_threads import Done, Threads
from odradek.broker.runtime.logging import get_logger
from odradek.storage.errors import StorageError
from odradek.storage.log.flush_plan import FlushPlan

log = get_logger("storage")

RETRY_S = 5.0
"""How long after a failed fsync the next one is tried: a disk may have space again, or answer again."""
IN_BACKGROUND = 2
"""Logs that are flushed at a time while nobody waits for them."""


def flush_is_due(partition: Partition, now_ms: int) -> bool:
    """Return whether appended data has waited for the disk as long as the topic allows (flush.ms)."""
    log = partition.log
    waited_ms = now_ms - partition.last_flush_ms
    # a clock that was set back tells nothing of how long it is since
    return log.recovery_point < log.log_end_offset and not 0 <= waited_ms < log.config.flush_ms


class BackgroundFlusher:
    """The `Flusher` of the running broker."""

    def __init__(self, loop: AbstractEventLoop, threads: Threads, background_threads: Threads, clock: Clock) -> None:
        self._loop = loop
        self._threads = threads
        self._background_threads = background_threads
        self._clock = clock
        self._running: set[Partition] = set()
        self._queue: dict[Partition, None] = {}
        """Partitions that are to be flushed in the background, in order."""
        self._in_background = 0
        self._retries: dict[Partition, TimerHandle] = {}
        """Partitions whose log is in doubt, and when they are tried again."""
        self._instead: dict[Partition, tuple[Callable[[], None], Done]] = {}
        """What is to be done once the flush of a partition has ended, before the next one."""
        self._settled: list[Future[None]] = []
        self._is_stopped = False

    def request(self, partition: Partition) -> None:
        """Flush the partition's log now, since somebody waits, unless a flush is already on its way; see
        `Partition.flushed`."""
        if partition not in self._running and partition not in self._retries:
            if self._queue:
                self._queue.pop(partition, None)
            self._begin(partition, self._threads)

    def request_in_background(self, partition: Partition) -> None:
        """Flush the partition's log when its turn comes, unless a flush is already on its way."""
        if partition not in self._running and partition not in self._retries and not self._is_stopped:
            self._queue[partition] = None
            self._begin_next()

    def instead(self, partition: Partition, work: Callable[[], None], done: Done) -> None:
        """Do other work on a thread in place of the next flush: until `done` was called on the loop, none begins.

        Where a flush runs, or has to be tried again, that has to end well first.
        """
        if partition in self._running or partition in self._retries:
            self._instead[partition] = work, done
        else:
            self._begin_instead(partition, work, done)

    def _begin_instead(self, partition: Partition, work: Callable[[], None], done: Done) -> None:
        self._queue.pop(partition, None)
        self._running.add(partition)
        self._background_threads.submit(work, partial(self._done_instead, partition, done))

    def _done_instead(self, partition: Partition, done: Done, failed: BaseException | None) -> None:
        self._running.discard(partition)
        done(failed)
        partition.flushed()  # for those who asked meanwhile
        self._go_on()

    def _begin_next(self) -> None:
        """Flush as many logs in the background as may be."""
        while self._queue and self._in_background < IN_BACKGROUND:
            partition = next(iter(self._queue))
            del self._queue[partition]
            if not partition.is_retired and self._begin(partition, self._background_threads):
                self._in_background += 1

    def _begin(self, partition: Partition, threads: Threads) -> bool:
        """Begin a flush; return whether there is anything to be done."""
        try:
            plan = partition.log.prepare_flush()
        except (StorageError, OSError) as failed:
            # not now: whoever asks is about to wait for what he appended, and must hear of this too
            self._loop.call_soon(self._not_begun, partition, failed)
            return False
        if plan is None:
            return False
        self._running.add(partition)
        threads.submit(plan.run, partial(self._done, partition, plan, threads is self._background_threads))
        return True

    async def stop(self) -> None:
        """Wait for the flushes that run; what is in doubt then is tried once more when the logs are closed."""
        self._is_stopped = True
        self._queue.clear()
        self._instead.clear()
        for retry in self._retries.values():
            retry.cancel()
        await self.settle()

    async def settle(self) -> None:
        """Wait until no flush runs and none waits for its turn."""
        while self._running or self._queue:
            settled: Future[None] = self._loop.create_future()
            self._settled.append(settled)
            await settled

    def _done(self, partition: Partition, plan: FlushPlan, in_background: bool, failed: BaseException | None) -> None:
        self._running.discard(partition)
        if in_background:
            self._in_background -= 1
        if failed is None:
            instead = self._instead.pop(partition, None)
            if instead is not None:
                self._begin_instead(partition, *instead)
            self._succeeded(partition, plan)
        else:
            self._failed(partition, failed)
        self._go_on()

    def _go_on(self) -> None:
        self._begin_next()
        if self._settled and not self._running:
            settled, self._settled = self._settled, []
            for waiting in settled:
                waiting.set_result(None)

    def _failed(self, partition: Partition, failed: BaseException) -> None:
        if not partition.log.local.sync_problem:
            log.error(
                "the disk refused what was written: the partition takes no records until it does, and can be read;"
                " look at the disk's own messages and its free space, it is tried again every few seconds",
                topic=partition.topic,
                partition=partition.index,
                path=partition.log.directory,
                reason=str(failed),
            )
        partition.log.local.sync_failed(failed)
        partition.flush_failed()
        self._retry_later(partition)

    def _succeeded(self, partition: Partition, plan: FlushPlan) -> None:
        was_in_doubt = bool(partition.log.local.sync_problem)
        partition.log.local.complete_flush(plan)
        if partition.log.local.sync_problem:
            self._retry_later(partition)  # data was cut off meanwhile: the plan proves nothing
            return
        if was_in_doubt:
            log.info(
                "the disk has taken what it refused: the partition takes records again",
                topic=partition.topic,
                partition=partition.index,
            )
        partition.last_flush_ms = self._clock.now_ms()
        partition.flushed()

    def _retry_later(self, partition: Partition) -> None:
        if not self._is_stopped:
            self._retries[partition] = self._loop.call_later(RETRY_S, self._retry, partition)

    def _retry(self, partition: Partition) -> None:
        del self._retries[partition]
        if not partition.is_retired:
            self._begin(partition, self._threads)

    def _not_begun(self, partition: Partition, failed: BaseException) -> None:
        partition.flush_failed()
        if partition.log.local.sync_problem:
            if partition not in self._retries:
                self._retry_later(partition)
            return
        log.error(
            "flush failed; producers that waited for it got KAFKA_STORAGE_ERROR",
            topic=partition.topic,
            partition=partition.index,
            reason=str(failed),
        )
