"""Compaction as the broker's background work: one log at a time, the one that is worth it most.

A round is done by the compaction process, which is started when there is something to do, and again when it has died.
A log whose round fails is uncleanable until the next start, with one line that says where and what to do; where the
disk is full, which passes, it is tried again later. One round may not be enough for a log, so no log has a second one
while others wait for their first. Follows Kafka's log behaviour, log cleaner (`LogCleaner`,
`LogCleanerManager`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.scheduler import TURN_S
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.directories.manager import LogManager
from odradek.storage.names import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.compaction.process import CompactionProcess
    from odradek.broker.compaction.rounds import BrokerRound, Chosen
    from odradek.storage.compaction.planning import CleanerLimits
    from odradek.storage.compaction.values import RoundFinished
    from odradek.storage.log.log import Log

# What a round needs is imported with the first one: most brokers never compact, and all of them want to start quickly.

log = get_logger("compaction")

RETRY_S, LONGEST_RETRY_S = 1.0, 60.0
"""How long to wait after the process has died, at first and at most."""
MOST_DEATHS = 3
"""A log over which the process has died this often in a row is not tried again."""


NOT_NOW_S = 60.0
"""How long a log is left alone whose round failed for a reason that may pass."""


class LogCleanerParts(NamedTuple):
    """What the log cleaner works with."""

    loop: asyncio.AbstractEventLoop
    threads: Executor
    clock: Clock
    logs: LogManager
    partitions: PartitionTable
    settings: Callable[[], BrokerSettings]


@dataclass(slots=True)
class _Failures:
    """What went wrong with a log since a round over it ended well."""

    topic_id: UUID | None
    """Tells the log from that of a later topic of the same name."""
    not_before_s: float = 0.0
    """When it is tried again, by the loop's clock; infinite where that is not before the next start."""
    deaths: int = 0
    """How often in a row the compaction process has died over it."""


