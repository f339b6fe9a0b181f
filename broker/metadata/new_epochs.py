"""New leader epochs for partitions that may have lost records at their end.

Owns: which partitions they are, and what is written for them. Whatever of a log had not reached the disk is gone when
the machine goes down, and nothing in the log tells how much that was. A consumer that had read further would wait for
offsets that stand for other records by then; a new epoch lets it ask where its last one ended (KIP-320). Apache Kafka's
controller begins one whenever a broker was away. Here that is done where a log was not found as a clean stop leaves it,
so that a restart in order writes nothing.
"""

from collections.abc import Collection

from odradek.broker.metadata.features import partition_record_version
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.source import MetadataSource, stored_now
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.storage.names import TopicPartition

log = get_logger("metadata")


def plan_new_epochs(image: MetadataImage, node_id: int, intact: Collection[TopicPartition]) -> list[MetadataRecord]:
    """Return the records that begin a new epoch in every partition that this node leads, but for those `intact`."""
    version = partition_record_version(image.features)
    # naming the leader raises the leader epoch even if it stays the same
    return [
        make_record(PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=node_id), version)
        for topic in image.topics_by_name.values()
        for index, partition in enumerate(topic.partitions)
        if partition.leader == node_id and TopicPartition(topic.name, index) not in intact
    ]


def begin_new_epochs(metadata: MetadataSource, node_id: int, intact: Collection[TopicPartition]) -> None:
    """Begin new epochs where that is due, as one batch, before anything is served.

    A disk that takes no more is no reason to serve nothing: the partitions then go on in their old epochs.
    """
    records = plan_new_epochs(metadata.image, node_id, intact)
    try:
        stored_now(metadata.propose(records, metadata.image))
    except (KafkaError, OSError) as failed:
        log.warning(
            "no new leader epochs after an unclean stop: consumers will not notice if records were lost that they read",
            partitions=len(records),
            reason=str(failed),
        )
