"""Fetch (api key 1): read batches from partitions; long poll where there is too little.

Hot path: offsets and file regions only; record bytes go from the page cache to the socket.

Rules (Kafka's log behaviour, fetch): consumers read up to the high watermark, or the last stable offset if they want
committed data only; the first partition that has data returns at least one whole batch although it is over the limits;
an answer goes out at once when there is an error, enough bytes, or no time to wait. Sessions are in `fetch_sessions`,
and what old versions get in place of batches is in `old_fetch`.

Where the records are is looked up in indexes and batch headers. What of them only the disk has is read through on a
thread first (`_look_from_disk`), so that a consumer of last week does not hold up the producers of now; what happens to
the records themselves is `broker.network.cold_reads`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, sleep
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.handlers.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    FetchSessions,
    Found,
    Wanted,
    count_of,
    wanted_without_session,
)
from odradek.broker.handlers.old_fetch import FIRST_OF_BATCHES, FIRST_WHOLE, OldFetch, OldFetchRead
from odradek.broker.partitions.delayed_operation import DelayedOperation
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable, TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion, Response
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FIRST_BY_ID, FIRST_SESSION, FetchResult, Region, encode_fetch_response
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest
from odradek.protocol.records.batch import Codec
from odradek.storage.errors import NotInMemory

READ_COMMITTED = 1
MOST_AT_ONCE = 256
"""Partitions that are looked at in one turn of the loop: some milliseconds."""
MEMORY_OF_A_PARTITION = 600
"""Bytes that a partition of a request that waits takes, and its part of the answer."""
_LOOK_AGAIN: Response = b""
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
FIRST_ZSTD = 10
LOOKS_FROM_DISK = 16
"""A look needs an index, its pages and some batch headers of each partition, one after the other."""
FIRST_OF_STORAGE_ERROR = 6
"""Before it, clients are told NOT_LEADER_OR_FOLLOWER where the disk fails, since they know that and try again."""


@dataclass(slots=True)
class _Job:
    """A fetch at work, perhaps several times over while it waits."""

    version: int
    head: bytes
    request: FetchRequest
    session: FetchSession | None
    is_incremental: bool
    wanted: Wanted
    max_bytes: int
    min_bytes: int
    looks_from_disk: int = 0
    """How often it was woken, and needed what only the disk has, since it last did not."""
    is_reading: bool = False
    is_final: bool = False
    """Whether its time is up."""


@dataclass(slots=True)
class _Look:
    """What one look at the partitions gave."""

    topics: Found
    room: int
    """Bytes that still fit into the answer."""
    size: int = 0
    cold: list[NotInMemory] = field(default_factory=list)
    """What only the disk has, of partitions that are left out for that."""
    is_urgent: bool = False
    """Whether waiting for more makes no sense: there is an error, or more lies in another segment."""


class FetchHandler:
    """Answers Fetch: regions of the files of each partition, at once or when there is enough."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        partitions: PartitionTable,
        sessions: FetchSessions,
        clock: Clock,
        max_bytes: int,
        converter: Converter,
        memory: RequestMemory,
        threads: Executor | None = None,
    ) -> None:
        """`max_bytes` is the broker's own limit of an answer (fetch.max.bytes), `threads` are for reading the disk."""
        self._threads = threads
        self._converter = converter
        self._memory = memory
        self._loop = loop
        self._partitions = partitions
        self._sessions = sessions
        self._clock = clock
        self._max_bytes = max_bytes

    def __call__(self, context: RequestContext, request: FetchRequest, head: bytes) -> Response | Deferred[Response]:
        version = context.api_version
        try:
            session, is_incremental = self._session(request, version)
        except KafkaError as refused:
            return _answer(encode_fetch_response(head, version, [], error_code=refused.code))
        max_bytes = min(request.max_bytes, self._max_bytes)
        job = _Job(
            version=version,
            head=head,
            request=request,
            session=session,
            is_incremental=is_incremental,
            wanted=session.wanted() if session is not None else wanted_without_session(request, version >= FIRST_BY_ID),
            max_bytes=max_bytes,
            min_bytes=min(request.min_bytes, max_bytes),
        )
        if version < FIRST_OF_BATCHES:
            return self._answer_old(job)
        if count_of(job.wanted) > MOST_AT_ONCE:
            return in_task(self._loop, self._answer_many(job))
        found = _Look([], max_bytes)
        self._look_at(job, job.wanted, found, False)
        if found.cold:
            return in_task(self._loop, self._fetch_from_disk(job, found))
        return self._answer_or_wait(job, found)

    def _answer_or_wait(self, job: _Job, found: _Look) -> Response | Deferred[Response]:
        max_wait_ms = job.request.max_wait_ms
        if self._is_enough(job, found) or max_wait_ms <= 0:
            return self._answer(job, found)
        delayed = DelayedOperation(
            self._loop, max_wait_ms / 1000, lambda final: self._attempt(job, delayed, final), self._watched(job)
        )
        return delayed

    async def _fetch_from_disk(self, job: _Job, found: _Look) -> Response:
        outcome = self._answer_or_wait(job, await self._look_from_disk(job, found))
        return await outcome if isinstance(outcome, Deferred) else outcome

    async def _look_from_disk(self, job: _Job, found: _Look) -> _Look:
        """Look again, each time after what was missing was read on a thread: a place needs an index, then a header.

        Where memory is so short that all is gone again each time, the last look waits for the disk.
        """
        for left in reversed(range(LOOKS_FROM_DISK)):
            if not found.cold:
                break
            await self._loop.run_in_executor(self._threads, _bring_all, found.cold)
            found = self._look(job, wait=left == 0)
        return found

    def _answer_old(self, job: _Job) -> Deferred[Response]:
        def look() -> OldFetchRead:
            return found_old(self._look(job, wait=False))

        async def look_from_disk() -> OldFetchRead:
            return found_old(await self._look_from_disk(job, self._look(job, wait=False)))

        def found_old(found: _Look) -> OldFetchRead:
            return OldFetchRead(found.topics, self._is_enough(job, found), bool(found.cold))

        partitions = [partition for _, of_topic in job.wanted for partition in of_topic]
        old = OldFetch(self._loop, self._converter, job.version, partitions, look, look_from_disk)
        return old.answer(job.head, self._watched(job), job.request.max_wait_ms)

    def _session(self, request: FetchRequest, version: int) -> tuple[FetchSession | None, bool]:
        """The session of the request, and whether the request is only an update of it."""
        if version < FIRST_SESSION:
            return None, False
        if request.session_epoch == FINAL_EPOCH:
            self._sessions.end(request.session_id)
            return None, False
        by_id = version >= FIRST_BY_ID
        if request.session_epoch == INITIAL_EPOCH:
            return self._sessions.begin(request, by_id, self._clock.now_ms()), False
        return self._sessions.resume(request, by_id, self._clock.now_ms()), True

    def _attempt(self, job: _Job, delayed: DelayedOperation, final: bool) -> Response:
        """Answer a fetch that was woken, or whose time is up; what only the disk has is read on a thread before."""
        job.is_final |= final
        if job.is_reading:
            return None
        found = self._look(job, wait=job.looks_from_disk == LOOKS_FROM_DISK)
        if found.cold:

            def brought(_: object) -> None:
                job.is_reading = False
                (delayed.expire if job.is_final else delayed.wake)()

            job.is_reading = True
            job.looks_from_disk += 1
            self._loop.run_in_executor(self._threads, _bring_all, found.cold).add_done_callback(brought)
            return None
        job.looks_from_disk = 0
        if job.is_final or self._is_enough(job, found):
            return self._answer(job, found)
        return None

    def _is_enough(self, job: _Job, found: _Look) -> bool:
        return found.is_urgent or found.size >= job.min_bytes or not any(partitions for _, partitions in job.wanted)

    def _watched(self, job: _Job) -> list[Partition]:
        watched = []
        for ref, wanted in job.wanted:
            topic = self._partitions.find(ref)
            if topic is not None:
                found = (topic.get(partition.partition) for partition in wanted)
                watched += [partition for partition in found if partition is not None]
        return watched

    # many partitions

    async def _answer_many(self, job: _Job) -> Response:
        """Answer a request of so many partitions that looking at them takes several turns of the loop.

        It looks again when something has happened, but rests four times as long as a look takes.
        """
        held = MEMORY_OF_A_PARTITION * sum(len(partitions) for _, partitions in job.wanted)
        self._memory.hold(held)
        try:
            deadline = self._loop.time() + job.request.max_wait_ms / 1000
            watched = self._watched(job)
            while True:
                began = self._loop.time()
                found = await self._look_in_slices(job, wait=False)
                for left in reversed(range(LOOKS_FROM_DISK)):
                    if not found.cold:
                        break
                    await self._loop.run_in_executor(self._threads, _bring_all, found.cold)
                    found = await self._look_in_slices(job, wait=left == 0)
                now = self._loop.time()
                if self._is_enough(job, found) or now >= deadline:
                    return await self._converter.run(partial(self._answer, job, found), 0)
                deadline = await self._woken(watched, deadline, min(deadline, now + 4 * (now - began)))
        finally:
            self._memory.release(held)

    async def _woken(self, watched: list[Partition], deadline: float, rested: float) -> float:
        """Wait until something happens to one of the partitions, but not shorter than until `rested`.

        Returns the deadline, which has come if the broker stops.
        """
        is_final = False

        def attempt(final: bool) -> Response:
            nonlocal is_final
            is_final = final
            return _LOOK_AGAIN

        delayed = DelayedOperation(self._loop, max(deadline - self._loop.time(), 0), attempt, watched)
        try:
            await sleep(max(rested - self._loop.time(), 0))
            outcome = delayed.now_or_later()
            if isinstance(outcome, Deferred):
                await outcome
        finally:
            delayed.cancel()
        return self._loop.time() if is_final else deadline

    async def _look_in_slices(self, job: _Job, wait: bool) -> _Look:
        found = _Look([], job.max_bytes)
        looked_at = 0
        for ref, wanted in job.wanted:
            results: list[FetchResult] = []
            for first in range(0, len(wanted), MOST_AT_ONCE):
                some = wanted[first : first + MOST_AT_ONCE]
                self._look_at(job, [(ref, some)], found, wait)
                results += found.topics.pop()[1]
                looked_at += len(some)
                if looked_at >= MOST_AT_ONCE:
                    looked_at = 0
                    await sleep(0)
            found.topics.append((ref, results))
        return found

    # reading

    def _look(self, job: _Job, wait: bool) -> _Look:
        """Look at the partitions; without `wait` those are left out whose records cannot be found without the disk."""
        found = _Look([], job.max_bytes)
        self._look_at(job, job.wanted, found, wait)
        return found

    def _look_at(self, job: _Job, some: Wanted, found: _Look, wait: bool) -> None:
        for ref, wanted in some:
            topic = self._partitions.find(ref)
            results = []
            for partition in wanted:
                try:
                    result = self._read(job, topic, partition, found, wait)
                except NotInMemory as cold:
                    found.cold.append(cold)
                    continue
                except KafkaError as refused:
                    found.is_urgent = True
                    code = refused.code
                    if code is ErrorCode.KAFKA_STORAGE_ERROR and job.version < FIRST_OF_STORAGE_ERROR:
                        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                    result = FetchResult(partition.partition, code, aborted=_aborted_of(refused))
                results.append(result)
                if found.room < 0:
                    found.room = 0  # the limit of the answer is an error of its first partition only
            found.topics.append((ref, results))

    def _read(
        self, job: _Job, topic: TopicPartitions | None, wanted: FetchPartition, look: _Look, wait: bool
    ) -> FetchResult:
        if topic is None:
            by_id = job.version >= FIRST_BY_ID
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = topic.get(wanted.partition)
        if partition is None:
            raise topic.missing(wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        if job.version < FIRST_ZSTD and topic.config.compression_type == Codec.ZSTD.name.lower():
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        committed_only = job.request.isolation_level == READ_COMMITTED
        high_watermark = partition.high_watermark
        stable = partition.last_stable_offset
        upto = stable if committed_only else high_watermark
        diverging = partition.divergence(wanted.last_fetched_epoch, wanted.fetch_offset)
        if diverging is not None:
            look.is_urgent = True
            start = partition.log.log_start_offset
            return FetchResult(wanted.partition, 0, high_watermark, stable, start, diverging=diverging)
        max_bytes = min(wanted.partition_max_bytes, look.room)
        at_least_one = look.size == 0 or job.version < FIRST_WHOLE  # whose limit is for what is made of it
        piece = partition.read(
            wanted.fetch_offset, max_bytes if max_bytes > 0 else 0, upto, at_least_one and max_bytes >= 0, wait
        )
        is_end = wanted.fetch_offset >= upto
        if max_bytes < 0 and not is_end:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a negative limit of bytes")
        if partition.goes_on_elsewhere(piece, upto):
            look.is_urgent = True
        records = None
        # null where there is something to read that does not fit, as Kafka has it
        aborted: list[tuple[int, int]] | None = [] if committed_only and (is_end or max_bytes == 0) else None
        if piece.length > 0:
            assert piece.file is not None
            records = FileRegion(piece.file, piece.position, piece.length)
            if committed_only:
                bound = min(upto, partition.log.upper_bound(piece))
                found = partition.log.aborted_transactions(wanted.fetch_offset, bound, wait)
                aborted = [(transaction.producer_id, transaction.first_offset) for transaction in found]
            look.size += piece.length
            room = look.room - piece.length
            look.room = room if room > 0 else 0
        return FetchResult(
            wanted.partition, 0, high_watermark, stable, partition.log.log_start_offset, records, aborted
        )

    # answering

    def _answer(self, job: _Job, found: _Look) -> Response:
        session = job.session
        topics = found.topics
        if session is not None:
            if job.is_incremental:
                topics = session.news(topics)
            else:
                session.remember(topics)
        session_id = session.session_id if session is not None else NO_SESSION
        return _answer(encode_fetch_response(job.head, job.version, topics, session_id))


def _bring_all(cold: list[NotInMemory]) -> None:
    """Read what was missing, on a thread; errors show when it is looked at again."""
    for missing in cold:
        with suppress(OSError):
            missing.bring()


def _aborted_of(refused: KafkaError) -> list[tuple[int, int]] | None:
    """Kafka's list of aborted transactions is empty where the partition is unknown, null where its log refused."""
    return [] if refused.code in _UNKNOWN else None


def _answer(pieces: list[bytes | Region]) -> Response:
    first = pieces[0]
    if len(pieces) == 1 and isinstance(first, bytes):
        return first
    return pieces  # type: ignore[return-value]  # the regions are the file regions that were put in
