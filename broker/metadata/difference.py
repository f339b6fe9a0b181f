"""What is different between two images that are not one change apart.

For those who act on changes where a snapshot stands for many of them at once. Pure; what both images share is not
looked at.
"""

from odradek.broker.metadata.image import ConfigResource, ImageDelta, MetadataImage, PartitionName, ResourceType


def difference(old: MetadataImage, new: MetadataImage) -> ImageDelta:
    """Return what is different in `new`."""
    created = tuple(topic for topic_id, topic in new.topics_by_id.items() if topic_id not in old.topics_by_id)
    deleted = tuple(topic for topic_id, topic in old.topics_by_id.items() if topic_id not in new.topics_by_id)
    created_partitions: list[PartitionName] = []
    changed_partitions: list[PartitionName] = []
    for topic_id, topic in new.topics_by_id.items():
        before = old.topics_by_id.get(topic_id)
        if before is None or before is topic:
            continue
        for index, partition in enumerate(topic.partitions):
            if index >= len(before.partitions):
                created_partitions.append(PartitionName(topic, index))
            elif partition != before.partitions[index]:
                changed_partitions.append(PartitionName(topic, index))
    left_out = {ConfigResource(ResourceType.TOPIC, topic.name) for topic in (*created, *deleted)}
    return ImageDelta(
        created_topics=created,
        deleted_topics=deleted,
        created_partitions=tuple(created_partitions),
        changed_partitions=tuple(changed_partitions),
        changed_configs=frozenset(
            resource
            for resource in {*old.configs, *new.configs} - left_out
            if old.configs.get(resource) != new.configs.get(resource)
        ),
    )
