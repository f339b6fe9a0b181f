"""Where the records are that the partitions of a fetch have for it: offsets and regions of files, never their bytes.

Hot path. Rules (Kafka's log behaviour, fetch): consumers read up to the high watermark, or the last stable offset if
they want committed data only; the first partition that has data returns at least one whole batch although it is over
the limits. Records are looked up in indexes and batch headers; a partition is left out where only the disk has those
(`FetchRead.cold`), unless the read is to wait for it. Must not know: sessions, threads, how long a fetch waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from odradek.broker.handlers.fetch_quotas import FetchQuotas
from odradek.broker.handlers.fetch_sessions import FetchSession, Found, Wanted
from odradek.broker.handlers.old_fetch import FIRST_WHOLE
from odradek.broker.handlers.quiet_partitions import QuietPartitions
from odradek.broker.partitions.delayed_operation import Watched
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.responses import FileRegion
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.fetch import FIRST_BY_ID, FetchResult
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest
from odradek.protocol.records.batch import Codec
from odradek.storage.errors import NotInMemory
from odradek.storage.log.divergence import divergence
from odradek.storage.log.log import Log
from odradek.storage.log.log_values import LogSlice

READ_COMMITTED = 1
FIRST_ZSTD = 10
FIRST_OF_ANY_REPLICA = 11
"""From it on a consumer may read from a follower, up to the high watermark that this one knows (KIP-392)."""
FIRST_OF_STORAGE_ERROR = 6
"""Before it, clients are told NOT_LEADER_OR_FOLLOWER where the disk fails, since they know that and try again."""
MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@dataclass(slots=True)
class FetchJob:
    """A fetch at work, perhaps several times over while it waits."""

    context: RequestContext
    version: int
    head: bytes
    request: FetchRequest
    session: FetchSession | None
    is_incremental: bool
    wanted: Wanted
    max_bytes: int
    min_bytes: int
    noted: set[Partition] | None = None
    """Partitions whose leader has noted how far the follower is that asks; None where nobody has."""

    refused: frozenset[TopicRef] | None = None
    """Topics that the client may not read; None where it may read all of them."""

    quiet: QuietPartitions | None = None
    """Of a follower with a session: which partitions are not wanted now, since nothing happens in them."""

    quotas: FetchQuotas | None = None
    """Of a consumer, where quotas are set."""

    count: Callable[[Found], object] | None = None
    """Counts what is sent; None where nobody looks at that."""

    def look_again(self) -> None:
        """The fetch has waited: a follower's wants what has stirred meanwhile, too."""
        if self.quiet is not None and self.session is not None:
            self.wanted = self.session.wanted()

    def is_told(self, found: FetchRead) -> None:
        """The fetch is about to be answered with what was found."""
        quiet = self.quiet
        if quiet is not None:
            quiet.answered([(ref, one.partition) for ref, some in found.topics for one in some if one.records])

    def has_enough(self, found: FetchRead) -> bool:
        """Whether the fetch is to be answered with what was found, and not to wait for more."""
        if found.is_urgent or found.size >= self.min_bytes or self.request.max_wait_ms <= 0:
            return True
        if self.refused is not None and all(ref in self.refused for ref, _ in self.wanted):
            return True
        if self.quiet is not None:
            return False
        return not any(partitions for _, partitions in self.wanted)


@dataclass(slots=True)
class FetchRead:
    """What was found in the partitions at one time."""

    topics: Found
    room: int
    """Bytes that still fit into the answer."""
    waits: bool
    """Whether it waits for the disk."""
    size: int = 0
    is_urgent: bool = False
    """Whether waiting for more makes no sense: there is an error, or more lies in another segment."""
    has_moved: bool = False
    """Whether another broker leads some of the partitions, or this one in another epoch."""
    cold: list[NotInMemory] | None = None
    """What only the disk has, of partitions that are left out for that."""

    def refuse(self) -> None:
        """Note that a partition has something else to tell than records."""
        self.is_urgent = True
        if self.room < 0:
            self.room = 0  # the limit of the answer is an error of its first partition only

    def leave_out(self, missing: NotInMemory) -> None:
        """Note what a partition is left out for."""
        if self.cold is None:
            self.cold = []
        self.cold.append(missing)


