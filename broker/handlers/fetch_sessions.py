"""Incremental fetch sessions (KIP-227): the broker remembers what a consumer asks for, so that it need not ask or be
told it all each time.

Pure state: no clock of its own, no sockets. A session holds the partitions in the order in which they are served; those
that returned data to an incremental request move to the end, so that nobody starves. The cache is bounded by
max.incremental.fetch.session.cache.slots; a session that was idle for two minutes gives way to a new one, and where all
are busy the new consumer simply gets no session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from odradek.broker.handlers.quiet_partitions import PartitionKey, QuietPartitions
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FetchResult
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
LAST_EPOCH = 0x7FFFFFFF

MIN_IDLE_BEFORE_EVICTION_MS = 120_000

MOST_PARTITIONS = 500_000
"""Partitions in all sessions together: some 200 MB. Kafka bounds the number of sessions alone."""
FEW_PARTITIONS = 100
"""Partitions that a request may always add, without counting the others: times the slots they are few."""

Wanted = list[tuple[TopicRef, list[FetchPartition]]]
"""What is asked, by topic, in serving order."""
Found = list[tuple[TopicRef, list[FetchResult]]]
"""What there is, by topic, in serving order."""


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
            # the next result is told whatever it is after an error, and after a divergence: a follower looks at nothing
            # else of that answer, and would not learn how far the log is committed before it grows
            is_heard = not result.error_code and result.diverging is None
            self.high_watermark = result.high_watermark if is_heard else -1
            self.log_start_offset = result.log_start_offset if is_heard else -1
        return changed


@dataclass(slots=True)
class FetchSession:
    """The session of a consumer, or of a follower."""

    session_id: int
    uses_topic_ids: bool
    epoch: int
    last_used_ms: int
    partitions: dict[PartitionKey, CachedPartition] = field(default_factory=dict)
    quiet: QuietPartitions | None = None
    """Which partitions need no look now; None in the session of a consumer, of which all are looked at."""

    def update(self, request: FetchRequest) -> None:
        """Apply the additions, changes and removals of an incremental request."""
        for topic in request.topics:
            ref = topic.topic_id if self.uses_topic_ids else topic.topic
            for partition in topic.partitions:
                cached = self.partitions.get((ref, partition.partition))
                if cached is None:
                    self.partitions[ref, partition.partition] = CachedPartition(partition)
                else:
                    cached.wanted = partition
                if self.quiet is not None:
                    self.quiet.want((ref, partition.partition))
        for forgotten in request.forgotten_topics_data:
            ref = forgotten.topic_id if self.uses_topic_ids else forgotten.topic
            for index in forgotten.partitions:
                self.partitions.pop((ref, index), None)
                if self.quiet is not None:
                    self.quiet.forget((ref, index))

    def begin_of_follower(self) -> QuietPartitions:
        """A follower fetches: it goes on with what rests, and in a new session everything is to be looked at."""
        if self.quiet is None:
            self.quiet = QuietPartitions()
            for key in self.partitions:
                self.quiet.want(key)
        return self.quiet

    def end(self) -> None:
        """The session is over."""
        if self.quiet is not None:
            self.quiet.end()

    def wanted(self) -> Wanted:
        """What is to be read, in serving order; neighbours of one topic are grouped."""
        topics: Wanted = []
        partitions = self.partitions
        for key in partitions if self.quiet is None else self.quiet.due:
            if not topics or topics[-1][0] != key[0]:
                topics.append((key[0], []))
            topics[-1][1].append(partitions[key].wanted)
        return topics

    def key_of(self, topic_id: UUID | None, topic: str, partition: int) -> PartitionKey:
        """What a partition is called here."""
        return (topic_id if self.uses_topic_ids and topic_id is not None else topic, partition)

    def remember(self, topics: Found) -> None:
        """Keep what the full answer that opens the session tells; the serving order stays that of the request."""
        for ref, results in topics:
            for result in results:
                cached = self.partitions.get((ref, result.partition))
                if cached is not None:
                    cached.is_news(result)

    def news(self, topics: Found) -> Found:
        """The results that an incremental answer must tell; what returned data goes to the end of the serving order."""
        told: Found = []
        for ref, results in topics:
            fresh = []
            for result in results:
                cached = self.partitions.get((ref, result.partition))
                if cached is None or not cached.is_news(result):
                    continue
                fresh.append(result)
                if result.records is not None:
                    self.partitions[ref, result.partition] = self.partitions.pop((ref, result.partition))
            if fresh:
                told.append((ref, fresh))
        return told


def count_of(wanted: Wanted) -> int:
    """Return how many partitions are asked for."""
    return len(wanted[0][1]) if len(wanted) == 1 else sum([len(partitions) for _, partitions in wanted])


def wanted_without_session(request: FetchRequest, by_id: bool) -> Wanted:
    """What a request alone asks for: a partition that it names again takes its first place and its last wishes, and of
    a topic without partitions nothing is asked."""
    asked = request.topics
    if len(asked) == 1 and len(asked[0].partitions) == 1:
        return [(asked[0].topic_id if by_id else asked[0].topic, asked[0].partitions)]
    topics: Wanted = [
        (topic.topic_id if by_id else topic.topic, topic.partitions) for topic in asked if topic.partitions
    ]
    if count_of(topics) == len({(ref, each.partition) for ref, partitions in topics for each in partitions}):
        return topics
    unique = FetchSession(NO_SESSION, by_id, INITIAL_EPOCH, 0)
    unique.update(request)
    return unique.wanted()


class FetchSessions:
    """The cache of sessions."""

    def __init__(self, slots: int, random_id: Callable[[], int]) -> None:
        """`random_id` draws a session id: positive, below 2**31."""
        self._slots = slots
        self._random_id = random_id
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, uses_topic_ids: bool, now_ms: int) -> FetchSession | None:
        """The session that a full request (epoch 0) starts, with partitions or without, None where there is no room."""
        self.end(request.session_id)
        if self._slots <= 0 or not self._make_room(now_ms) or not self._has_room_for(request):
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
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end()

    def resume(self, request: FetchRequest, uses_topic_ids: bool, now_ms: int) -> FetchSession | None:
        """The session that an incremental request goes on with, updated by it; None where that leaves it empty, which
        closes it: what the request names is then fetched without a session.

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
        if not self._has_room_for(request):
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.update(request)
        if not session.partitions:
            self.end(session.session_id)
            return None
        session.epoch = 1 if session.epoch == LAST_EPOCH else session.epoch + 1
        session.last_used_ms = now_ms
        return session

    def _has_room_for(self, request: FetchRequest) -> bool:
        """Whether all sessions together may remember what the request adds: who is refused asks without a session."""
        added = sum(len(topic.partitions) for topic in request.topics)
        if added <= FEW_PARTITIONS:
            return True
        return added + sum(len(session.partitions) for session in self._sessions.values()) <= MOST_PARTITIONS

    def _make_room(self, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        oldest = min(self._sessions.values(), key=lambda session: session.last_used_ms)
        if now_ms - oldest.last_used_ms <= MIN_IDLE_BEFORE_EVICTION_MS:
            return False
        self.end(oldest.session_id)
        return True
