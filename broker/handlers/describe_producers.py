"""DescribeProducers (api key 61), version 0: what partitions remember of their producers (KIP-664).

Idempotent producers are told as well as transactional ones, until `producer.id.expiration.ms` after their last batch.
Kafka tells of all of them; here one answer is bounded, and those with an open transaction, which is what this is asked
for, come first.
"""

from typing import Final

from odradek.broker.metadata.topic_names import check_name
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
        room = MOST_PRODUCERS
        topics = []
        for topic in request.topics:
            partitions = []
            for index in topic.partition_indexes:
                found = self._describe(topic.name, index, room)
                room -= len(found.active_producers)
                partitions.append(found)
            topics.append(TopicResponse(name=topic.name, partitions=partitions))
        return DescribeProducersResponse(topics=topics)

    def _describe(self, topic: str, index: int, room: int) -> PartitionResponse:
        problem = check_name(topic)
        try:
            if problem:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
            partition = self._partitions.get(topic, index)
        except KafkaError as refused:
            return PartitionResponse(
                partition_index=index, error_code=refused.code, error_message=refused.message or None
            )
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
