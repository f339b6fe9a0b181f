"""Reading shards back, one after the other, in the background: in which order, and what happens if one cannot be read.

A shard that cannot be loaded is said to be so once, with the file and what to do, and is tried again, ever more
seldom; its groups are answered NOT_COORDINATOR meanwhile, and all others are served. Must not know: which groups are
in a shard, what its records mean.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task, TimerHandle, sleep
from collections import deque
from concurrent.futures import Executor

from odradek.broker.groups.loading import Loader
from odradek.broker.groups.shard import Shard, ShardState
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("groups")

AT_ONCE_BYTES = 64 * 1024
"""A log so short is read when it is needed, while the request waits: telling it to come back would take longer."""

FIRST_RETRY_S, LAST_RETRY_S = 10.0, 640.0
"""After how long a failed load is tried again: twice as long after each, and no longer than that."""


class ShardLoads:
    """See the module."""

    def __init__(self, loop: AbstractEventLoop, threads: Executor) -> None:
        self._loop = loop
        self._threads = threads
        self._waiting: deque[Shard] = deque()
        self._task: Task[None] | None = None
        self._failures: dict[Shard, _Failure] = {}

    def add(self, shard: Shard) -> None:
        """Load the shard when its turn has come."""
        self._waiting.append(shard)
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._run())

    def first(self, shard: Shard) -> None:
        """Somebody asks for it: load it now if that is quick, next otherwise."""
        loader = shard.loader
        if loader is None or shard not in self._waiting:
            return  # its turn has come
        self._waiting.remove(shard)
        if loader.bytes_left > AT_ONCE_BYTES or not shard.log.is_safe(shard.log.end):
            self._waiting.appendleft(shard)
            return
        try:
            while not loader.is_at_end:
                for _ in loader.take(loader.next_chunk()()):
                    pass
            shard.finish_loading()
        except Exception as failed:  # noqa: BLE001 -- nothing may leave a shard that seems to be loading for ever
            self._failed(shard, loader, failed)
        else:
            self._succeeded(shard)

    def forget(self) -> None:
        """Load none of them any more."""
        self._waiting.clear()
        for failure in self._failures.values():
            failure.retry.cancel()
        self._failures.clear()

    def stop(self) -> None:
        """Forget them, and stop in the middle of what is at work."""
        self.forget()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        started, records = self._loop.time(), 0
        while self._waiting:
            shard = self._waiting.popleft()
            loader = shard.loader
            if loader is None:
                continue
            try:
                await self._load(shard, loader)
            except Exception as failed:  # noqa: BLE001 -- as above
                if shard.state is not ShardState.CLOSED:
                    self._failed(shard, loader, failed)
            else:
                self._succeeded(shard)
            records += loader.records
        took = self._loop.time() - started
        log.info("groups loaded", records=records, took_ms=round(took * 1000))

    async def _load(self, shard: Shard, loader: Loader) -> None:
        """Load a shard, unless it is closed meanwhile. Raises whatever is wrong with its log."""
        while shard.loader is loader and not loader.is_at_end:
            chunk = await self._loop.run_in_executor(self._threads, loader.next_chunk())
            if shard.loader is not loader:
                return
            for _ in loader.take(chunk):
                await sleep(0)
        if shard.loader is loader:
            await self._safety(shard)
        if shard.loader is loader:
            shard.finish_loading()

    async def _safety(self, shard: Shard) -> None:
        """Wait until all that was read is safe: what a crash may have left is not yet, with `flush.messages`."""
        outcome = shard.when_all_safe()
        if isinstance(outcome, Deferred):
            outcome = await outcome
        if outcome is not ErrorCode.NONE:
            raise KafkaError(outcome, "what was read is not on the disk yet")

    def _failed(self, shard: Shard, loader: Loader, failed: Exception) -> None:
        shard.fail()
        before = self._failures.get(shard)
        reason, delay_s = f"{type(failed).__name__}: {failed}", FIRST_RETRY_S
        if before is not None:
            delay_s = min(before.delay_s * 2, LAST_RETRY_S)
        if before is None or before.reason != reason:
            log.error(
                "the groups of a partition cannot be loaded, and are answered NOT_COORDINATOR; it is tried again:"
                " see to it that the file can be read, or stop the broker and put a copy of the partition's directory"
                " in its place (without one the groups begin anew)",
                topic=shard.log.partition.topic,
                partition=shard.log.partition.index,
                place=loader.place,
                reason=reason,
                exc_info=None if isinstance(failed, KafkaError | OSError) else failed,
            )
        self._failures[shard] = _Failure(reason, delay_s, self._loop.call_later(delay_s, self._retry, shard))

    def _retry(self, shard: Shard) -> None:
        if shard.state is ShardState.FAILED:
            shard.begin_loading()
            self.add(shard)

    def _succeeded(self, shard: Shard) -> None:
        if self._failures.pop(shard, None) is not None:
            log.info(
                "the groups of a partition are loaded after all",
                topic=shard.log.partition.topic,
                partition=shard.log.partition.index,
            )


class _Failure:
    """A load that failed."""

    __slots__ = ("delay_s", "reason", "retry")

    def __init__(self, reason: str, delay_s: float, retry: TimerHandle) -> None:
        self.reason = reason
        self.delay_s = delay_s
        self.retry = retry