class LogCleaner:
    """Picks the log that is compacted next and has it done, for as long as the broker runs."""

    def __init__(self, parts: LogCleanerParts) -> None:
        self._parts = parts
        self._task: asyncio.Task[None] | None = None
        self._process: CompactionProcess | None = None
        self._round: BrokerRound | None = None
        self._rounds = 0
        self._failures: dict[TopicPartition, _Failures] = {}
        """Logs whose last round failed. The logs themselves are not held: one that is deleted gives its files back."""
        self._retry_s = RETRY_S
        self._had_turns: set[TopicPartition] = set()
        """Logs that had a round since none was left that waited for one."""

    @property
    def rounds(self) -> int:
        """How many rounds there were since the start."""
        return self._rounds

    @property
    def failing(self) -> int:
        """Of how many logs the last round has failed."""
        return len(self._failures)

    def start(self) -> None:
        """Begin, unless log.cleaner.enable says not to."""
        if self._parts.settings().log_cleaner_enable:
            self._task = self._parts.loop.create_task(self._run())

    async def stop(self) -> None:
        """End what is under way, and leave nothing half-written behind."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._end_process()

    async def _run(self) -> None:
        while True:
            on_disk = asyncio.Event()
            if await self._look(on_disk.set):
                continue
            backoff_s = max(0.001, self._parts.settings().log_cleaner_backoff_ms / 1000)
            until = self._parts.loop.time() + backoff_s
            with suppress(TimeoutError):
                await asyncio.wait_for(on_disk.wait(), backoff_s)
                if await self._look(None):
                    continue
            await asyncio.sleep(until - self._parts.loop.time())

    async def _look(self, flushed: Callable[[], None] | None) -> bool:
        """Compact the log that is worth it most; return whether to look for the next one at once.

        `flushed` is called once all that was worth a look, but was not on the disk, is there; without it, nothing is
        brought there.
        """
        try:
            chosen = await self._choose(flushed)
            return chosen is not None and await self._compact(chosen)
        except Exception:
            log.exception("compaction failed; it goes on with the next look")
            await self._end_process()
            return False

    # --- which log

    async def _choose(self, flushed: Callable[[], None] | None) -> Chosen | None:
        """Return the log with the largest share of bytes that were never compacted, None if none has enough.

        Those that have waited longer come before those that had a round.
        """
        self._forget_deleted()
        if not any(self._may_be_compacted(partition) for partition in self._parts.partitions):
            return None
        from odradek.broker.compaction.rounds import Chosen
        from odradek.storage.compaction.planning import facts_of, limits_of
        from odradek.storage.compaction.selection import Candidate, examine, filthiest, is_worth_it

        now_ms = self._parts.clock.now_ms()
        flushes = None if flushed is None else _Flushes(flushed)
        worth_it: list[tuple[Chosen, Candidate]] = []
        async for partition in self._in_turns():
            if not self._may_be_compacted(partition):
                continue
            source, name = partition.log, _name_of(partition)
            if flushes is not None:
                flushes.begin(partition)
            try:
                facts = facts_of(
                    source, partition.last_stable_offset, self._parts.logs.checkpoints.cleaned_offsets.get(name)
                )
                candidate = examine(facts, limits_of(source), now_ms)
            except (KafkaError, OSError) as failed:
                self._give_up(name, source, source.directory, str(failed))
                continue
            if is_worth_it(candidate, limits_of(source)):
                worth_it.append((Chosen(name, source, candidate), candidate))
        if flushes is not None:
            flushes.all_begun()
        best = filthiest(one for one in worth_it if one[0].partition not in self._had_turns)
        if best is None:
            self._had_turns.clear()
            best = filthiest(worth_it)
        if best is None:
            return None
        self._had_turns.add(best[0].partition)
        return best[0]

    async def _in_turns(self) -> AsyncIterator[Partition]:
        """Yield the partitions that there are now, and let others have their turn in between."""
        loop = self._parts.loop
        end = loop.time() + TURN_S
        for partition in list(self._parts.partitions):
            if loop.time() >= end:
                await asyncio.sleep(0)
                end = loop.time() + TURN_S
            if not partition.is_retired:
                yield partition

    def _may_be_compacted(self, partition: Partition) -> bool:
        source = partition.log
        if not source.config.compacted or len(source.segments) == 1:
            return False
        name = _name_of(partition)
        if name in self._parts.logs.futures:
            return False  # its copy has what would be removed here, and not what stands for that
        failures = self._failures.get(name)
        return failures is None or failures.not_before_s <= self._parts.loop.time()

    def _failures_of(self, name: TopicPartition, source: Log) -> _Failures:
        return self._failures.setdefault(name, _Failures(source.topic_id))

    def _forget_deleted(self) -> None:
        """Forget the failures of logs that are gone, or have made room for another topic of the same name."""
        for name, failures in list(self._failures.items()):
            current = self._parts.logs.get(name)
            if current is None or current.topic_id != failures.topic_id:
                del self._failures[name]

    # --- one round

    async def _compact(self, chosen: Chosen) -> bool:
        """Compact a log; return whether to look for the next one at once."""
        from odradek.broker.compaction.frames import BadFrameError
        from odradek.broker.compaction.process import ProcessGoneError, start_process
        from odradek.broker.compaction.rounds import BrokerRound, NotNowError, RoundServices, UncleanableError

        parts = self._parts
        try:
            if self._process is None:
                self._process = await start_process(parts.loop, parts.threads)
            around = RoundServices(parts.loop, parts.threads, parts.clock, parts.logs)
            self._round = BrokerRound(around, self._process, chosen)
            self._rounds += 1
            finished = await self._round.run(self._rounds, self._limits())
            if finished is None:
                self._round = None
                return False
            if finished.end_offset <= chosen.candidate.first_dirty:
                raise UncleanableError(chosen.log.directory, "the map of keys does not take a single record")
            await self._finished(chosen, finished)
        except UncleanableError as failed:
            self._give_up(chosen.partition, chosen.log, failed.path, str(failed))
        except NotNowError as failed:
            self._put_off(chosen.partition, chosen.log, failed.path, str(failed))
        except (KafkaError, BadFrameError) as failed:
            self._give_up(chosen.partition, chosen.log, chosen.log.directory, str(failed))
        except ProcessGoneError as gone:
            await self._process_died(chosen, str(gone))
        self._round = None
        return True

    def _limits(self) -> CleanerLimits:
        from odradek.storage.compaction.planning import CleanerLimits

        settings = self._parts.settings()
        return CleanerLimits(
            settings.log_cleaner_dedupe_buffer_size,
            settings.log_cleaner_io_buffer_load_factor,
            settings.log_cleaner_io_buffer_size,
            settings.log_cleaner_io_max_bytes_per_second,
        )

    async def _finished(self, chosen: Chosen, finished: RoundFinished) -> None:
        name = chosen.partition
        self._failures.pop(name, None)
        self._retry_s = RETRY_S
        write = self._parts.logs.checkpoints.note_cleaned(name, finished.end_offset)
        try:
            if write is not None:
                await self._parts.loop.run_in_executor(self._parts.threads, write)
        except OSError as failed:
            log.warning(
                "how far a log is compacted could not be written down; after a restart it is compacted again",
                topic=name.topic,
                partition=name.partition,
                reason=str(failed),
            )
        did = finished.statistics
        log.info(
            "compacted",
            topic=name.topic,
            partition=name.partition,
            upto_offset=finished.end_offset,
            dirty_bytes=did.dirty_bytes,
            bytes_before=did.bytes_before,
            bytes_after=did.bytes_after,
            records_removed=did.records_before - did.records_after,
            records_kept=did.records_after,
            keys=did.keys,
            seconds=round(did.seconds, 3),
        )

    def _give_up(self, name: TopicPartition, source: Log, path: str, reason: str) -> None:
        """Leave a log alone until the next start."""
        self._failures_of(name, source).not_before_s = inf
        log.error(
            "a log cannot be compacted and stays as it is until the next start; see that the disk is sound and has"
            " space, and look into the file with `odradek log verify`",
            topic=name.topic,
            partition=name.partition,
            file=path,
            reason=reason,
        )

    def _put_off(self, name: TopicPartition, source: Log, path: str, reason: str) -> None:
        """Leave a log alone for some time; that it failed is said once, until it succeeds."""
        failures = self._failures_of(name, source)
        if not failures.not_before_s:
            log.error(
                "a log cannot be compacted now; it is tried again once a minute",
                topic=name.topic,
                partition=name.partition,
                file=path,
                reason=reason,
            )
        failures.not_before_s = self._parts.loop.time() + NOT_NOW_S

    # --- the process

    async def _process_died(self, chosen: Chosen, reason: str) -> None:
        """Take note, remove what was being written, and wait: what has killed it may take a while to pass."""
        code = await self._end_process()
        name = chosen.partition
        failures = self._failures_of(name, chosen.log)
        failures.deaths += 1
        log.warning(
            "the compaction process has died; another one is started",
            topic=name.topic,
            partition=name.partition,
            reason=reason,
            exit_code=code,
            after_seconds=self._retry_s,
        )
        if failures.deaths >= MOST_DEATHS:
            reason = f"the compaction process has died over it {failures.deaths} times"
            self._give_up(name, chosen.log, chosen.log.directory, reason)
        await asyncio.sleep(self._retry_s)
        self._retry_s = min(2 * self._retry_s, LONGEST_RETRY_S)

    async def _end_process(self) -> int | None:
        """End the process, if there is one, and remove what it was writing; return its exit code."""
        process, self._process = self._process, None
        under_way, self._round = self._round, None
        run = self._parts.loop.run_in_executor
        code = None if process is None else await run(self._parts.threads, process.end)
        if under_way is not None:
            try:
                await run(self._parts.threads, under_way.discard)
            except OSError as failed:
                log.warning("what compaction was writing stays until the next start", reason=str(failed))
        return code


class _Flushes:
    """Has the closed segments of logs brought to the disk: only what is there for sure is compacted.

    `done` is called once, when no more of it is under way, and not at all where all of it was there before.
    """

    def __init__(self, done: Callable[[], None]) -> None:
        self._done = done
        self._under_way = 0
        self._ended = 0
        self._all_begun = False

    def begin(self, partition: Partition) -> None:
        """Bring a log to the disk, unless it is there."""
        log = partition.log
        if log.recovery_point < log.segments.active.base_offset and partition.when_on_disk(self._one_ended):
            self._under_way += 1

    def all_begun(self) -> None:
        """There are no more logs."""
        self._all_begun = True
        self._tell()

    def _one_ended(self, _code: ErrorCode) -> None:
        self._ended += 1
        self._tell()

    def _tell(self) -> None:
        if self._all_begun and 0 < self._under_way == self._ended:
            self._done()


def _name_of(partition: Partition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.index)
