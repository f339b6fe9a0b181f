"""Fetch (api key 1): read batches from partitions; long poll where there is too little.

Hot path: offsets and file regions only; record bytes go from the page cache to the socket.

An answer goes out at once when there is an error, enough bytes, or no time to wait. What the partitions have is found
in `fetch_reading`, over several turns of the loop in `fetch_steps`; waiting for more is `fetch_waiting`. Sessions are
in `fetch_sessions`, and what old versions get in place of batches is in `old_fetch`. Followers are served by
`replica_fetch`, and consumers that have a replica nearer to them are told by `nearest_fetch`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.handlers.converting import Converter, in_task
from odradek.broker.handlers.counting import TrafficCounter
from odradek.broker.handlers.fetch_quotas import FetchQuotas, size_of
from odradek.broker.handlers.fetch_reading import FetchJob, FetchRead, FetchReader
from odradek.broker.handlers.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    FetchSessions,
    count_of,
    wanted_without_session,
)
from odradek.broker.handlers.fetch_steps import MOST_AT_ONCE, FetchSteps
from odradek.broker.handlers.fetch_waiting import WaitingFetch, WideFetches
from odradek.broker.handlers.leader_hints import FIRST_OF_FETCH, LeaderHints
from odradek.broker.handlers.nearest_fetch import NearestFetchReader, NearestReplica
from odradek.broker.handlers.old_fetch import FIRST_OF_BATCHES, OldFetch, OldFetchRead
from odradek.broker.handlers.replica_fetch import LeaderQuota, ReplicaFetchReader, is_of_replica, replica_of
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.quotas.telling import throttled
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.errors import KafkaError
from odradek.protocol.hot.fetch import FIRST_BY_ID, FIRST_SESSION, Region, encode_fetch_response
from odradek.protocol.hot.wire import NodeEndpoint
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.registry import API, ApiKey

if TYPE_CHECKING:  # most brokers have no authorizer
    from odradek.broker.authorization.reading import Readers

MOST_OF_OLD = 5_000
"""Partitions that a fetch of an old version (0 to 3) may ask for: they are looked at in one turn."""


class _Reading(NamedTuple):
    """How partitions are read for one kind of fetch: at once, step by step, and many of them."""

    reader: FetchReader
    steps: FetchSteps
    wide: WideFetches


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
        quota: LeaderQuota | None = None,
        nearest: NearestReplica | None = None,
        hints: LeaderHints | None = None,
        readers: Readers | None = None,
        quotas: ClientQuotaEnforcement | None = None,
        traffic: TrafficCounter | None = None,
    ) -> None:
        """`max_bytes` is the broker's own limit of an answer (fetch.max.bytes), `threads` are for reading the disk.

        `quota` holds back followers; `nearest` sends consumers to the replica that is nearest to them; `hints` tell who
        leads elsewhere; `readers` say who may read what, without them everybody may; `quotas` hold back consumers;
        `traffic` counts what is sent.
        """
        self._loop = loop
        self._sessions = sessions
        self._clock = clock
        self._max_bytes = max_bytes
        self._converter = converter
        self._hints = hints
        self._readers = readers
        self._quotas = quotas
        self._traffic = traffic

        def reading(reader: FetchReader) -> _Reading:
            steps = FetchSteps(loop, reader, threads)
            return _Reading(reader, steps, WideFetches(loop, reader, steps, converter, memory))

        self._of_consumers = reading(FetchReader(partitions))
        self._of_replicas = reading(ReplicaFetchReader(partitions, quota))
        self._of_racks = reading(NearestFetchReader(partitions, nearest)) if nearest is not None else None

    def __call__(self, context: RequestContext, request: FetchRequest, head: bytes) -> Response | Deferred[Response]:
        version = context.api_version
        try:
            session, is_incremental = self._session(request, version)
        except KafkaError as refused:
            return _response(encode_fetch_response(head, version, [], error_code=refused.code))
        max_bytes = min(request.max_bytes, self._max_bytes)
        quotas: FetchQuotas | None = None
        if self._quotas is not None and self._quotas.is_active and not is_of_replica(request, version):
            quotas = FetchQuotas(self._quotas, context)
            max_bytes = quotas.most_bytes(max_bytes)
        wanted = session.wanted() if session is not None else wanted_without_session(request, version >= FIRST_BY_ID)
        job = FetchJob(
            context,
            version,
            head,
            request,
            session,
            is_incremental,
            wanted,
            max_bytes,
            min(request.min_bytes, max_bytes),
            quotas=quotas,
            count=self._traffic.fetched if self._traffic is not None else None,
        )
        if self._readers is not None:
            refs = [ref for ref, _ in wanted]
            job.refused = self._readers.refused(context, refs, is_follower=is_of_replica(request, version))
        if version < FIRST_OF_BATCHES:
            if count_of(job.wanted) > MOST_OF_OLD:
                raise CloseConnectionError(f"a fetch of version {version} asks for more than {MOST_OF_OLD} partitions")
            return self._answer_old(job)
        reading = self._of_consumers
        if is_of_replica(request, version):
            reading = self._of_replicas
            if self._traffic is not None:
                job.count = self._traffic.fetched_by_follower
            if session is not None:
                job.quiet = session.begin_of_follower()
                job.quiet.fetches(replica_of(request, version), int(self._clock.monotonic() * 1000))
                job.look_again()
                wanted = job.wanted
        elif self._of_racks is not None and request.rack_id:
            reading = self._of_racks
        if count_of(wanted) > MOST_AT_ONCE:
            if job.count is not None:  # its answer is made on a thread, and numbers are added to on the loop alone
                count = job.count
                job.count = lambda topics: self._loop.call_soon_threadsafe(count, topics)
            return in_task(self._loop, reading.wide.answer(job, self._encoded))
        found = reading.reader.read(job)
        if found.cold:
            return in_task(self._loop, self._read_from_disk(job, reading, found))
        if job.has_enough(found):
            if job.quiet is not None:
                job.is_told(found)
            return self._encoded(job, found)
        return self._wait(job, reading)

    def _wait(self, job: FetchJob, reading: _Reading) -> Deferred[Response]:
        if job.quotas is not None:
            job.quotas.waits()
        return WaitingFetch(job, reading.reader, reading.steps, self._encoded).begin(self._loop)

    async def _read_from_disk(self, job: FetchJob, reading: _Reading, found: FetchRead) -> Response:
        found = await reading.steps.read(job, found)
        if not job.has_enough(found):
            return await self._wait(job, reading)
        job.is_told(found)
        return self._encoded(job, found)

    def _answer_old(self, job: FetchJob) -> Deferred[Response]:
        reader, steps, _ = self._of_consumers

        def look() -> OldFetchRead:
            return found_old(reader.read(job))

        async def look_from_disk() -> OldFetchRead:
            return found_old(await steps.read(job))

        def found_old(found: FetchRead) -> OldFetchRead:
            return OldFetchRead(found.topics, job.has_enough(found), bool(found.cold))

        partitions = [partition for _, of_topic in job.wanted for partition in of_topic]
        old = OldFetch(self._loop, self._converter, job.version, partitions, look, look_from_disk)
        answer = old.answer(job.head, reader.watched(job), job.request.max_wait_ms)
        return answer if job.quotas is None else answer.then(lambda response: self._limited(job, response))

    def _limited(self, job: FetchJob, response: Response) -> Response:
        """Return an answer to an old consumer, or none of it if that would be too much."""
        assert job.quotas is not None
        throttle_ms = job.quotas.throttle_ms(size_of(response))
        return self._throttled(job, throttle_ms) if throttle_ms > 0 else job.quotas.sent(response)

    def _throttled(self, job: FetchJob, throttle_ms: int) -> Response:
        """Return what a consumer is told that has to wait: nothing, and its session stays as it was."""
        session_id = NO_SESSION
        if job.session is not None:
            if job.is_incremental:
                session_id = job.session.session_id
            else:
                self._sessions.end(job.session.session_id)  # it has not begun: the consumer asks again for everything
        empty = _response(encode_fetch_response(job.head, job.version, [], session_id))
        assert isinstance(empty, bytes)
        return throttled(empty, API[ApiKey.FETCH], job.version, throttle_ms)

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

    def _encoded(self, job: FetchJob, found: FetchRead) -> Response:
        """Return the response; a session remembers what it tells."""
        quotas, session, topics = job.quotas, job.session, found.topics
        if quotas is not None:
            throttle_ms = quotas.throttle_ms(found.size)
            if throttle_ms > 0:
                return self._throttled(job, throttle_ms)
        if job.count is not None:
            job.count(topics)
        endpoints: tuple[NodeEndpoint, ...] = ()
        if found.has_moved and self._hints is not None and job.version >= FIRST_OF_FETCH:
            endpoints = self._hints.add_to_fetch(job.context, topics)
        session_id = NO_SESSION
        if session is not None:
            session_id = session.session_id
            if job.is_incremental:
                topics = session.news(topics)
            else:
                session.remember(topics)
        response = _response(encode_fetch_response(job.head, job.version, topics, session_id, 0, endpoints))
        return response if quotas is None else quotas.sent(response)


def _response(pieces: list[bytes | Region]) -> Response:
    first = pieces[0]
    if len(pieces) == 1 and isinstance(first, bytes):
        return first
    return pieces  # type: ignore[return-value]  # the regions are the file regions that were put in
