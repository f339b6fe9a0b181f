"""Taking over metadata that another broker left: may this node serve it, and which partitions must it lead.

Owns: the refusals (with nothing changed) and the leader elections at start. Pure. Must not know: files. When Apache
Kafka stops, partitions may stand without a leader; Kafka elects one when the broker comes back (KIP-631), and so do
we.
"""

from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.features import partition_record_version
from odradek.broker.metadata.image import MetadataImage, PartitionImage, RecoveryState, TopicImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.messages.metadata_records import PartitionChangeRecord


def check_takeover(image: MetadataImage, node_id: int) -> None:
    """Raise UnsupportedMetadataError if a single node with this id cannot serve what the metadata describes."""
    for topic in image.topics_by_name.values():
        for index, partition in enumerate(topic.partitions):
            if node_id not in partition.replicas:
                raise UnsupportedMetadataError(
                    f"partition {topic.name}-{index} is on broker(s) {', '.join(map(str, partition.replicas))} and not"
                    f" on this node ({node_id}): the directory belongs to a cluster of several brokers, which this"
                    " version of odradek does not serve, or node.id is not the one it was written with"
                )


def check_not_tiered(image: MetadataImage, node_id: int) -> None:
    """Raise UnsupportedMetadataError if a topic with a replica here may have a part in tiered storage."""
    for topic in image.topics_by_name.values():
        if not any(node_id in partition.replicas for partition in topic.partitions):
            continue
        if image.topic_config(topic.name).get("remote.storage.enable", "").strip().lower() == "true":
            raise UnsupportedMetadataError(
                f"topic {topic.name} has remote.storage.enable=true: a part of it may be in tiered storage, which this"
                " version of odradek does not read; set it to false with the Apache Kafka that wrote it first"
            )


def plan_elections(image: MetadataImage, node_id: int) -> list[MetadataRecord]:
    """Return the records that make this node, alone in the cluster, lead every partition that it may lead.

    It may lead where it was in sync, or was the last to lead before nobody was in sync. Elsewhere other brokers hold
    newer data, and the partition stays without a leader.
    """
    version = partition_record_version(image.features)
    return [
        make_record(_election(topic, index, partition, node_id), version)
        for topic in image.topics_by_name.values()
        for index, partition in enumerate(topic.partitions)
        if not _is_settled(partition, node_id) and _may_lead(partition, node_id)
    ]


def _is_settled(partition: PartitionImage, node_id: int) -> bool:
    return partition.leader == node_id and partition.isr == (node_id,)


def _may_lead(partition: PartitionImage, node_id: int) -> bool:
    if node_id in partition.isr or node_id in partition.eligible_leader_replicas:
        return True
    nobody_in_sync = not partition.isr and not partition.eligible_leader_replicas
    return nobody_in_sync and partition.last_known_elr == (node_id,)


def _election(topic: TopicImage, index: int, partition: PartitionImage, node_id: int) -> PartitionChangeRecord:
    # Naming the leader raises the leader epoch even if it stays the same: what was acknowledged before and after a
    # change of the ISR can then be told apart.
    change = PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, isr=[node_id], leader=node_id)
    if partition.leader_recovery_state != RecoveryState.RECOVERED:
        change.leader_recovery_state = RecoveryState.RECOVERED
    if partition.eligible_leader_replicas:
        change.eligible_leader_replicas = []
    if partition.last_known_elr:
        change.last_known_elr = []
    return change
