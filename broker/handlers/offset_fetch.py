"""OffsetFetch (0-10): the committed offsets of groups.

A group or partition that is not known has the offset -1, which is no error. Version notes: in v0, which was meant for
offsets in ZooKeeper, it is UNKNOWN_TOPIC_OR_PARTITION, and the offsets are those that all versions commit here; null
asks for all topics from v2, which also has an error for the request; leader epochs come with v5; v7 can wait for
transactions to end (UNSTABLE_OFFSET_COMMIT meanwhile, KIP-447); several groups at once from v8 (KIP-709); topic ids
from v10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from odradek.broker.groups.commits import check_fetch
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import NO_LEADER_EPOCH, Committed
from odradek.broker.groups.visible import VisibleOffsets
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, gather, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.protocol.uuids import ZERO_UUID

NO_OFFSET = -1
_FIRST_WITH_SEVERAL = 8
_FIRST_BY_ID = 10
_FIRST_WITH_ERROR = 2
_FIRST_FROM_KAFKA = 1
"""Before, offsets were in ZooKeeper, and to have none was an error."""


def _never_pending(_group: str, _topic: str, _index: int) -> bool:
    return False


class _Source(NamedTuple):
    """Where the offsets of a group come from, and which of them are not to be told yet."""

    group_id: str
    offsets: OffsetStore | VisibleOffsets
    is_pending: Callable[[str, str, int], bool] = _never_pending

    def shown(self, topic: str, index: int) -> OffsetFetchResponsePartitions:
        """Return an offset as it is told."""
        if self.is_pending(self.group_id, topic, index):
            return _none(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return _partition(index, self.offsets.get(self.group_id, topic, index))


class OffsetFetchHandler:
    """Answers OffsetFetch."""

    def __init__(self, coordinator: GroupCoordinator, partitions: PartitionTable) -> None:
        self._coordinator = coordinator
        self._partitions = partitions

    def offset_fetch(
        self, context: RequestContext, request: OffsetFetchRequest
    ) -> OffsetFetchResponse | Deferred[OffsetFetchResponse]:
        """Answer OffsetFetch."""
        version = context.api_version
        if version >= _FIRST_WITH_SEVERAL:
            outcome = gather([self._group(group, version, request.require_stable) for group in request.groups])
            return then(outcome, lambda groups: OffsetFetchResponse(groups=groups))
        topics = request.topics
        only = OffsetFetchRequestGroup(
            group_id=request.group_id,
            topics=None
            if topics is None
            else [OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes) for t in topics],
        )
        found = self._group(only, version, request.require_stable)
        return then(found, lambda group: _old_response(group, only, version))

    def _group(
        self, group: OffsetFetchRequestGroup, version: int, require_stable: bool
    ) -> OffsetFetchResponseGroup | Deferred[OffsetFetchResponseGroup]:
        """Return what is safe; who asks for what is stable is told the newest, once that is safe."""
        try:
            shard = self._coordinator.shard(group.group_id)
            check_fetch(shard, group.group_id, group.member_id, group.member_epoch)
        except KafkaError as refused:
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=refused.code)
        source = _Source(group.group_id, shard.visible)
        outcome: ErrorCode | Deferred[ErrorCode] = ErrorCode.NONE
        if require_stable:
            source, outcome = _Source(group.group_id, shard.offsets, shard.offsets.is_pending), shard.when_all_safe()
        if group.topics is None:
            found = self._all(source, version)
        else:
            found = [self._topic(source, topic, version) for topic in group.topics]

        def answer(error: ErrorCode) -> OffsetFetchResponseGroup:
            topics = found if error is ErrorCode.NONE else []
            if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                error = ErrorCode.NOT_COORDINATOR  # which consumers before 3.9 understand, too
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error, topics=topics)

        return then(outcome, answer)

    def _topic(self, source: _Source, topic: OffsetFetchRequestTopics, version: int) -> OffsetFetchResponseTopics:
        name = topic.name
        if version >= _FIRST_BY_ID:
            known = self._partitions.find(topic.topic_id)
            if known is None:
                return _refused(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            name = known.name
        partitions = [source.shown(name, index) for index in topic.partition_indexes]
        return OffsetFetchResponseTopics(name=name, topic_id=topic.topic_id, partitions=partitions)

    def _all(self, source: _Source, version: int) -> list[OffsetFetchResponseTopics]:
        topics = []
        for name, partitions in source.offsets.all_of(source.group_id).items():
            topic_id = self._id_of(name)
            if version >= _FIRST_BY_ID and topic_id == ZERO_UUID:
                continue  # a topic that is gone cannot be named
            found = [source.shown(name, index) for index in partitions]
            topics.append(OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=found))
        return topics

    def _id_of(self, name: str) -> UUID:
        topic = self._partitions.find(name)
        return ZERO_UUID if topic is None else topic.topic_id


def _old_response(found: OffsetFetchResponseGroup, asked: OffsetFetchRequestGroup, version: int) -> OffsetFetchResponse:
    """Return the answer for the only group, as it is before v8."""
    error = found.error_code
    if error and version < _FIRST_WITH_ERROR:
        assert asked.topics is not None  # null came with the error field
        found.topics = [_refused(topic, error) for topic in asked.topics]
    if version < _FIRST_FROM_KAFKA:
        _name_missing(found.topics)
    return OffsetFetchResponse(error_code=error, topics=[_old_form(topic) for topic in found.topics])


def _partition(index: int, committed: Committed | None) -> OffsetFetchResponsePartitions:
    if committed is None:
        return _none(index, ErrorCode.NONE)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _none(index: int, code: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata="",
        error_code=code,
    )


def _refused(topic: OffsetFetchRequestTopics, code: int) -> OffsetFetchResponseTopics:
    partitions = [_none(index, code) for index in topic.partition_indexes]
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _name_missing(topics: Iterable[OffsetFetchResponseTopics]) -> None:
    """Give the error of v0 to what has no offset and no other error."""
    for topic in topics:
        for partition in topic.partitions:
            if partition.committed_offset == NO_OFFSET and not partition.error_code:
                partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _old_form(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    """Return the results of a topic as they stand in answers before v8."""
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=partition.partition_index,
                committed_offset=partition.committed_offset,
                committed_leader_epoch=partition.committed_leader_epoch,
                metadata=partition.metadata,
                error_code=partition.error_code,
            )
            for partition in topic.partitions
        ],
    )
