"""DescribeProducers (api key 61), version 0: what partitions remember of their producers (KIP-664).

Idempotent producers are told as well as transactional ones, until `producer.id.expiration.ms` after their last batch.
Kafka tells of all of them; here one answer is bounded. Those with an open transaction, which is what this is asked for,
come first, whichever partition they are of; and what is left of the bound is shared fairly among the partitions.
"""

from collections.abc import Sequence
from typing import Final

from odradek.broker.metadata.topic_names import check_name
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

MOST_PRODUCERS: Final = 5_000
"""Producers in one answer: about 10 ms of the event loop, 200 KB."""
MOST_PARTITIONS = 5_000
"""Partitions and topics of a request: one that names more is not answered, as there is no place for its error."""


class DescribeProducersHandler:
    """Answers DescribeProducers from the producer state of the partitions."""

    def __init__(self, partitions: PartitionTable) -> None:
        self._partitions = partitions

    def describe_producers(
        self, _context: RequestContext, request: DescribeProducersRequest
    ) -> DescribeProducersResponse:
        """Answer a request, partition by partition."""
        if sum([len(topic.partition_indexes) + 1 for topic in request.topics]) > MOST_PARTITIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"more than {MOST_PARTITIONS} partitions and topics")
        places = [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
        found = [self._find(name, index) for name, index in places]
        rooms = iter(_rooms([each for each in found if isinstance(each, Partition)], MOST_PRODUCERS))
        answers = iter(
            [
                _describe(index, each, next(rooms)) if isinstance(each, Partition) else _refused(index, each)
                for (_, index), each in zip(places, found, strict=True)
            ]
        )
        return DescribeProducersResponse(
            topics=[
                TopicResponse(name=topic.name, partitions=[next(answers) for _ in topic.partition_indexes])
                for topic in request.topics
            ]
        )

    def _find(self, topic: str, index: int) -> Partition | KafkaError:
        problem = check_name(topic)
        if problem:
            return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        try:
            return self._partitions.get(topic, index)
        except KafkaError as refused:
            return refused


def _rooms(partitions: Sequence[Partition], room: int) -> list[int]:
    """Return how many producers are told of each partition, at most `room` of all."""
    opened = [one.log.producers.open_count for one in partitions]
    rooms = fair_shares(opened, room)
    others = [len(one.log.producers.entries) - count for one, count in zip(partitions, opened, strict=True)]
    rest = fair_shares(others, room - sum(rooms))
    return [share + more for share, more in zip(rooms, rest, strict=True)]


def fair_shares(wanted: Sequence[int], room: int) -> list[int]:
    """Return how much each gets of what there is: nobody more than wanted, nor less than another who gets more."""
    shares = [0] * len(wanted)
    left = len(wanted)
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        shares[place] = min(wanted[place], -(-room // left))
        room -= shares[place]
        left -= 1
    return shares


def _refused(index: int, refused: KafkaError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=refused.code, error_message=refused.message or None)


def _describe(index: int, partition: Partition, room: int) -> PartitionResponse:
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_first_offset,
            )
            for producer_id, entry in partition.log.producers.most_telling(room)
        ],
    )