class FetchReader:
    """Finds what the partitions have for a fetch."""

    def __init__(self, partitions: PartitionTable) -> None:
        self._partitions = partitions

    def read(self, job: FetchJob, waits: bool = False) -> FetchRead:
        """Look at all partitions of the fetch; `waits` lets it wait for the disk."""
        found = FetchRead([], job.max_bytes, waits)
        self.read_some(job, job.wanted, found)
        return found

    def read_some(self, job: FetchJob, some: Wanted, found: FetchRead) -> None:
        """Add what some of the partitions have to what was found in those before them."""
        refused = job.refused
        for ref, wanted in some:
            if refused is not None and ref in refused:
                found.topics.append((ref, [FetchResult(one.partition, _DENIED) for one in wanted]))
                continue
            topic = self._partitions.find(ref)
            results = []
            for partition in wanted:
                try:
                    result = self._read(job, topic, partition, found)
                except NotInMemory as missing:
                    found.leave_out(missing)
                    continue
                except KafkaError as error:
                    found.refuse()
                    found.has_moved |= error.code in MOVED
                    result = _refused(job, partition, error)
                results.append(result)
            found.topics.append((ref, results))

    def watched(self, job: FetchJob) -> Sequence[Watched]:
        """Return the partitions of the fetch that are here, or what stands for them."""
        may_follow = job.version >= FIRST_OF_ANY_REPLICA
        return self._watched(job, TopicPartitions.get_replica if may_follow else TopicPartitions.get)

    def _watched(self, job: FetchJob, find: Callable[[TopicPartitions, int], Partition | None]) -> list[Partition]:
        watched = []
        for ref, wanted in job.wanted:
            topic = self._partitions.find(ref)
            if topic is not None:
                found = (find(topic, partition.partition) for partition in wanted)
                watched += [partition for partition in found if partition is not None]
        return watched

    def _read(
        self, job: FetchJob, topic: TopicPartitions | None, wanted: FetchPartition, found: FetchRead
    ) -> FetchResult:
        if topic is None:
            raise unknown_topic(job.version)
        index, offset = wanted.partition, wanted.fetch_offset
        partition = topic.get(index)
        if partition is None:
            partition = topic.get_replica(index) if job.version >= FIRST_OF_ANY_REPLICA else None
            if partition is None:
                raise topic.missing(index)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        if job.version < FIRST_ZSTD and topic.config.compression_type == Codec.ZSTD.name.lower():
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        committed_only = job.request.isolation_level == READ_COMMITTED
        high_watermark, stable, log = partition.high_watermark, partition.last_stable_offset, partition.log
        upto = stable if committed_only else high_watermark
        diverging = divergence(partition.log, wanted.last_fetched_epoch, offset)
        if diverging is not None:
            found.refuse()
            return FetchResult(index, 0, high_watermark, stable, log.log_start_offset, diverging=diverging)
        max_bytes = min(wanted.partition_max_bytes, found.room)
        if max_bytes < 0:
            partition.read(offset, 0, upto, False, found.waits)  # an offset that is out of range is what is told first
            if offset < upto:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a negative limit of bytes")
            found.room, max_bytes = max(found.room, 0), 0
        at_least_one = found.size == 0 or job.version < FIRST_WHOLE  # whose limit is for what is made of it
        piece = partition.read(offset, max_bytes, upto, at_least_one, found.waits)
        if partition.log.segments.goes_on_after(piece.segment_base, upto):
            found.is_urgent = True
        length = piece.length
        if length <= 0:
            # null where there is something to read that does not fit, as Kafka has it
            aborted: list[tuple[int, int]] | None = [] if committed_only and (offset >= upto or not max_bytes) else None
            return FetchResult(index, 0, high_watermark, stable, log.log_start_offset, None, aborted)
        assert piece.file is not None
        aborted = _aborted_in(log, offset, piece, upto, found.waits) if committed_only else None
        found.size += length
        found.room = found.room - length if length < found.room else 0
        start = log.log_start_offset
        records = FileRegion._make((piece.file, piece.position, length))  # a third of the time of a call, as below
        return FetchResult._make((index, 0, high_watermark, stable, start, records, aborted, None, None, -1))


def unknown_topic(version: int) -> KafkaError:
    """The error for a topic that this broker does not know."""
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID if version >= FIRST_BY_ID else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _aborted_in(log: Log, offset: int, piece: LogSlice, upto: int, waits: bool) -> list[tuple[int, int]]:
    """Return (producer id, first offset) of the aborted transactions that a reader meets in a slice."""
    found = log.aborted_transactions(offset, min(upto, log.upper_bound(piece)), waits)
    return [(transaction.producer_id, transaction.first_offset) for transaction in found]


def _refused(job: FetchJob, wanted: FetchPartition, refused: KafkaError) -> FetchResult:
    """Return the result of a partition that cannot be read.

    Kafka's list of aborted transactions is empty where the partition is unknown, null where its log refused.
    """
    code = refused.code
    if code is ErrorCode.KAFKA_STORAGE_ERROR and job.version < FIRST_OF_STORAGE_ERROR:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return FetchResult(wanted.partition, code, aborted=[] if refused.code in _UNKNOWN else None)
