"""OffsetCommit (0-10) and OffsetDelete (0): how far groups have read. OffsetFetch has its own module.

Partitions that are not there are refused one by one, whatever else a request asks for. Version notes: v0 was meant for
offsets in ZooKeeper and is a commit like any other here, by somebody outside the group who has not looked for the
coordinator before; v1 may say when an offset was
committed; topics have ids instead of names from v10 of OffsetCommit on; a commit to a group that is not there is
ILLEGAL_GENERATION before v9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from odradek.broker.coordinator.background import Slices
from odradek.broker.groups.administration import Removed, remove_offsets
from odradek.broker.groups.classic.values import CommitRequest
from odradek.broker.groups.commits import check_commit
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.records import NO_TIMESTAMP, OffsetAndMetadata, OffsetKey, OffsetRecord, encode_commit
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

FIRST_BY_ID = 10
FIRST_WITH_COORDINATOR = 1
"""Clients of v0 look for no coordinator, which would make its topic."""
_NO_RETENTION = -1

MAX_OFFSETS = 25_000
"""Of one commit; so many do not fit max.message.bytes of the topic unless somebody has made that larger."""
_PER_SLICE = 50
"""Partitions looked at before others get their turn."""


class _Place(NamedTuple):
    """A partition of a commit that is there, and where its result goes."""

    topic: TopicPartitions
    wanted: OffsetCommitRequestPartition
    result: OffsetCommitResponsePartition


class _Commit(NamedTuple):
    """A request that is prepared."""

    response: OffsetCommitResponse
    """With errors for partitions that are not there."""
    places: list[_Place]
    too_large: list[OffsetCommitResponsePartition]
    """Results of partitions whose metadata is larger than allowed."""
    offsets: list[OffsetRecord]


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
        if version < FIRST_WITH_COORDINATOR:
            return and_then(self._coordinator.prepare(), lambda _: self._answer(request, version))
        return self._answer(request, version)

    def _answer(
        self, request: OffsetCommitRequest, version: int
    ) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
        count = sum([len(topic.partitions) for topic in request.topics])
        prepared = self._coordinator.background.result_of(count, self._prepare(request, version))
        return and_then(prepared, lambda commit: self._commit(request, commit, version))

    def _prepare(self, request: OffsetCommitRequest, version: int) -> Slices[_Commit]:
        """Find the partitions and make records for them; whether they may be committed is decided after that."""
        commit = _Commit(OffsetCommitResponse(), [], [], [])
        for wanted in request.topics:
            topic = self._partitions.find(wanted.topic_id if version >= FIRST_BY_ID else wanted.name)
            if topic is not None and not wanted.partitions:
                continue  # Kafka does not mention it either
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if topic is None and version >= FIRST_BY_ID:
                unknown = ErrorCode.UNKNOWN_TOPIC_ID
            results = OffsetCommitResponseTopic(name=wanted.name, topic_id=wanted.topic_id)
            commit.response.topics.append(results)
            for count, partition in enumerate(wanted.partitions, 1):
                result = OffsetCommitResponsePartition(partition_index=partition.partition_index)
                results.partitions.append(result)
                if topic is None or not 0 <= partition.partition_index < topic.count:
                    result.error_code = unknown
                else:
                    commit.places.append(_Place(topic, partition, result))
                if count % _PER_SLICE == 0:
                    yield
        if len(commit.places) > MAX_OFFSETS:
            return commit
        now, retention_ms, group_id = self._clock.now_ms(), request.retention_time_ms, request.group_id
        expires = NO_TIMESTAMP if retention_ms == _NO_RETENTION else now + retention_ms
        for count, (topic, partition, result) in enumerate(commit.places, 1):
            metadata = partition.committed_metadata or ""
            if len(metadata) > self._max_metadata:
                commit.too_large.append(result)
                continue
            at = partition.commit_timestamp if partition.commit_timestamp >= 0 else now
            committed = OffsetAndMetadata(
                partition.committed_offset, partition.committed_leader_epoch, metadata, at, expires, topic.topic_id
            )
            commit.offsets.append(encode_commit(OffsetKey(group_id, topic.name, partition.partition_index), committed))
            if count % _PER_SLICE == 0:
                yield
        return commit

    def _commit(
        self, request: OffsetCommitRequest, commit: _Commit, version: int
    ) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
        if not commit.places:
            return commit.response
        outcome = self._written(request, commit, version)
        if isinstance(outcome, Deferred):
            return outcome.then(lambda code: _finish(commit, code))
        return _finish(commit, outcome)

    def _written(self, request: OffsetCommitRequest, commit: _Commit, version: int) -> ErrorCode | Deferred[ErrorCode]:
        group_id = request.group_id
        who = CommitRequest(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
        try:
            shard = self._coordinator.shard(group_id)
            rule = check_commit(shard, group_id, who, version)
        except KafkaError as refused:
            return refused.code
        for place in commit.places:  # one partition that is not the member's refuses them all
            error = rule.error_of(place.topic.topic_id, place.wanted.partition_index)
            if error is not ErrorCode.NONE:
                return error
        if len(commit.places) > MAX_OFFSETS:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        for result in commit.too_large:
            result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        return shard.write_offsets(commit.offsets) if commit.offsets else ErrorCode.NONE

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

        told = [topic for topic in request.topics if topic.partitions or self._partitions.find(topic.name) is None]

        def respond(results: ErrorCode | Removed) -> OffsetDeleteResponse:
            return _removed(told, results)

        return outcome.then(respond) if isinstance(outcome, Deferred) else respond(outcome)

    def _is_there(self, name: str, index: int) -> bool:
        topic = self._partitions.find(name)
        return topic is not None and 0 <= index < topic.count


def _removed(topics: Sequence[OffsetDeleteRequestTopic], results: ErrorCode | Removed) -> OffsetDeleteResponse:
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
            for topic in topics
        ]
    )


def _finish(commit: _Commit, code: ErrorCode) -> OffsetCommitResponse:
    if code is not ErrorCode.NONE:
        for place in commit.places:
            if place.result.error_code == ErrorCode.NONE:
                place.result.error_code = code
    return commit.response
