"""Incremental fetch sessions (KIP-227): the broker remembers what a consumer asks for, so that it need not ask or be
told it all each time.

Pure state: no clock of its own, no sockets. A session holds the partitions in the order in which they are served; those
that returned data move to the end, so that nobody starves. The cache is bounded by
max.incremental.fetch.session.cache.slots; a session that was idle for two minutes gives way to a new one, and where all
are busy the new consumer simply gets no session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from protocol.errors import ErrorCode, KafkaError
from protocol.hot.fetch import FetchPartition, FetchRequestView, FetchResult

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
LAST_EPOCH = 0x7FFFFFFF

MIN_IDLE_BEFORE_EVICTION_MS = 120_000

PartitionKey = tuple[bytes, int]


@dataclass(slots=True)
class CachedPartition:
    """What a session knows of a partition: what is asked, and what was last told."""

    wanted: FetchPartition
    high_watermark: int = -1
    log_start_offset: int = -1

    def is_news(self, result: FetchResult) -> bool:
        """Whether the client must be told this result, and remember that it was."""
        changed = (
            result.records is not None
            or result.error_code != 0
            or result.diverging is not None
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
        )
        if changed:
            # after an error the next result is told whatever it is
            self.high_watermark = -1 if result.error_code else result.high_watermark
            self.log_start_offset = -1 if result.error_code else result.log_start_offset
        return changed


@dataclass(slots=True)
class FetchSession:
    """One consumer's session."""

    session_id: int
    uses_topic_ids: bool
    epoch: int
    last_used_ms: int
    partitions: dict[PartitionKey, CachedPartition] = field(default_factory=dict)

    def update(self, request: FetchRequestView) -> None:
        """Apply the additions, changes and removals of an incremental request."""
        for key, wanted in request.topics:
            for partition in wanted:
                cached = self.partitions.get((key, partition.index))
                if cached is None:
                    self.partitions[key, partition.index] = CachedPartition(partition)
                else:
                    cached.wanted = partition
        for key, indexes in request.forgotten:
            for index in indexes:
                self.partitions.pop((key, index), None)

    def wanted(self) -> list[tuple[bytes, list[FetchPartition]]]:
        """What is to be read, in serving order; neighbours of one topic are grouped."""
        topics: list[tuple[bytes, list[FetchPartition]]] = []
        for (key, _), cached in self.partitions.items():
            if not topics or topics[-1][0] != key:
                topics.append((key, []))
            topics[-1][1].append(cached.wanted)
        return topics

    def news(self, topics: list[tuple[bytes, list[FetchResult]]]) -> list[tuple[bytes, list[FetchResult]]]:
        """The results that an incremental answer must tell; what returned data goes to the end of the serving order."""
        told: list[tuple[bytes, list[FetchResult]]] = []
        for key, results in topics:
            fresh = []
            for result in results:
                cached = self.partitions.get((key, result.index))
                if cached is None or not cached.is_news(result):
                    continue
                fresh.append(result)
                if result.records is not None:
                    self.partitions[key, result.index] = self.partitions.pop((key, result.index))
            if fresh:
                told.append((key, fresh))
        return told

    def has_news(self, topics: list[tuple[bytes, list[FetchResult]]]) -> bool:
        """Whether an answer would tell anything."""
        for key, results in topics:
            for result in results:
                cached = self.partitions.get((key, result.index))
                if cached is not None and (
                    result.records is not None
                    or result.error_code
                    or result.high_watermark != cached.high_watermark
                    or result.log_start_offset != cached.log_start_offset
                ):
                    return True
        return False


class FetchSessions:
    """The cache of sessions."""

    def __init__(self, slots: int, random_id: Callable[[], int]) -> None:
        """`random_id` draws a session id: positive, below 2**31."""
        self._slots = slots
        self._random_id = random_id
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequestView, uses_topic_ids: bool, now_ms: int) -> FetchSession | None:
        """The session that a full request (epoch 0) starts, None where there is no room or nothing to fetch."""
        self._sessions.pop(request.session_id, None)
        if self._slots <= 0 or not request.topics or not self._make_room(now_ms):
            return None
        session_id = self._random_id()
        while session_id in self._sessions or session_id <= 0:
            session_id = self._random_id()
        session = FetchSession(session_id, uses_topic_ids, 1, now_ms)
        session.update(request)
        self._sessions[session_id] = session
        return session

    def end(self, session_id: int) -> None:
        """Close a session (epoch -1), if it is there."""
        self._sessions.pop(session_id, None)

    def resume(self, request: FetchRequestView, uses_topic_ids: bool, now_ms: int) -> FetchSession:
        """The session that an incremental request goes on with, updated by it.

        Raises:
            KafkaError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
        """
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if request.session_epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        session.epoch = 1 if session.epoch == LAST_EPOCH else session.epoch + 1
        session.last_used_ms = now_ms
        if not session.partitions:
            del self._sessions[session.session_id]
        return session

    def _make_room(self, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        oldest = min(self._sessions.values(), key=lambda session: session.last_used_ms)
        if now_ms - oldest.last_used_ms <= MIN_IDLE_BEFORE_EVICTION_MS:
            return False
        del self._sessions[oldest.session_id]
        return True
