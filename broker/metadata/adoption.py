"""Metadata for partitions that nobody describes: those that Kafka with ZooKeeper left, found in their directories.

Owns: which topics, partitions and configs come out of what was found, and what cannot be told. Pure. Must not know:
files. ZooKeeper kept topics, configs and producer ids elsewhere, so

- a topic has the id that its directories say (KIP-516, since Kafka 2.8), else a new one;
- partitions are led in an epoch after every one that wrote to them;
- nothing is deleted or compacted until somebody says so: retention and compaction are switched off by configs of the
  topic, which anybody can see and change, and which Apache Kafka follows, too;
- the producer ids that were ever seen are not given out again;
- a partition that is missing between others was on another broker: it stays without a leader, as it was while that
  broker was away. Kafka's own topics are an exception: their missing partitions begin empty, so that every group has a
  coordinator.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.features import partition_record_version
from odradek.broker.metadata.image import NO_LEADER, UNASSIGNED_DIRECTORY, ResourceType
from odradek.broker.metadata.internal_topics import InternalTopic
from odradek.broker.metadata.producer_ids import BLOCK_SIZE
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, ProducerIdsRecord, TopicRecord
from odradek.storage.names import TopicPartition
from odradek.storage.opening.survey import PartitionSurvey

KEEP_EVERYTHING: Final[Mapping[str, str]] = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""Configs of a topic whose own ones are not known."""
REMOTE_LOG_METADATA_TOPIC: Final = "__remote_log_metadata"


class Adoption(NamedTuple):
    """Records to be written as one batch, and what there is to say of them."""

    records: tuple[MetadataRecord, ...]
    topics: int
    partitions: int
    """How many are served with what was found."""
    leaderless: tuple[TopicPartition, ...]
    """Those that must have been elsewhere."""
    begun: tuple[TopicPartition, ...]
    """Missing ones of internal topics, which begin empty."""


def plan_adoption(
    found: Mapping[TopicPartition, PartitionSurvey],
    node_id: int,
    internal: Mapping[str, InternalTopic],
    features: Mapping[str, int],
    draw_id: Callable[[], UUID],
) -> Adoption:
    """Return the metadata of the partitions that were found.

    Raises UnsupportedMetadataError where directories of one topic have different topic ids, or something is in tiered
    storage.
    """
    if any(partition.topic == REMOTE_LOG_METADATA_TOPIC for partition in found):
        raise UnsupportedMetadataError(
            f"there are partitions of {REMOTE_LOG_METADATA_TOPIC}: a part of the data may be in tiered storage, which"
            " this version of odradek does not read. Bring it back with the Apache Kafka that wrote it"
        )
    version = partition_record_version(features)
    records: list[MetadataRecord] = []
    leaderless: list[TopicPartition] = []
    begun: list[TopicPartition] = []
    topics = 0
    for topic, group in groupby(sorted(found), key=lambda partition: partition.topic):
        topics += 1
        indexes = [partition.partition for partition in group]
        topic_id = _topic_id(topic, [found[TopicPartition(topic, index)].topic_id for index in indexes], draw_id)
        records.append(make_record(TopicRecord(name=topic, topic_id=topic_id)))
        for index in range(_count(indexes, internal.get(topic))):
            survey = found.get(TopicPartition(topic, index))
            if survey is None:
                (begun if topic in internal else leaderless).append(TopicPartition(topic, index))
            led = survey is not None or topic in internal
            records.append(make_record(_partition(index, topic_id, survey, node_id if led else None, node_id), version))
        configs = internal[topic].configs if topic in internal else KEEP_EVERYTHING
        records += _configs(topic, configs)
    records += _producer_ids(found.values(), node_id)
    return Adoption(tuple(records), topics, len(found), tuple(leaderless), tuple(begun))


def _topic_id(topic: str, ids: Iterable[UUID | None], draw_id: Callable[[], UUID]) -> UUID:
    known = {topic_id for topic_id in ids if topic_id is not None}
    if len(known) > 1:
        raise UnsupportedMetadataError(
            f"the directories of topic {topic} have different topic ids in their partition.metadata: some are of an"
            " older topic of the same name. Move those away"
        )
    return known.pop() if known else draw_id()


def _count(indexes: list[int], internal: InternalTopic | None) -> int:
    """Return how many partitions a topic has.

    If none is missing from the first to the last, these are all. The groups and transactions of an internal topic are
    spread by the number of partitions, so that of the settings counts where some are missing.
    """
    last = indexes[-1] + 1
    return last if internal is None or len(indexes) == last else max(last, internal.partitions)


def _partition(
    index: int, topic_id: UUID, survey: PartitionSurvey | None, leader: int | None, node_id: int
) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=[node_id],
        isr=[] if leader is None else [leader],
        leader=NO_LEADER if leader is None else leader,
        leader_epoch=0 if survey is None else survey.leader_epoch + 1,
        partition_epoch=0,
        directories=[UNASSIGNED_DIRECTORY],
    )


def _configs(topic: str, configs: Mapping[str, str]) -> list[MetadataRecord]:
    return [
        make_record(ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic, name=name, value=value))
        for name, value in configs.items()
    ]


def _producer_ids(surveys: Iterable[PartitionSurvey], node_id: int) -> list[MetadataRecord]:
    """Return the record that the blocks of ids which Kafka gave out, used or not, are not given again."""
    largest = max((survey.producer_id for survey in surveys), default=-1)
    if largest < 0:
        return []
    used = largest // BLOCK_SIZE + 1
    spare = 1  # a block that was given out may not have been used yet
    return [make_record(ProducerIdsRecord(broker_id=node_id, next_producer_id=(used + spare) * BLOCK_SIZE))]
