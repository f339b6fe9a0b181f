"""In which log directories a broker's replicas lie, where the metadata says something else (KIP-858).

Pure. The metadata does not know a directory that the broker has chosen among several, has none for what was assigned
before directories were recorded, and has a lost one for what lay in a directory that works again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.features import records_directories
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, known_error
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectory,
    AssignedPartition,
    AssignedTopic,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.storage.names import TopicPartition

MOST_REPLICAS: Final = 2250
"""In one request, as in Kafka: what a controller writes for it fits in one batch."""


class ReplicaPlace(NamedTuple):
    """A partition of which this broker has a replica."""

    topic_id: UUID
    partition: int


Locate = Callable[[TopicPartition, UUID], UUID | None]
"""The id of the directory that the log of a topic's partition is in, None if it is not open."""


def misplaced(image: MetadataImage, place: ReplicaPlace, node_id: int, locate: Locate) -> UUID | None:
    """Return the directory that a broker's replica lies in, None where the metadata need not be told."""
    topic = image.topic_by_id(place.topic_id)
    if topic is None or place.partition >= len(topic.partitions) or not records_directories(image.features):
        return None
    partition = topic.partitions[place.partition]
    if node_id not in partition.replicas:
        return None
    actual = locate(TopicPartition(topic.name, place.partition), place.topic_id)
    return None if partition.directory_of(node_id) == actual else actual


def changed_places(old: MetadataImage, new: MetadataImage) -> Iterator[ReplicaPlace]:
    """Find the partitions of which the metadata says something new; all of them once directories are recorded."""
    began = records_directories(new.features) and not records_directories(old.features)
    if old.topics_by_id is new.topics_by_id and not began:
        return
    for topic_id, topic in new.topics_by_id.items():
        known = None if began else old.topics_by_id.get(topic_id)
        if known is topic:
            continue
        before = known.partitions if known is not None else ()
        for index, partition in enumerate(topic.partitions):
            if index >= len(before) or before[index] is not partition:
                yield ReplicaPlace(topic_id, index)


def assignment_request(
    node_id: int, broker_epoch: int, directories: Mapping[ReplicaPlace, UUID]
) -> AssignReplicasToDirsRequest:
    """Return what tells the controller of these replicas."""
    topics: dict[tuple[UUID, UUID], AssignedTopic] = {}
    found: dict[UUID, AssignedDirectory] = {}
    for place, directory in directories.items():
        topic = topics.get((directory, place.topic_id))
        if topic is None:
            topic = topics[directory, place.topic_id] = AssignedTopic(topic_id=place.topic_id)
            found.setdefault(directory, AssignedDirectory(id=directory)).topics.append(topic)
        topic.partitions.append(AssignedPartition(partition_index=place.partition))
    return AssignReplicasToDirsRequest(broker_id=node_id, broker_epoch=broker_epoch, directories=list(found.values()))


def verdicts(response: AssignReplicasToDirsResponse) -> dict[ReplicaPlace, ErrorCode]:
    """Return what the controller said of each replica."""
    return {
        ReplicaPlace(topic.topic_id, one.partition_index): known_error(one.error_code)
        for directory in response.directories
        for topic in directory.topics
        for one in topic.partitions
    }
