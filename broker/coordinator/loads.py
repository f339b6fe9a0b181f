"""Loading partitions one after the other, in the background: in which order, and what happens if one cannot be read.

A partition that cannot be loaded is said to be so once, with the file and what to do, and is tried again, ever more
seldom; what is in it is answered NOT_COORDINATOR meanwhile, and all others are served. Must not know: what is in a
partition, what its records mean.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task, TimerHandle, sleep
from collections import deque
from concurrent.futures import Executor
from typing import Any

from odradek.broker.coordinator.loader import Loader
from odradek.broker.coordinator.partition import CoordinatorPartition, CoordinatorState
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("coordinator")

AT_ONCE_BYTES = 64 * 1024
"""A log so short is read when it is needed, while the request waits: telling it to come back would take longer."""

FIRST_RETRY_S, LAST_RETRY_S = 10.0, 640.0
"""After how long a failed load is tried again: twice as long after each, and no longer than that."""


AnyPartition = CoordinatorPartition[Any]


class Loads:
    """Loads partitions one after the other, and again later where that failed."""

    def __init__(self, loop: AbstractEventLoop, threads: Executor, kind: str) -> None:
        """`kind` of coordinator, for log lines."""
        self._kind = kind
        self._loop = loop
        self._threads = threads
        self._waiting: deque[AnyPartition] = deque()
        self._task: Task[None] | None = None
        self._failures: dict[AnyPartition, _Failure] = {}

    def add(self, partition: AnyPartition) -> None:
        """Load the partition when its turn has come."""
        self._waiting.append(partition)
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._run())

    def first(self, partition: AnyPartition) -> None:
        """Somebody asks for it: load it now if that is quick, next otherwise."""
        loader = partition.loader
        if loader is None or partition not in self._waiting:
            return  # its turn has come
        self._waiting.remove(partition)
        if loader.bytes_left > AT_ONCE_BYTES or not partition.writer.is_safe(partition.writer.end):
            self._waiting.appendleft(partition)
            return
        try:
            while not loader.is_at_end:
                for _ in loader.take(loader.next_chunk()()):
                    pass
            partition.finish_loading()
        except Exception as failed:  # noqa: BLE001 -- nothing may leave a partition that seems to be loading for ever
            self._failed(partition, loader, failed)
        else:
            self._succeeded(partition)

    def forget(self, partition: AnyPartition) -> None:
        """Load it no more: it is closed."""
        if partition in self._waiting:
            self._waiting.remove(partition)
        failure = self._failures.pop(partition, None)
        if failure is not None:
            failure.retry.cancel()

    def stop(self) -> None:
        """Load nothing any more, and stop in the middle of what is at work."""
        self._waiting.clear()
        for failure in self._failures.values():
            failure.retry.cancel()
        self._failures.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        started, records = self._loop.time(), 0
        while self._waiting:
            partition = self._waiting.popleft()
            loader = partition.loader
            if loader is None:
                continue
            try:
                await self._load(partition, loader)
            except Exception as failed:  # noqa: BLE001 -- as above
                if partition.state is not CoordinatorState.CLOSED:
                    self._failed(partition, loader, failed)
            else:
                self._succeeded(partition)
            records += loader.records
        took = self._loop.time() - started
        log.info("coordinator loaded", kind=self._kind, records=records, took_ms=round(took * 1000))

    async def _load(self, partition: AnyPartition, loader: Loader) -> None:
        """Load a partition, unless it is closed meanwhile. Raises whatever is wrong with its log."""
        while partition.loader is loader and not loader.is_at_end:
            chunk = await self._loop.run_in_executor(self._threads, loader.next_chunk())
            if partition.loader is not loader:
                return
            for _ in loader.take(chunk):
                await sleep(0)
        if partition.loader is loader:
            await self._safety(partition)
        if partition.loader is loader:
            partition.finish_loading()

    async def _safety(self, partition: AnyPartition) -> None:
        """Wait until all that was read is safe: what a crash may have left is not yet, with `flush.messages`."""
        writer = partition.writer
        if writer.is_safe(writer.end):
            return
        outcome: Deferred[ErrorCode] = Deferred()
        writer.when_safe(writer.end, outcome.resolve)
        if (code := await outcome) is not ErrorCode.NONE:
            raise KafkaError(code, "what was read is not on the disk yet")

    def _failed(self, partition: AnyPartition, loader: Loader, failed: Exception) -> None:
        partition.fail()
        before = self._failures.get(partition)
        reason, delay_s = f"{type(failed).__name__}: {failed}", FIRST_RETRY_S
        if before is not None:
            delay_s = min(before.delay_s * 2, LAST_RETRY_S)
        if before is None or before.reason != reason:
            log.error(
                "a coordinator's partition cannot be loaded, and what is in it is answered NOT_COORDINATOR; it is tried"
                " again: see to it that the file can be read, or stop the broker and put a copy of the partition's"
                " directory in its place (without one, what is in it begins anew)",
                kind=self._kind,
                topic=partition.partition.topic,
                partition=partition.partition.index,
                place=loader.place,
                reason=reason,
                exc_info=None if isinstance(failed, KafkaError | OSError) else failed,
            )
        self._failures[partition] = _Failure(reason, delay_s, self._loop.call_later(delay_s, self._retry, partition))

    def _retry(self, partition: AnyPartition) -> None:
        if partition.state is CoordinatorState.FAILED:
            partition.begin_loading()
            self.add(partition)

    def _succeeded(self, partition: AnyPartition) -> None:
        if self._failures.pop(partition, None) is not None:
            log.info(
                "a coordinator's partition is loaded after all",
                kind=self._kind,
                topic=partition.partition.topic,
                partition=partition.partition.index,
            )


class _Failure:
    """A load that failed."""

    __slots__ = ("delay_s", "reason", "retry")

    def __init__(self, reason: str, delay_s: float, retry: TimerHandle) -> None:
        self.reason = reason
        self.delay_s = delay_s
        self.retry = retry
