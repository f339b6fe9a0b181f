"""A follower's end of an incremental fetch session (KIP-227): what the leader knows of our wishes, and what is news.

Pure. Follows Kafka's `FetchSessionHandler`.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic

NO_SESSION = 0
_FULL = 0
_LAST_EPOCH = 0x7FFF_FFFF


class ReplicaId(NamedTuple):
    """A partition by its topic's id."""

    topic_id: UUID
    partition: int


class FetchPosition(NamedTuple):
    """Where a follower is in a partition, as its leader is told."""

    fetch_offset: int
    leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int


class Fetched(Protocol):
    """Something that is fetched; told apart by identity, which is quick."""

    @property
    def replica(self) -> ReplicaId:
        """The partition."""


F = TypeVar("F", bound=Fetched)


class FollowerSession(Generic[F]):
    """The session with one leader."""

    def __init__(self, partition_max_bytes: int) -> None:
        """`partition_max_bytes` is the limit for each partition (replica.fetch.max.bytes)."""
        self._partition_max_bytes = partition_max_bytes
        self._session_id = NO_SESSION
        self._epoch = _FULL
        self.told: dict[F, FetchPosition] = {}
        """What the leader knows by now that we want."""
        self._wanted: dict[F, FetchPosition] = {}
        self._news: dict[F, FetchPosition] = {}
        self._gone: dict[F, None] = {}

    def __len__(self) -> int:
        """How many partitions are wanted."""
        return len(self._wanted)

    def want(self, fetched: F, position: FetchPosition) -> None:
        """Ask for a partition at this place from now on."""
        self._wanted[fetched] = position
        self._gone.pop(fetched, None)
        if self.told.get(fetched) != position:
            self._news[fetched] = position
        else:
            self._news.pop(fetched, None)

    def leave_out(self, fetched: F) -> None:
        """Ask for a partition no more, until it is wanted again."""
        self._wanted.pop(fetched, None)
        self._news.pop(fetched, None)
        if fetched in self.told:
            self._gone[fetched] = None

    def ask(self, request: FetchRequest) -> None:
        """Put into `request` what the leader has to be told to know what is wanted, all of it or what is new.

        Where a replica is followed anew, all of it: what the leader answered to the one before was not heard, and it
        would not say again where the high watermark is.
        """
        new = {fetched.replica for fetched in self._news} if self._gone else set()
        if any(fetched.replica in new for fetched in self._gone):
            self.failed()
        request.session_id, request.session_epoch = self._session_id, self._epoch
        if self._epoch == _FULL:
            self.told.clear()
            self._news, self._gone = dict(self._wanted), {}
        topics: dict[UUID, FetchTopic] = {}
        for fetched, position in self._news.items():
            replica = fetched.replica
            topic = topics.get(replica.topic_id)
            if topic is None:
                topic = topics[replica.topic_id] = FetchTopic(topic_id=replica.topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=replica.partition,
                    current_leader_epoch=position.leader_epoch,
                    fetch_offset=position.fetch_offset,
                    last_fetched_epoch=position.last_fetched_epoch,
                    log_start_offset=position.log_start_offset,
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        forgotten: dict[UUID, ForgottenTopic] = {}
        for fetched in self._gone:
            replica = fetched.replica
            names = ForgottenTopic(topic_id=replica.topic_id)
            forgotten.setdefault(replica.topic_id, names).partitions.append(replica.partition)
            del self.told[fetched]
        request.topics, request.forgotten_topics_data = list(topics.values()), list(forgotten.values())
        self.told.update(self._news)
        self._news.clear()
        self._gone.clear()

    def answered(self, response: FetchResponse) -> bool:
        """Take note of an answer; return whether its partitions count."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._session_id = NO_SESSION
            self._epoch = _FULL
            return False
        if response.session_id == NO_SESSION:
            self._session_id, self._epoch = NO_SESSION, _FULL
        elif self._epoch == _FULL or response.session_id == self._session_id:
            self._session_id = response.session_id
            self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        else:
            self.failed()
            return False
        return True

    def failed(self) -> None:
        """A request has no answer: the next one begins anew, and ends what the leader may remember."""
        self._epoch = _FULL
