"""Applying the records of topics and partitions to an image.

Owns: the topics in change between two images, and what is different about them in the end. Must not know: framing,
files, other records. Effects follow Kafka's own image (`TopicDelta`, `PartitionRegistration.merge`; KIP-631,
KIP-966).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.image import MIGRATING_DIRECTORY, MetadataImage, PartitionImage, PartitionName, TopicImage
from odradek.protocol.messages.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

_NO_LEADER_CHANGE: Final = -2
_NO_RECOVERY_CHANGE: Final = -1


class FinishedTopics(NamedTuple):
    """All topics after the change, and how they differ from before."""

    by_name: Mapping[str, TopicImage]
    by_id: Mapping[UUID, TopicImage]
    created: tuple[TopicImage, ...]
    deleted: tuple[TopicImage, ...]
    created_partitions: tuple[PartitionName, ...]
    changed_partitions: tuple[PartitionName, ...]


class _Draft:
    """A topic in change."""

    __slots__ = ("before", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: UUID, before: TopicImage | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.before = before
        self.partitions: dict[int, PartitionImage] = dict(enumerate(before.partitions)) if before else {}


class TopicDrafts:
    """The topics that records have touched since an image."""

    def __init__(self, base: MetadataImage) -> None:
        self._base = base
        self._drafts: dict[UUID, _Draft] = {}
        self._deleted: dict[UUID, TopicImage] = {}
        self._names: dict[str, UUID | None] = {}

    def create(self, record: TopicRecord) -> None:
        """Begin a topic without partitions."""
        known = self._id_of(record.name)
        if known is not None:
            raise CorruptMetadataError(f"two topics of the name {record.name!r}: {known} and {record.topic_id}")
        self._drafts[record.topic_id] = _Draft(record.name, record.topic_id, None)
        self._names[record.name] = record.topic_id

    def delete(self, record: RemoveTopicRecord) -> str:
        """Drop a topic and return its name."""
        draft = self._draft(record.topic_id, "RemoveTopicRecord")
        del self._drafts[record.topic_id]
        if draft.before is not None:
            self._deleted[record.topic_id] = draft.before
        self._names[draft.name] = None
        return draft.name

    def set_partition(self, record: PartitionRecord) -> None:
        """Add or replace a partition."""
        self._draft(record.topic_id, "PartitionRecord").partitions[record.partition_id] = PartitionImage(
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            leader_recovery_state=record.leader_recovery_state,
            directories=tuple(record.directories) or (MIGRATING_DIRECTORY,) * len(record.replicas),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def change_partition(self, record: PartitionChangeRecord) -> None:
        """Change some of a partition's properties."""
        draft = self._draft(record.topic_id, "PartitionChangeRecord")
        before = draft.partitions.get(record.partition_id)
        if before is None:
            raise CorruptMetadataError(
                f"a PartitionChangeRecord names {draft.name}-{record.partition_id}, which is not there"
            )
        draft.partitions[record.partition_id] = merge(before, record)

    def clear_elr(self, record: ClearElrRecord) -> None:
        """Forget the eligible leaders of a topic, or of all topics if it names none."""
        if record.topic_name:
            topic_id = self._id_of(record.topic_name)
            ids = [] if topic_id is None else [topic_id]
        else:
            ids = [i for i in {**self._base.topics_by_id, **self._drafts} if i not in self._deleted]
        for topic_id in ids:
            partitions = self._draft(topic_id, "ClearElrRecord").partitions
            for index, partition in partitions.items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partitions[index] = partition._replace(
                        eligible_leader_replicas=(),
                        last_known_elr=(),
                        partition_epoch=partition.partition_epoch + 1,
                    )

    def finish(self) -> FinishedTopics:
        """Return the topics after the records; raise CorruptMetadataError if one lacks a partition in between."""
        topics = {draft.topic_id: _freeze(draft) for draft in self._drafts.values()}
        by_name, by_id = self._base.topics_by_name, self._base.topics_by_id
        if topics or self._deleted:
            by_id = MappingProxyType({i: t for i, t in {**by_id, **topics}.items() if i not in self._deleted})
            names = dict(by_name)
            for topic in self._deleted.values():
                del names[topic.name]
            names.update((topic.name, topic) for topic in topics.values())
            by_name = MappingProxyType(names)
        created_partitions: list[PartitionName] = []
        changed_partitions: list[PartitionName] = []
        for draft in self._drafts.values():
            if draft.before is None:
                continue
            topic, before = topics[draft.topic_id], draft.before.partitions
            for index, partition in enumerate(topic.partitions):
                if index >= len(before):
                    created_partitions.append(PartitionName(topic, index))
                elif partition != before[index]:
                    changed_partitions.append(PartitionName(topic, index))
        return FinishedTopics(
            by_name=by_name,
            by_id=by_id,
            created=tuple(topics[draft.topic_id] for draft in self._drafts.values() if draft.before is None),
            deleted=tuple(self._deleted.values()),
            created_partitions=tuple(created_partitions),
            changed_partitions=tuple(changed_partitions),
        )

    def _id_of(self, name: str) -> UUID | None:
        if name in self._names:
            return self._names[name]
        topic = self._base.topics_by_name.get(name)
        return topic.topic_id if topic else None

    def _draft(self, topic_id: UUID, what: str) -> _Draft:
        draft = self._drafts.get(topic_id)
        if draft is None:
            topic = None if topic_id in self._deleted else self._base.topics_by_id.get(topic_id)
            if topic is None:
                raise CorruptMetadataError(f"a {what} names topic id {topic_id}, which no topic has")
            draft = _Draft(topic.name, topic_id, topic)
            self._drafts[topic_id] = draft
        return draft


def merge(partition: PartitionImage, change: PartitionChangeRecord) -> PartitionImage:
    """Return the partition after a change: the partition epoch rises by one, the leader epoch if a leader is named."""
    elected = change.leader != _NO_LEADER_CHANGE
    recovery = change.leader_recovery_state
    return PartitionImage(
        replicas=_changed(partition.replicas, change.replicas),
        isr=_changed(partition.isr, change.isr),
        leader=change.leader if elected else partition.leader,
        leader_epoch=partition.leader_epoch + elected,
        partition_epoch=partition.partition_epoch + 1,
        removing_replicas=_changed(partition.removing_replicas, change.removing_replicas),
        adding_replicas=_changed(partition.adding_replicas, change.adding_replicas),
        leader_recovery_state=partition.leader_recovery_state if recovery == _NO_RECOVERY_CHANGE else recovery,
        directories=partition.directories if change.directories is None else tuple(change.directories),
        eligible_leader_replicas=_changed(partition.eligible_leader_replicas, change.eligible_leader_replicas),
        last_known_elr=_changed(partition.last_known_elr, change.last_known_elr),
    )


def _changed(before: tuple[int, ...], now: list[int] | None) -> tuple[int, ...]:
    return before if now is None else tuple(now)


def _freeze(draft: _Draft) -> TopicImage:
    try:
        partitions = tuple(draft.partitions[index] for index in range(len(draft.partitions)))
    except KeyError as error:
        raise CorruptMetadataError(
            f"topic {draft.name!r} has partitions {sorted(draft.partitions)}, and {error.args[0]} is missing"
        ) from error
    if draft.before is not None and draft.before.partitions == partitions:
        return draft.before
    return TopicImage(draft.name, draft.topic_id, partitions)
