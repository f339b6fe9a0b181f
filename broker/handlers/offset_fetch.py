"""OffsetFetch (0-10): the committed offsets of groups.

A group or partition that is not known has the offset -1, which is no error. Version notes: in v0, which was meant for
offsets in ZooKeeper, it is UNKNOWN_TOPIC_OR_PARTITION, and the offsets are those that all versions commit here; null
asks for all topics from v2, which also has an error for the request; leader epochs come with v5; v7 can wait for
transactions to end (UNSTABLE_OFFSET_COMMIT meanwhile, KIP-447); several groups at once from v8 (KIP-709); topic ids
from v10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple
from uuid import UUID

from odradek.broker.coordinator.background import Slices
from odradek.broker.groups.commits import check_fetch
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import NO_LEADER_EPOCH, OffsetAndMetadata
from odradek.broker.groups.visible import VisibleOffsets
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then, then
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
_PER_SLICE = 50
"""Partitions answered for before others get their turn."""
_FIRST_WITH_ERROR = 2
_FIRST_WITH_COORDINATOR = 1
"""Clients of v0 look for no coordinator, which would make its topic."""
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


class _Topic(NamedTuple):
    """A topic that offsets are asked for in."""

    name: str | None
    """None: there is no topic of that id."""
    asked_name: str
    topic_id: UUID


class _Wanted(NamedTuple):
    """Partitions of a topic that offsets are asked for in."""

    topic: _Topic
    partitions: Collection[int]


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
            outcome = self._coordinator.background.each(
                request.groups, lambda group: self._group(group, version, request.require_stable)
            )
            return then(outcome, lambda groups: OffsetFetchResponse(groups=groups))
        topics = request.topics
        only = OffsetFetchRequestGroup(
            group_id=request.group_id,
            topics=None
            if topics is None
            else [OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes) for t in topics],
        )
        there = self._coordinator.prepare() if version < _FIRST_WITH_COORDINATOR else None
        found = and_then(there, lambda _: self._group(only, version, request.require_stable))
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
        if require_stable:
            source = _Source(group.group_id, shard.offsets, shard.offsets.is_pending)
        wanted = self._everything(source, version) if group.topics is None else self._named(group.topics, version)
        count = sum(len(partitions) for _, partitions in wanted)

        def answer(topics: list[OffsetFetchResponseTopics], error: ErrorCode) -> OffsetFetchResponseGroup:
            if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                error = ErrorCode.NOT_COORDINATOR  # which consumers before 3.9 understand, too
            if error is not ErrorCode.NONE:
                topics = []
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error, topics=topics)

        def work() -> Slices[tuple[list[OffsetFetchResponseTopics], ErrorCode | Deferred[ErrorCode]]]:
            topics = yield from _shown(source, wanted)
            return topics, shard.when_all_safe() if require_stable else ErrorCode.NONE

        outcome = self._coordinator.background.result_of(count, work())
        return and_then(outcome, lambda found: then(found[1], lambda error: answer(found[0], error)))

    def _named(self, topics: Iterable[OffsetFetchRequestTopics], version: int) -> list[_Wanted]:
        """Return what is asked for; a partition that comes twice is answered once."""
        wanted: list[_Wanted] = []
        seen: dict[str | UUID, dict[int, None]] = {}
        for topic in topics:
            name: str | None = topic.name
            if version >= _FIRST_BY_ID:
                known = self._partitions.find(topic.topic_id)
                name = None if known is None else known.name
            place = topic.topic_id if name is None else name
            partitions = seen.get(place)
            if partitions is None:
                partitions = seen[place] = {}
                wanted.append(_Wanted(_Topic(name, topic.name, topic.topic_id), partitions))
            partitions.update(dict.fromkeys(topic.partition_indexes))
        return wanted

    def _everything(self, source: _Source, version: int) -> list[_Wanted]:
        wanted: list[_Wanted] = []
        for name, partitions in source.offsets.partitions_of(source.group_id).items():
            topic_id = self._id_of(name)
            if version < _FIRST_BY_ID or topic_id != ZERO_UUID:  # a topic that is gone cannot be named
                wanted.append(_Wanted(_Topic(name, name, topic_id), partitions))
        return wanted

    def _id_of(self, name: str) -> UUID:
        topic = self._partitions.find(name)
        return ZERO_UUID if topic is None else topic.topic_id


def _shown(source: _Source, wanted: Iterable[_Wanted]) -> Slices[list[OffsetFetchResponseTopics]]:
    """Return the offsets as they are told."""
    topics: list[OffsetFetchResponseTopics] = []
    for topic, indexes in wanted:
        partitions: list[OffsetFetchResponsePartitions] = []
        for index in indexes:
            if topic.name is None:
                partitions.append(_none(index, ErrorCode.UNKNOWN_TOPIC_ID))
            else:
                partitions.append(source.shown(topic.name, index))
            if len(partitions) % _PER_SLICE == 0:
                yield
        topics.append(
            OffsetFetchResponseTopics(
                name=topic.asked_name if topic.name is None else topic.name,
                topic_id=topic.topic_id,
                partitions=partitions,
            )
        )
        yield
    return topics


def _old_response(found: OffsetFetchResponseGroup, asked: OffsetFetchRequestGroup, version: int) -> OffsetFetchResponse:
    """Return the answer for the only group, as it is before v8."""
    error = found.error_code
    if error and version < _FIRST_WITH_ERROR:
        assert asked.topics is not None  # null came with the error field
        found.topics = [_refused(topic, error) for topic in asked.topics]
    if version < _FIRST_FROM_KAFKA:
        _name_missing(found.topics)
    return OffsetFetchResponse(error_code=error, topics=[_old_form(topic) for topic in found.topics])


def _partition(index: int, committed: OffsetAndMetadata | None) -> OffsetFetchResponsePartitions:
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
