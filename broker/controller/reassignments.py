"""AlterPartitionReassignments and ListPartitionReassignments: partitions that move to other replicas.

Pure. Rules, codes and sentences follow Kafka's `ReplicationControlManager` (KIP-455, KIP-860). A reassignment ends by
itself with the change of the ISR that has all new replicas in it (`partition_changes`).
"""

from typing import Final

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace
from odradek.broker.controller.elections import MAX_RECORDS
from odradek.broker.controller.partition_changes import Election, PartitionTarget, change_partition
from odradek.broker.controller.topics import check_assignment
from odradek.broker.metadata.image import MetadataImage, PartitionImage, TopicImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from odradek.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

_NOTHING: Final[tuple[int, ...]] = ()


def plan_reassignments(
    view: ControllerView, request: AlterPartitionReassignmentsRequest
) -> tuple[list[MetadataRecord], AlterPartitionReassignmentsResponse]:
    """Return the records of what can be begun or called off, and the answer.

    Raises KafkaError POLICY_VIOLATION for too many at once.
    """
    records: list[MetadataRecord] = []
    if not request.topics:
        return [], AlterPartitionReassignmentsResponse()
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, error_message=None
    )
    for topic in request.topics:
        results = []
        for wish in topic.partitions:
            result = ReassignablePartitionResponse(partition_index=wish.partition_index, error_message=None)
            try:
                place = _find(view, topic.name, wish.partition_index)
                if wish.replicas is None:
                    record = _cancel(view, place)
                else:
                    record = _begin(view, place, tuple(wish.replicas), request.allow_replication_factor_change)
                if record is not None:
                    records.append(record)
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.message or None
            results.append(result)
        response.responses.append(ReassignableTopicResponse(name=topic.name, partitions=results))
    if len(records) > MAX_RECORDS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return records, response


def list_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Return the reassignments that are under way; topics and partitions that there are not are left out."""
    response = ListPartitionReassignmentsResponse(error_message=None)
    if request.topics is None:
        wanted = [(topic.name, list(range(len(topic.partitions)))) for topic in image.topics_by_name.values()]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    for name, indexes in wanted:
        found = [
            _ongoing(index, partition)
            for index in indexes
            if (partition := image.partition(name, index)) is not None and _is_under_way(partition)
        ]
        if found:
            response.topics.append(OngoingTopicReassignment(name=name, partitions=found))
    return response


def _ongoing(index: int, partition: PartitionImage) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding_replicas),
        removing_replicas=list(partition.removing_replicas),
    )


def _is_under_way(partition: PartitionImage) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _find(view: ControllerView, name: str, index: int) -> PartitionPlace:
    topic: TopicImage | None = view.image.topic(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    return PartitionPlace(topic, index, topic.partitions[index])


def _cancel(view: ControllerView, place: PartitionPlace) -> MetadataRecord | None:
    topic, index, partition = place
    if not _is_under_way(partition):
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = tuple(one for one in partition.replicas if one not in partition.adding_replicas)
    isr = tuple(one for one in partition.isr if one not in partition.adding_replicas)
    unclean = view.allows_unclean(topic)
    if not isr:
        if not unclean:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean"
                " leader election.",
            )
        isr = replicas[:1]
    election = Election.UNCLEAN if unclean else Election.ONLINE
    return change_partition(view, place, PartitionTarget(isr, replicas, _NOTHING, _NOTHING, election=election))


def _begin(
    view: ControllerView, place: PartitionPlace, wanted: tuple[int, ...], may_change_factor: bool
) -> MetadataRecord | None:
    partition = place.partition
    check_assignment(wanted, None, view.brokers)
    if not may_change_factor:
        _check_factor(partition, wanted)
    removing = tuple(sorted(set(partition.replicas) - set(wanted)))
    adding = tuple(sorted(set(wanted) - set(partition.replicas)))
    target = PartitionTarget(
        replicas=(*wanted, *removing), removing=removing or None, adding=adding or None
    )  # a list that comes out empty leaves the one of an earlier reassignment
    return change_partition(view, place, target)


def _check_factor(partition: PartitionImage, wanted: tuple[int, ...]) -> None:
    current = set(partition.replicas)
    if _is_under_way(partition):
        current = (current | set(partition.adding_replicas)) - set(partition.removing_replicas)
    if len(current) != len(wanted):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(current)} to {len(wanted)}",
        )
