"""What a follower asks a leader for, and what it makes of the answers, for all partitions that it follows there.

A state machine without I/O: `next_request` gives what is to be sent now, if anything, and an answer, or that there is
none, comes back. Appending and cutting happen in here, on the replicas' logs. One request is under way at a time; a
partition that is in trouble waits while the others go on.

With the offset that it asks for a replica says what it has, and what all have that are in sync is committed. So records
are appended before more are asked for, but for a replica that is far behind: what comes after them is asked for first
where the leader has committed that without it, and finds and sends it while the disk is written here. Follows Kafka's
`AbstractFetcherThread` and `ReplicaFetcherThread` with truncation on fetch (KIP-595); times are monotonic seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from odradek.broker.partitions.partition import Partition
from odradek.broker.replication.followed_partition import FollowedPartition
from odradek.broker.replication.follower_session import FetchPosition, FollowerSession, ReplicaId
from odradek.broker.replication.following import Following
from odradek.broker.replication.truncation import truncation_point
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError, known_error
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData, ReplicaState
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.checkpoints.leader_epochs import EpochEnd
from odradek.storage.errors import OffsetOutOfRange
from odradek.storage.log.replicated_batches import ReplicatedBatches

log = get_logger("replication")

LATEST, EARLIEST = -1, -2


class FetchSettings(NamedTuple):
    """Kafka's settings of fetchers, names as in the configuration, units too."""

    node_id: int
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_response_max_bytes: int = 10 * 1024 * 1024
    replica_fetch_max_bytes: int = 1024 * 1024
    replica_fetch_backoff_ms: int = 1000
    replica_socket_timeout_ms: int = 30_000


