"""The producers that partitions remember (DescribeProducers), and ending the transaction of one in one partition.

KIP-664: a transaction hangs where a partition holds it open, and no coordinator knows that it has to be ended there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests, check
from odradek.cluster.offsets import Partition
from odradek.cluster.transactions import TransactionDescription
from odradek.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.terminal.errors import CommandError

PARTITIONS_AT_ONCE: Final = 100
"""Partitions in one request; a partition may remember thousands of producers."""


@dataclass(frozen=True, slots=True)
class PartitionProducer:
    """A producer as a partition remembers it; what it does not know is None."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None
    """Of the last marker that ended a transaction of this producer here."""
    last_sequence: int | None
    last_timestamp_ms: int | None
    """Since 1970, when its last batch was written."""
    start_offset: int | None
    """Where its open transaction began; None: none is open."""

    @property
    def key(self) -> Partition:
        """Topic and number of the partition."""
        return self.topic, self.partition


def describe_producers(
    requests: BrokerRequests, addresses: Mapping[int, Address], partitions: Mapping[Partition, int]
) -> list[PartitionProducer]:
    """Return the producers of partitions as a broker of each knows them, by partition and producer id.

    `partitions` names the broker to ask for each. CommandError where one of them does not tell.
    """
    by_broker: dict[int, list[Partition]] = {}
    for partition, broker in partitions.items():
        by_broker.setdefault(broker, []).append(partition)
    found: list[PartitionProducer] = []
    for portions in zip_longest(*(_portions(each) for each in by_broker.values())):
        brokers = [broker for broker, portion in zip(by_broker, portions, strict=True) if portion]
        asked = [portion for portion in portions if portion]
        answers = requests.ask_each(
            {addresses[each]: _question(portion) for each, portion in zip(brokers, asked, strict=True)},
            DescribeProducersResponse,
        )
        for broker in brokers:
            answer = answers[addresses[broker]]
            if isinstance(answer, ClientError):
                raise CommandError(f"the producers on broker {broker}: {answer}") from answer
            for topic in answer.topics:
                for each in topic.partitions:
                    check(each.error_code, each.error_message, f"partition {each.partition_index} of {topic.name}")
                    found += [_producer(topic.name, each.partition_index, state) for state in each.active_producers]
    return sorted(found, key=lambda each: (each.key, each.producer_id))


def write_abort_marker(
    requests: BrokerRequests,
    leader: Address,
    partition: Partition,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int | None,
) -> None:
    """Have the leader of a partition end a producer's transaction in it, which is aborted; no coordinator is asked.

    Without the epoch of a coordinator it is the lowest that there is, as no coordinator has ended anything there.
    Raises CommandError where the leader does not do it.
    """
    topic, number = partition
    what = f"partition {number} of {topic}"
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=False,
        coordinator_epoch=coordinator_epoch or 0,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[number])],
    )
    try:
        answer = requests.ask_at(leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
    except ClientError as refused:
        raise CommandError(f"{what}: {refused}") from refused
    codes = [each.error_code for told in answer.markers for one in told.topics for each in one.partitions]
    if not codes:
        raise CommandError(f"{what}: the broker does not say what became of the marker")
    check(codes[0], None, what)


def open_for_longer(producers: Collection[PartitionProducer], now_ms: int, limit_ms: int) -> list[PartitionProducer]:
    """Return those with an open transaction to which nothing was written for longer than a time, as Kafka counts."""
    return [
        each
        for each in producers
        if each.start_offset is not None
        and now_ms - (-1 if each.last_timestamp_ms is None else each.last_timestamp_ms) > limit_ms
    ]


def hanging(
    producers: Collection[PartitionProducer],
    ids: Mapping[int, str],
    described: Mapping[str, TransactionDescription | None],
) -> list[PartitionProducer]:
    """Return those whose open transaction no coordinator is going to end in that partition.

    `ids` are the transactional ids of producer ids, `described` what coordinators know of these.
    """

    def is_hanging(each: PartitionProducer) -> bool:
        transaction = described.get(ids.get(each.producer_id, ""))
        return transaction is None or each.key not in transaction.partitions

    return [each for each in producers if is_hanging(each)]


def _portions(partitions: Sequence[Partition]) -> Iterator[Sequence[Partition]]:
    for begin in range(0, len(partitions), PARTITIONS_AT_ONCE):
        yield partitions[begin : begin + PARTITIONS_AT_ONCE]


def _question(partitions: Sequence[Partition]) -> DescribeProducersRequest:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
    )


def _producer(topic: str, partition: int, state: ProducerState) -> PartitionProducer:
    return PartitionProducer(
        topic=topic,
        partition=partition,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        coordinator_epoch=_known(state.coordinator_epoch),
        last_sequence=_known(state.last_sequence),
        last_timestamp_ms=_known(state.last_timestamp),
        start_offset=_known(state.current_txn_start_offset),
    )


def _known(value: int) -> int | None:
    return value if value >= 0 else None
