"""ElectLeaders, and the elections that the controller holds of its own accord.

Pure. Codes and sentences follow Kafka's `ReplicationControlManager.electLeaders` (KIP-460). The automatic ones bring
leaders back to the preferred replicas (auto.leader.rebalance.enable), a bounded number at a time, and find leaders out
of sync where a topic allows it.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace
from odradek.broker.controller.partition_changes import Election, PartitionTarget, change_partition
from odradek.broker.metadata.image import NO_LEADER, PartitionImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

MAX_ELECTIONS: Final = 1_000
"""Of one automatic pass; what is left is for the next one, as in Kafka."""
MAX_RECORDS: Final = 10_000
"""Of one request of a user, as in Kafka."""
_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


def plan_elections(
    view: ControllerView, request: ElectLeadersRequest
) -> tuple[list[MetadataRecord], ElectLeadersResponse]:
    """Return the records of the elections that can be held, and the answer.

    Raises KafkaError INVALID_REQUEST for a kind of election that there is not, POLICY_VIOLATION for too many at once.
    """
    if request.topic_partitions is not None and not request.topic_partitions:
        return [], ElectLeadersResponse()
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    records: list[MetadataRecord] = []
    results: list[ReplicaElectionResult] = []
    wanted: Iterable[tuple[str, Iterable[int]]]
    if request.topic_partitions is None:
        wanted = [(topic.name, range(len(topic.partitions))) for topic in view.image.topics_by_name.values()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    for name, indexes in wanted:
        outcomes = [(index, _elect(view, name, index, election, records)) for index in indexes]
        if request.topic_partitions is None:  # of all, those that need none are not told of
            outcomes = [one for one in outcomes if one[1] is None or one[1].code is not ErrorCode.ELECTION_NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=name, partition_result=[_result(*one) for one in outcomes]))
    if len(records) > MAX_RECORDS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return records, ElectLeadersResponse(replica_election_results=results)


def refused_elections(request: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    """Return the answer to a request that is refused as a whole: every partition has the error, too."""
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_result(index, error) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def plan_balance(view: ControllerView) -> list[MetadataRecord]:
    """Return the elections that bring leaders back to preferred replicas, the first `MAX_ELECTIONS` of them."""
    elsewhere = (place for place in view.places() if place.partition.leader != place.partition.replicas[0])
    return list(islice(_changes(view, elsewhere, Election.PREFERRED), MAX_ELECTIONS))


def plan_unclean_elections(view: ControllerView) -> list[MetadataRecord]:
    """Return the elections of leaders out of sync for partitions that nobody leads, where their topic allows it."""
    leaderless = (
        place for place in view.places() if place.partition.leader == NO_LEADER and view.allows_unclean(place.topic)
    )
    return list(islice(_changes(view, leaderless, Election.UNCLEAN), MAX_ELECTIONS))


def _changes(view: ControllerView, places: Iterable[PartitionPlace], election: Election) -> Iterator[MetadataRecord]:
    for place in places:
        record = change_partition(view, place, PartitionTarget(election=election))
        if record is not None:
            yield record


def _elect(
    view: ControllerView, name: str, index: int, election: Election, records: list[MetadataRecord]
) -> KafkaError | None:
    """Hold one election; return why not, or why it changed nothing."""
    topic = view.image.topic(name)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= index < len(topic.partitions):
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    partition = topic.partitions[index]
    if _is_settled(partition, election):
        return KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    record = change_partition(view, PartitionPlace(topic, index, partition), PartitionTarget(election=election))
    if record is None:
        if election is Election.PREFERRED:
            return KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        return KafkaError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
        )
    records.append(record)
    return None


def _is_settled(partition: PartitionImage, election: Election) -> bool:
    if election is Election.PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER


def _result(index: int, error: KafkaError | None) -> PartitionResult:
    if error is None:
        return PartitionResult(partition_id=index, error_message=None)
    return PartitionResult(partition_id=index, error_code=error.code, error_message=error.message or None)
