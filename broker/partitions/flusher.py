"""Brings logs to the disk on threads, one fsync at a time per log: group commit.

Whatever was appended while an fsync ran is covered by the next one, so fifty producers that wait for the disk share one
fsync.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from concurrent.futures import Executor

from broker.partitions.partition import Partition
from broker.runtime.clock import Clock
from broker.runtime.logging import get_logger
from storage.errors import StorageError
from storage.flush import FlushPlan

log = get_logger("storage")


class BackgroundFlusher:
    """The `Flusher` of the running broker."""

    def __init__(self, loop: AbstractEventLoop, threads: Executor, clock: Clock) -> None:
        self._loop = loop
        self._threads = threads
        self._clock = clock
        self._running: dict[Partition, Future[None]] = {}

    def request(self, partition: Partition) -> None:
        """Flush the partition's log unless a flush is already on its way; see `Partition.flushed`."""
        if partition in self._running:
            return
        try:
            plan = partition.log.prepare_flush()
        except (StorageError, OSError) as failed:
            # not now: whoever asks is about to wait for what he appended, and must hear of this too
            self._loop.call_soon(self._failed, partition, failed)
            return
        if plan is None:
            return
        future = self._loop.run_in_executor(self._threads, plan.run)
        self._running[partition] = future
        future.add_done_callback(lambda done: self._done(partition, plan, done))

    async def stop(self) -> None:
        """Wait for the flushes that run."""
        while self._running:
            await asyncio.wait(list(self._running.values()))

    def _done(self, partition: Partition, plan: FlushPlan, future: Future[None]) -> None:
        del self._running[partition]
        failed = future.exception()
        if failed is not None:
            self._failed(partition, failed)
            return
        partition.log.complete_flush(plan)
        partition.last_flush_ms = self._clock.now_ms()
        partition.flushed()

    def _failed(self, partition: Partition, failed: BaseException) -> None:
        log.error(
            "flush failed; producers that waited for it got KAFKA_STORAGE_ERROR",
            topic=partition.topic,
            partition=partition.index,
            reason=str(failed),
        )
        partition.flush_failed()
