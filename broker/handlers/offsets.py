"""ListOffsets (0-11), OffsetForLeaderEpoch (0-4): where a partition begins and ends.

A replica is told the end of the log, a consumer what is committed; and while it may be that less is known to be
committed here than before this broker came to lead, a consumer has to ask again (KIP-207). A debugging tool is told the
end of the log by followers, too, which is how far these are.

Version notes: ListOffsets v0 asks for several offsets at once, at which segments begin; each special timestamp has the
version in which it came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from odradek.broker.handlers.offsets_by_time import FoundByTime, OffsetsByTime
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, gather, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.storage.log.segment_offsets import newest_offsets, offsets_before
from odradek.storage.log.timestamps import by_max_timestamp, by_timestamp

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
READ_COMMITTED = 1
FIRST_OF_NOT_AVAILABLE = 5
CONSUMER, DEBUGGING_TOOL = -1, -2
"""Replica ids of those that are no replica."""
NOT_KNOWN = -1
_FIRST_WITH_ONE_OFFSET = 1


class OffsetHandlers:
    """Answers ListOffsets and OffsetForLeaderEpoch."""

    def __init__(self, partitions: PartitionTable, clock: Clock, by_time: OffsetsByTime) -> None:
        self._by_time = by_time
        self._partitions = partitions
        self._clock = clock

    def list_offsets(
        self, context: RequestContext, request: ListOffsetsRequest
    ) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
        """Offsets by timestamp or special timestamp (KIP-79, KIP-734, KIP-1005)."""
        version = context.api_version
        find = self._partitions.get_replica if request.replica_id == DEBUGGING_TOOL else self._partitions.get
        asked = Counter(
            (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
        )
        names: list[str] = []
        answers: list[ListOffsetsPartitionResponse | Deferred[ListOffsetsPartitionResponse]] = []
        for name, partitions in by_topic(request.topics):
            for wanted in partitions:
                result: ListOffsetsPartitionResponse | Deferred[ListOffsetsPartitionResponse]
                try:
                    if asked[name, wanted.partition_index] > 1:
                        raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition is named twice")
                    _check_timestamp(version, wanted.timestamp)
                    partition = find(name, wanted.partition_index)
                    if version < _FIRST_WITH_ONE_OFFSET:
                        result = self._offsets(partition, wanted)
                    else:
                        result = self._offset(partition, wanted, request, version)
                except KafkaError as refused:
                    result = _refused(wanted, refused)
                names.append(name)
                answers.append(result)

        def respond(results: Sequence[ListOffsetsPartitionResponse]) -> ListOffsetsResponse:
            topics: dict[str, list[ListOffsetsPartitionResponse]] = {}
            for name, result in zip(names, results, strict=True):
                topics.setdefault(name, []).append(result)
            return ListOffsetsResponse(
                topics=[ListOffsetsTopicResponse(name=name, partitions=found) for name, found in topics.items()]
            )

        return then(gather(answers), respond)

    def _offset(
        self, partition: Partition, wanted: ListOffsetsPartition, request: ListOffsetsRequest, version: int
    ) -> ListOffsetsPartitionResponse | Deferred[ListOffsetsPartitionResponse]:
        target = wanted.timestamp
        partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
        upto = _readable_end(partition, request)
        found: tuple[int, int, int] | None
        if target == LATEST:
            _check_end(partition, upto, version)
            found = (NOT_KNOWN, upto, partition.leader_epoch)
        elif target in (EARLIEST, EARLIEST_LOCAL):
            found = (NOT_KNOWN, log.log_start_offset, log.leader_epochs.epoch_for_offset(log.log_start_offset))
        elif target in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            found = None
        else:
            search = by_max_timestamp(log) if target == MAX_TIMESTAMP else by_timestamp(log, target, upto)

            def answer(found: FoundByTime) -> ListOffsetsPartitionResponse:
                if found is None:
                    found = _refusal(lambda: _check_end(partition, upto, version))
                return _refused(wanted, found) if isinstance(found, KafkaError) else _found(wanted, found)

            return then(self._by_time.find(log, search, upto), answer)
        return _found(wanted, found)

    def _offsets(self, partition: Partition, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        limit, upto = wanted.max_num_offsets, partition.high_watermark
        if limit < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a negative number of offsets")
        if wanted.timestamp == LATEST:
            found = newest_offsets(partition.log, limit, upto)
        elif wanted.timestamp == EARLIEST:
            found = [partition.log.log_start_offset][:limit]
        else:
            found = offsets_before(partition.log, wanted.timestamp, limit, upto, self._clock.now_ms())
        return ListOffsetsPartitionResponse(partition_index=wanted.partition_index, old_style_offsets=found)

    def offset_for_leader_epoch(
        self, _context: RequestContext, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        """Where the batches of a leader's epoch end (KIP-101, KIP-320)."""
        topics = []
        for topic in request.topics:
            results = []
            for wanted in topic.partitions:
                try:
                    partition = self._partitions.get(topic.topic, wanted.partition)
                    partition.check_leader_epoch(wanted.current_leader_epoch)
                    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
                    result = EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)
                except KafkaError as refused:
                    result = EpochEndOffset(partition=wanted.partition, error_code=refused.code)
                results.append(result)
            topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=results))
        return OffsetForLeaderEpochResponse(topics=topics)


def _readable_end(partition: Partition, request: ListOffsetsRequest) -> int:
    """The end of what the one who asks may read."""
    if request.replica_id != CONSUMER:
        return partition.log.log_end_offset
    return partition.last_stable_offset if request.isolation_level == READ_COMMITTED else partition.high_watermark


def _check_end(partition: Partition, end: int, version: int) -> None:
    """Refuse to tell an end that may be below one that was told by the leader before (KIP-207).

    Raises:
        KafkaError: OFFSET_NOT_AVAILABLE, or what old clients know instead.
    """
    if partition.replicas is not None and end < partition.replicas.epoch_start_offset:
        has_code = version >= FIRST_OF_NOT_AVAILABLE
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE if has_code else ErrorCode.LEADER_NOT_AVAILABLE)


def _refusal(check: Callable[[], None]) -> KafkaError | None:
    try:
        check()
    except KafkaError as refused:
        return refused
    return None


def _found(wanted: ListOffsetsPartition, found: tuple[int, int, int] | None) -> ListOffsetsPartitionResponse:
    timestamp, offset, leader_epoch = found or (NOT_KNOWN, NOT_KNOWN, NOT_KNOWN)
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )


def _refused(wanted: ListOffsetsPartition, refused: KafkaError) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=wanted.partition_index, error_code=refused.code)


class _Partition(Protocol):
    partition_index: int


_P = TypeVar("_P", bound=_Partition)


class _Topic(Protocol[_P]):
    name: str
    partitions: list[_P]


def by_topic(topics: Iterable[_Topic[_P]]) -> Iterator[tuple[str, Iterable[_P]]]:
    """Yield each topic once with its partitions, each once: the last wish counts, as in Kafka's maps of a request."""
    found: dict[str, dict[int, _P]] = {}
    for topic in topics:
        for wanted in topic.partitions:
            found.setdefault(topic.name, {})[wanted.partition_index] = wanted
    for name, partitions in found.items():
        yield name, partitions.values()


def _check_timestamp(version: int, timestamp: int) -> None:
    """Refuse a special timestamp that nobody has defined, or only in a later version of the request."""
    if version < _FIRST_WITH_ONE_OFFSET:
        return  # there, what nobody has defined is a time before all others
    if timestamp < EARLIEST_PENDING_UPLOAD or version < FIRST_VERSION_OF.get(timestamp, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
