"""OffsetCommit (0-10) and OffsetDelete (0): how far groups have read. OffsetFetch has its own module.

Partitions that are not there are refused one by one, whatever else a request asks for. Version notes: v0 was meant for
offsets in ZooKeeper and is a commit like any other here, by somebody outside the group; v1 may say when an offset was
committed; topics have ids instead of names from v10 of OffsetCommit on; a commit to a group that is not there is
ILLEGAL_GENERATION before v9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from odradek.broker.groups.administration import Removed, remove_offsets
from odradek.broker.groups.classic.values import CommitRequest
from odradek.broker.groups.commits import check_commit, commit
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.records import NO_TIMESTAMP, Committed
from odradek.broker.partitions.table import PartitionTable, TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

FIRST_BY_ID = 10
_NO_RETENTION = -1

Offsets = list[tuple[str, int, Committed]]


class _Place(NamedTuple):
    """A partition of a commit that is there, and where its result goes."""

    topic: TopicPartitions
    wanted: OffsetCommitRequestPartition
    result: OffsetCommitResponsePartition


class OffsetCommitHandlers:
    """Answers requests that change committed offsets."""

    def __init__(
        self, coordinator: GroupCoordinator, partitions: PartitionTable, clock: Clock, max_metadata: int
    ) -> None:
        """`max_metadata` is offset.metadata.max.bytes (which Kafka counts in characters)."""
        self._coordinator = coordinator
        self._partitions = partitions
        self._clock = clock
        self._max_metadata = max_metadata

    # OffsetCommit

    def offset_commit(
        self, context: RequestContext, request: OffsetCommitRequest
    ) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
        """Answer OffsetCommit once the offsets are safe."""
        version = context.api_version
        response = OffsetCommitResponse()
        places: list[_Place] = []
        for wanted in request.topics:
            topic = self._partitions.find(wanted.topic_id if version >= FIRST_BY_ID else wanted.name)
            response.topics.append(_place(wanted, topic, version, places))
        if not places:
            return response
        outcome = self._commit(request, places, version)
        return then(outcome, lambda code: _finish(response, places, code))

    def _commit(
        self, request: OffsetCommitRequest, places: Sequence[_Place], version: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        group_id = request.group_id
        who = CommitRequest(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        try:
            shard = self._coordinator.shard(group_id)
            rule = check_commit(shard, group_id, who, version)
        except KafkaError as refused:
            return refused.code
        for place in places:  # one partition that is not the member's refuses them all
            error = rule.error_of(place.topic.topic_id, place.wanted.partition_index)
            if error is not ErrorCode.NONE:
                return error
        offsets = self._checked(places, request.retention_time_ms)
        return commit(shard, group_id, offsets) if offsets else ErrorCode.NONE

    def _checked(self, places: Sequence[_Place], offsets_retention_ms: int) -> Offsets:
        now = self._clock.now_ms()
        expires = NO_TIMESTAMP if offsets_retention_ms == _NO_RETENTION else now + offsets_retention_ms
        offsets: Offsets = []
        for topic, wanted, result in places:
            metadata = wanted.committed_metadata or ""
            if len(metadata) > self._max_metadata:
                result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            at = wanted.commit_timestamp if wanted.commit_timestamp >= 0 else now
            committed = Committed(
                wanted.committed_offset, wanted.committed_leader_epoch, metadata, at, expires, topic.topic_id
            )
            offsets.append((topic.name, wanted.partition_index, committed))
        return offsets

    # OffsetDelete

    def offset_delete(
        self, _context: RequestContext, request: OffsetDeleteRequest
    ) -> OffsetDeleteResponse | Deferred[OffsetDeleteResponse]:
        """Answer OffsetDelete once the offsets are gone for sure."""
        wanted = [(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
        known = [(name, index) for name, index in wanted if self._is_there(name, index)]
        if not request.group_id:
            return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        try:
            outcome = remove_offsets(self._coordinator.shard(request.group_id), request.group_id, known)
        except KafkaError as refused:
            return OffsetDeleteResponse(error_code=refused.code)

        def respond(results: ErrorCode | Removed) -> OffsetDeleteResponse:
            return _removed(request, results)

        return outcome.then(respond) if isinstance(outcome, Deferred) else respond(outcome)

    def _is_there(self, name: str, index: int) -> bool:
        topic = self._partitions.find(name)
        return topic is not None and 0 <= index < topic.count


def _removed(request: OffsetDeleteRequest, results: ErrorCode | Removed) -> OffsetDeleteResponse:
    if isinstance(results, ErrorCode):
        return OffsetDeleteResponse(error_code=results)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=results.get((topic.name, partition.partition_index), unknown),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _place(
    wanted: OffsetCommitRequestTopic, topic: TopicPartitions | None, version: int, places: list[_Place]
) -> OffsetCommitResponseTopic:
    """Return the results of a topic, with errors for what is not there; the rest is added to `places`."""
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None and version >= FIRST_BY_ID:
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
    results = OffsetCommitResponseTopic(name=wanted.name, topic_id=wanted.topic_id)
    for partition in wanted.partitions:
        result = OffsetCommitResponsePartition(partition_index=partition.partition_index)
        results.partitions.append(result)
        if topic is None or not 0 <= partition.partition_index < topic.count:
            result.error_code = unknown
        else:
            places.append(_Place(topic, partition, result))
    return results


def _finish(response: OffsetCommitResponse, places: Sequence[_Place], code: ErrorCode) -> OffsetCommitResponse:
    if code is not ErrorCode.NONE:
        for place in places:
            if place.result.error_code == ErrorCode.NONE:
                place.result.error_code = code
    return response