class Received:
    """The bytes of batches that came for partitions that are followed."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class FollowerQuota(Protocol):
    """How much may be fetched of partitions that are moved (follower.replication.throttled.rate)."""

    def leaves_out(self, partition: Partition) -> bool:
        """Whether a partition in which this broker is not in sync is not to be fetched now."""

    def received(self, partition: Partition, size: int) -> None:
        """Note bytes that came for a partition."""


class _Ahead(NamedTuple):
    """What is to be appended once the leader has been asked for more."""

    position: FetchPosition
    """Where the replica is then."""
    data: PartitionData
    batches: ReplicatedBatches


class Fetcher:
    """The partitions that are followed at one leader."""

    def __init__(
        self,
        settings: FetchSettings,
        broker_epoch: Callable[[], int],
        quota: FollowerQuota | None = None,
        received: Received | None = None,
    ) -> None:
        """`broker_epoch` tells under which registration this broker serves; fetchers may count in one `received`."""
        self._settings = settings
        self._broker_epoch = broker_epoch
        self._quota = quota
        self._received = received or Received()
        self._session: FollowerSession[Following] = FollowerSession(settings.replica_fetch_max_bytes)
        self._fetched: dict[ReplicaId, FollowedPartition] = {}
        self._changed: dict[FollowedPartition, None] = {}
        """Those of which the leader may have to be told something, or that are in trouble: all others are not looked at
        for each request."""
        self._ahead: dict[FollowedPartition, _Ahead] = {}
        """What of the last answer is appended only after the next request went out."""
        self._unwritten = 0
        """Partitions of the last answer of which the disk has yet to get what flush.messages wants there."""
        self.on_written: Callable[[], None] = _nothing
        """Called when the disk has what it was waited for."""

    def __len__(self) -> int:
        return len(self._fetched)

    def __contains__(self, replica: ReplicaId) -> bool:
        return replica in self._fetched

    def add(self, following: Following) -> None:
        """Fetch a partition from now on."""
        self.remove(following.replica)
        fetched = self._fetched[following.replica] = FollowedPartition(
            following, self._changed, self._settings.replica_fetch_backoff_ms / 1000
        )
        following.partition.delayed_fetches[fetched] = None
        fetched.wake()
        self._guarded(fetched, 0.0, following.cut_what_cannot_be_compared)

    def remove(self, replica: ReplicaId) -> None:
        """Fetch a partition no more."""
        fetched = self._fetched.pop(replica, None)
        if fetched is not None:
            fetched.following.partition.delayed_fetches.pop(fetched, None)
            self._changed.pop(fetched, None)
            self._session.leave_out(fetched.following)

    # asking

    @property
    def waits_for_disk(self) -> bool:
        """Whether nothing is to be asked yet: with an offset the leader is told what is safe here, and acknowledges it.

        Kafka's followers flush within their append (flush.messages), which holds up all that they fetch, too.
        """
        return self._unwritten > 0

    def next_request(self, now: float) -> FetchRequest | ListOffsetsRequest | None:
        """What is to be sent now; None where nothing is: look again in `rest_s`."""
        lookups = [one for one in self._changed if one.lookup is not None and one.rests_until <= now]
        return self._lookup_request(lookups) if lookups else self._fetch_request(now)

    def rest_s(self, now: float) -> float | None:
        """How long there is nothing to send; None where that is until a partition is added."""
        if not self._fetched:
            return None
        until = min(one.rests_until for one in self._fetched.values())
        return until - now if until > now else self._settings.replica_fetch_backoff_ms / 1000

    def _fetch_request(self, now: float) -> FetchRequest | None:
        quota, session = self._quota, self._session
        for fetched in list(self._changed):
            following = fetched.following
            is_held_back = quota is not None and not fetched.is_in_sync and quota.leaves_out(following.partition)
            is_unsafe = following.partition.safe_end < following.log_end_offset
            if is_unsafe and not fetched.awaits_disk:  # from before the start, or the config; or the disk refused
                fetched.awaits_disk = following.partition.when_on_disk(partial(self._is_safe, fetched))
            if fetched.rests_until > now or fetched.lookup is not None or is_held_back or is_unsafe:
                session.leave_out(following)
                continue
            ahead = self._ahead.get(fetched)
            session.want(following, following.position() if ahead is None else ahead.position)
            if quota is None or fetched.is_in_sync:
                del self._changed[fetched]
        if not len(session):
            return None
        settings = self._settings
        request = FetchRequest(
            replica_id=settings.node_id,
            replica_state=ReplicaState(replica_id=settings.node_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=settings.replica_fetch_wait_max_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
        )
        session.ask(request)
        return request

    def _lookup_request(self, lookups: list[FollowedPartition]) -> ListOffsetsRequest:
        topics: dict[str, ListOffsetsTopic] = {}
        for fetched in lookups:
            following = fetched.following
            name = following.partition.topic
            topics.setdefault(name, ListOffsetsTopic(name=name)).partitions.append(
                ListOffsetsPartition(
                    partition_index=following.replica.partition,
                    current_leader_epoch=following.leader_epoch,
                    timestamp=LATEST if fetched.lookup is None else fetched.lookup,
                )
            )
        return ListOffsetsRequest(replica_id=self._settings.node_id, topics=list(topics.values()))

    # what comes back

    def failed(self, now: float, was_fetch: bool) -> None:
        """A request has no answer: all rest for a while."""
        if was_fetch:
            self._session.failed()
        for fetched in self._fetched.values():
            fetched.wake()
            fetched.rest(now)

    def interrupted(self) -> None:
        """A fetch was given up: the next one begins anew, at once."""
        self._session.failed()

    def answered(self, response: Message, now: float, ask_on: Callable[[], None]) -> None:
        """Take in an answer; record bytes are used before this returns.

        `ask_on` is called where the next request may go out while something is left to be appended.
        """
        if isinstance(response, FetchResponse):
            self._take_fetch(response, now)
            if self._ahead:
                self._append_ahead(now, ask_on)
        elif isinstance(response, ListOffsetsResponse):
            self._take_lookup(response, now)
        else:
            self.failed(now, True)

    def _take_fetch(self, response: FetchResponse, now: float) -> None:
        told = self._session.told
        if not self._session.answered(response):
            log.info("a fetch session begins anew", error=known_error(response.error_code).name)
            return
        for topic in response.responses:
            topic_id = topic.topic_id
            for data in topic.partitions:
                replica = ReplicaId(topic_id, data.partition_index)
                fetched = self._fetched.get(replica)
                if fetched is None:
                    continue
                fetched.wake()
                position = told.get(fetched.following)
                if position is not None and position.fetch_offset == fetched.following.log_end_offset:
                    self._guarded(fetched, now, self._take, fetched, data, now)

    def _take(self, fetched: FollowedPartition, data: PartitionData, now: float) -> None:
        following = fetched.following
        error = known_error(data.error_code)
        diverging = data.diverging_epoch
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            fetched.lookup = LATEST
        elif error is ErrorCode.FENCED_LEADER_EPOCH:
            self.remove(following.replica)  # newer metadata is on its way, and adds the partition again
        elif error is not ErrorCode.NONE:
            fetched.rest_after_error(now, f"the leader answers {error.name}")
        elif diverging.end_offset >= 0 or diverging.epoch >= 0:
            leader = EpochEnd(diverging.epoch, diverging.end_offset)
            following.truncate_to(truncation_point(following.log_end_offset, following.end_offset_for_epoch, leader))
        else:
            self._take_records(fetched, data)

    def _take_records(self, fetched: FollowedPartition, data: PartitionData) -> None:
        following, records = fetched.following, data.records
        batches = following.check(memoryview(records)) if records else None
        if records:
            self._received.bytes += len(records)
            if self._quota is not None:
                self._quota.received(following.partition, len(records))
        if batches is not None and batches.last_offset + 1 < data.high_watermark:
            self._ahead[fetched] = _Ahead(following.position_after(batches), data, batches)
        else:
            self._append(fetched, data, batches)

    def _append_ahead(self, now: float, ask_on: Callable[[], None]) -> None:
        """Ask for more, and then append.

        What is asked for lies below the leader's high watermark, so that nothing is committed because of that, and the
        replica does not get into the ISR. Should the disk refuse, what comes next is dropped and asked for again.
        """
        try:
            ask_on()
        finally:
            ahead, self._ahead = self._ahead, {}
            for fetched, (_, data, batches) in ahead.items():
                fetched.wake()
                self._guarded(fetched, now, self._append, fetched, data, batches)

    def _append(self, fetched: FollowedPartition, data: PartitionData, batches: ReplicatedBatches | None) -> None:
        following = fetched.following
        if batches is not None:
            following.append(batches)
            if following.partition.when_written(following.log_end_offset, self._written):
                self._unwritten += 1
        following.follow_marks(data.high_watermark, data.log_start_offset)
        fetched.is_in_sync = following.log_end_offset >= data.high_watermark
        fetched.goes_well()

    def _is_safe(self, fetched: FollowedPartition, outcome: ErrorCode) -> None:
        """What a replica had already is on the disk, or is tried again in a while."""
        fetched.awaits_disk = False
        if outcome is ErrorCode.NONE:
            self.on_written()

    def _written(self, _outcome: ErrorCode) -> None:
        """The disk has what a partition appended, or refuses it: such a partition is left out until it does not."""
        self._unwritten -= 1
        if not self._unwritten:
            self.on_written()

    def _take_lookup(self, response: ListOffsetsResponse, now: float) -> None:
        by_name = {
            (one.following.partition.topic, one.following.replica.partition): one
            for one in self._changed
            if one.lookup is not None
        }
        for topic in response.topics:
            for found in topic.partitions:
                fetched = by_name.get((topic.name, found.partition_index))
                if fetched is not None:
                    self._guarded(fetched, now, self._look_up, fetched, found, now)

    def _look_up(self, fetched: FollowedPartition, found: ListOffsetsPartitionResponse, now: float) -> None:
        following, error = fetched.following, known_error(found.error_code)
        if error is not ErrorCode.NONE or found.offset < 0:
            fetched.rest_after_error(now, f"the leader answers {error.name} when asked for its offsets")
        elif fetched.lookup == EARLIEST:
            fetched.lookup = None
            if found.offset > following.log_end_offset:
                following.truncate_fully(found.offset)
            else:
                fetched.rest(now)  # nothing has changed here, so that the leader has to before it goes on
        elif found.offset < following.log_end_offset:
            fetched.lookup = None
            following.truncate_to(found.offset)
        else:
            fetched.lookup = EARLIEST

    # trouble

    def _guarded(self, fetched: FollowedPartition, now: float, work: Callable[..., None], *args: object) -> None:
        """Do something to a replica; what goes wrong with it keeps the others from nothing."""
        try:
            work(*args)
        except CorruptRecord as damage:
            fetched.report(f"the records that came are damaged, and are fetched again: {damage}")
            fetched.rest(now)
        except OffsetOutOfRange as unexpected:
            fetched.rest_for_disk(now, str(unexpected))
        except (KafkaError, OSError) as failed:
            fetched.rest_for_disk(now, f"the disk refuses what comes: {failed}")


def _nothing() -> None:
    return
