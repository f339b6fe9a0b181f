"""Brings logs to the disk on threads, one fsync at a time per log: group commit.

Whatever was appended while an fsync ran is covered by the next one, so fifty producers that wait for the disk share one
fsync. A log whose fsync failed takes nothing more until one has ended well (`storage.log.flush`), so that is tried
again until it does, whoever asks for it.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future, TimerHandle
from concurrent.futures import Executor

from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.storage.errors import StorageError
from odradek.storage.log.flush import FlushPlan

log = get_logger("storage")

RETRY_S = 5.0
"""How long after a failed fsync the next one is tried: a disk may have space again, or answer again."""


class BackgroundFlusher:
    """The `Flusher` of the running broker."""

    def __init__(self, loop: AbstractEventLoop, threads: Executor, clock: Clock) -> None:
        self._loop = loop
        self._threads = threads
        self._clock = clock
        self._running: dict[Partition, Future[None]] = {}
        self._retries: dict[Partition, TimerHandle] = {}
        """Partitions whose log is in doubt, and when they are tried again."""
        self._is_stopped = False

    def request(self, partition: Partition) -> None:
        """Flush the partition's log unless a flush is already on its way; see `Partition.flushed`."""
        if partition not in self._running and partition not in self._retries:
            self._begin(partition)

    def _begin(self, partition: Partition) -> None:
        try:
            plan = partition.log.prepare_flush()
        except (StorageError, OSError) as failed:
            # not now: whoever asks is about to wait for what he appended, and must hear of this too
            self._loop.call_soon(self._not_begun, partition, failed)
            return
        if plan is None:
            return
        future = self._loop.run_in_executor(self._threads, plan.run)
        self._running[partition] = future
        future.add_done_callback(lambda done: self._done(partition, plan, done))

    async def stop(self) -> None:
        """Wait for the flushes that run; what is in doubt then is tried once more when the logs are closed."""
        self._is_stopped = True
        for retry in self._retries.values():
            retry.cancel()
        await self.settle()

    async def settle(self) -> None:
        """Wait for the flushes that run."""
        while self._running:
            await asyncio.wait(list(self._running.values()))

    def _done(self, partition: Partition, plan: FlushPlan, future: Future[None]) -> None:
        del self._running[partition]
        failed = future.exception()
        if failed is None:
            self._succeeded(partition, plan)
            return
        if not partition.log.sync_problem:
            log.error(
                "the disk refused what was written: the partition takes no records until it does, and can be read;"
                " look at the disk's own messages and its free space, it is tried again every few seconds",
                topic=partition.topic,
                partition=partition.index,
                path=partition.log.directory,
                reason=str(failed),
            )
        partition.log.sync_failed(failed)
        partition.flush_failed()
        self._retry_later(partition)

    def _succeeded(self, partition: Partition, plan: FlushPlan) -> None:
        was_in_doubt = bool(partition.log.sync_problem)
        partition.log.complete_flush(plan)
        if partition.log.sync_problem:
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
            self._begin(partition)

    def _not_begun(self, partition: Partition, failed: BaseException) -> None:
        partition.flush_failed()
        if partition.log.sync_problem:
            if partition not in self._retries:
                self._retry_later(partition)
            return
        log.error(
            "flush failed; producers that waited for it got KAFKA_STORAGE_ERROR",
            topic=partition.topic,
            partition=partition.index,
            reason=str(failed),
        )
