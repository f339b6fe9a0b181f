"""AssignReplicasToDirs: a broker tells in which of its directories its replicas lie (KIP-858).

Pure. Codes follow Kafka's `ReplicationControlManager.handleAssignReplicasToDirs`. A replica that lies in a directory
which has failed is in sync no more, and leads nothing.
"""

from uuid import UUID

from odradek.broker.controller.broker_changes import plan_departure
from odradek.broker.controller.controller_view import ControllerView, PartitionPlace, is_online
from odradek.broker.controller.partition_changes import PartitionTarget, change_partition
from odradek.broker.metadata.image import TopicImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignedDirectoryResult,
    AssignedPartitionResult,
    AssignedTopicResult,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)


def plan_assignments(
    view: ControllerView, request: AssignReplicasToDirsRequest
) -> tuple[list[MetadataRecord], AssignReplicasToDirsResponse]:
    """Return the records that note the directories, and the answer; raise KafkaError STALE_BROKER_EPOCH."""
    broker = view.check_broker_epoch(request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    lost: list[PartitionPlace] = []
    response = AssignReplicasToDirsResponse()
    for directory in request.directories:
        works = is_online(broker, directory.id)
        answered = AssignedDirectoryResult(id=directory.id)
        response.directories.append(answered)
        for wanted in directory.topics:
            topic = view.image.topic_by_id(wanted.topic_id)
            results = []
            for one in wanted.partitions:
                code = _refusal(topic, one.partition_index, broker.broker_id)
                results.append(AssignedPartitionResult(partition_index=one.partition_index, error_code=code))
                if topic is None or code:
                    continue
                place = PartitionPlace(topic, one.partition_index, topic.partitions[one.partition_index])
                records += _assign(view, place, broker.broker_id, directory.id)
                if not works:
                    lost.append(place)
            answered.topics.append(AssignedTopicResult(topic_id=wanted.topic_id, partitions=results))
    return [*records, *plan_departure(view, broker.broker_id, lost)], response


def _refusal(topic: TopicImage | None, index: int, broker_id: int) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in topic.partitions[index].replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def _assign(view: ControllerView, place: PartitionPlace, broker_id: int, directory: UUID) -> list[MetadataRecord]:
    record = change_partition(view, place, PartitionTarget(directories={broker_id: directory}))
    return [] if record is None else [record]
