"""OffsetFetch (0-10): the committed offsets of groups.

A group or partition that is not known has the offset -1, which is no error. Version notes: in v0, which was meant for
offsets in ZooKeeper, it is UNKNOWN_TOPIC_OR_PARTITION, and the offsets are those that all versions commit here; null
asks for all topics from v2, which also has an error for the request; leader epochs come with v5; v7 can wait for
transactions to end (UNSTABLE_OFFSET_COMMIT meanwhile, KIP-447); several groups at once from v8 (KIP-709); topic ids
from v10.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from broker.groups.commits import check_fetch
from broker.groups.coordinator import GroupCoordinator
from broker.groups.records import NO_LEADER_EPOCH, Committed
from broker.groups.shard import Shard
from broker.partitions.table import PartitionTable
from broker.runtime.context import RequestContext
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.offset_fetch import (
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
from protocol.uuids import ZERO_UUID

NO_OFFSET = -1
_FIRST_WITH_SEVERAL = 8
_FIRST_BY_ID = 10
_FIRST_WITH_ERROR = 2
_FIRST_FROM_KAFKA = 1
"""Before, offsets were in ZooKeeper, and to have none was an error."""


class OffsetFetchHandler:
    """Answers OffsetFetch."""

    def __init__(self, coordinator: GroupCoordinator, partitions: PartitionTable) -> None:
        self._coordinator = coordinator
        self._partitions = partitions

    def offset_fetch(self, context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Answer OffsetFetch."""
        version = context.api_version
        if version >= _FIRST_WITH_SEVERAL:
            groups = [self._group(group, version, request.require_stable) for group in request.groups]
            return OffsetFetchResponse(groups=groups)
        topics = request.topics
        only = OffsetFetchRequestGroup(
            group_id=request.group_id,
            topics=None
            if topics is None
            else [OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes) for t in topics],
        )
        found = self._group(only, version, request.require_stable)
        error = found.error_code
        if error and version < _FIRST_WITH_ERROR:
            assert only.topics is not None  # null came with the error field
            found.topics = [_refused(topic, error) for topic in only.topics]
        if version < _FIRST_FROM_KAFKA:
            _name_missing(found.topics)
        return OffsetFetchResponse(error_code=error, topics=[_old_form(topic) for topic in found.topics])

    def _group(self, group: OffsetFetchRequestGroup, version: int, require_stable: bool) -> OffsetFetchResponseGroup:
        try:
            shard = self._coordinator.shard(group.group_id)
            check_fetch(shard, group.group_id, group.member_id, group.member_epoch)
        except KafkaError as refused:
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=refused.code)
        if group.topics is None:
            found = self._all(shard, group.group_id, version, require_stable)
        else:
            found = [self._topic(shard, group.group_id, t, version, require_stable) for t in group.topics]
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=found)

    def _topic(
        self, shard: Shard, group_id: str, topic: OffsetFetchRequestTopics, version: int, require_stable: bool
    ) -> OffsetFetchResponseTopics:
        name = topic.name
        if version >= _FIRST_BY_ID:
            known = self._partitions.find(topic.topic_id)
            if known is None:
                return _refused(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            name = known.name
        partitions = []
        for index in topic.partition_indexes:
            if require_stable and shard.offsets.is_pending(group_id, name, index):
                partitions.append(_none(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            else:
                partitions.append(_partition(index, shard.offsets.get(group_id, name, index)))
        return OffsetFetchResponseTopics(name=name, topic_id=topic.topic_id, partitions=partitions)

    def _all(self, shard: Shard, group_id: str, version: int, require_stable: bool) -> list[OffsetFetchResponseTopics]:
        topics = []
        for name, partitions in shard.offsets.all_of(group_id).items():
            topic_id = self._id_of(name)
            if version >= _FIRST_BY_ID and topic_id == ZERO_UUID:
                continue  # a topic that is gone cannot be named
            found = [
                _none(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                if require_stable and shard.offsets.is_pending(group_id, name, index)
                else _partition(index, committed)
                for index, committed in partitions.items()
            ]
            topics.append(OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=found))
        return topics

    def _id_of(self, name: str) -> UUID:
        topic = self._partitions.find(name)
        return ZERO_UUID if topic is None else topic.topic_id


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
