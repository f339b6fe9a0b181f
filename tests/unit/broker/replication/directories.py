"""Metadata with a topic whose replicas lie in directories, for tests of what is told of them."""

from collections.abc import Sequence
from types import MappingProxyType
from uuid import UUID

from odradek.broker.metadata.features import METADATA_VERSION
from odradek.broker.metadata.image import UNASSIGNED_DIRECTORY, MetadataImage, PartitionImage, TopicImage

NODE, OTHER_NODE = 1, 2
TOPIC, TOPIC_ID = "t", UUID(int=77)
HERE, THERE = UUID(int=1001), UUID(int=1002)


def a_partition(recorded: UUID = UNASSIGNED_DIRECTORY) -> PartitionImage:
    """Return a partition whose replica at `NODE` lies in a directory, says the metadata."""
    return PartitionImage((OTHER_NODE, NODE), (OTHER_NODE, NODE), OTHER_NODE, 0, 0, directories=(THERE, recorded))


def an_image(partitions: Sequence[PartitionImage], level: int = 30) -> MetadataImage:
    """Return metadata with a topic of these partitions."""
    topic = TopicImage(TOPIC, TOPIC_ID, tuple(partitions))
    return MetadataImage(
        topics_by_name=MappingProxyType({TOPIC: topic}),
        topics_by_id=MappingProxyType({TOPIC_ID: topic}),
        features=MappingProxyType({METADATA_VERSION: level}),
    )
