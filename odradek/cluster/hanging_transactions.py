"""Transactions that a partition holds open and that no coordinator is going to end there (KIP-664), found and ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.offsets import Partition
from odradek.cluster.partition_producers import PartitionProducer, describe_producers, hanging, open_for_longer
from odradek.cluster.topology import PartitionState, describe_brokers, describe_partitions
from odradek.cluster.transactions import TransactionSelection, describe_transactions, list_transactions
from odradek.terminal.errors import CommandError


def chosen_partitions(requests: BrokerRequests, topic: str, numbers: Sequence[int]) -> list[PartitionState]:
    """Return partitions of a topic, all of them if none is named; CommandError for one that does not exist."""
    existing = {each.number: each for each in describe_partitions(requests, [topic])}
    for number in numbers:
        if number not in existing:
            raise CommandError(f"topic {topic} has no partition {number}; it has 0 to {max(existing)}")
    return [existing[number] for number in dict.fromkeys(numbers or existing)]


def producers_of(
    requests: BrokerRequests, partitions: Collection[PartitionState], broker: int | None = None
) -> list[PartitionProducer]:
    """Return the producers of partitions as their leaders know them, or as one broker does of those that it has.

    CommandError where a partition has no leader, or the broker is not there.
    """
    addresses = broker_addresses(requests)
    asked: dict[Partition, int] = {}
    for each in partitions:
        if broker is None:
            asked[each.key] = leader_of(each)
        elif broker in each.replicas:
            asked[each.key] = broker
    if broker is not None and broker not in addresses:
        raise CommandError(f"broker {broker} is not there; `odradek cluster status` shows those that are")
    return describe_producers(requests, addresses, asked)


def find_hanging(
    requests: BrokerRequests,
    partitions: Collection[PartitionState],
    now_ms: int,
    limit_ms: int,
    broker: int | None = None,
) -> list[PartitionProducer]:
    """Return the open transactions that hang, of those to which nothing was written for `limit_ms` milliseconds."""
    old = open_for_longer(producers_of(requests, partitions, broker), now_ms, limit_ms)
    return still_hanging(requests, partitions, old, broker)


def still_hanging(
    requests: BrokerRequests,
    partitions: Collection[PartitionState],
    opened: Collection[PartitionProducer],
    broker: int | None = None,
) -> list[PartitionProducer]:
    """Return those of open transactions that hang.

    They are looked at once more in the end, as one that ends while coordinators are asked is unknown to these, too.
    """
    if not opened:
        return []
    ids = sorted({each.producer_id for each in opened})
    listed = list_transactions(requests, broker_addresses(requests), TransactionSelection(producer_ids=ids))
    named = {each.producer_id: each.transactional_id for each in listed}
    found = hanging(opened, named, describe_transactions(requests, list(named.values())))
    places = {each.key for each in found}
    again = producers_of(requests, [each for each in partitions if each.key in places], broker)
    still = {(each.key, each.producer_id, each.start_offset) for each in again}
    return [each for each in found if (each.key, each.producer_id, each.start_offset) in still]


def transaction_at(
    requests: BrokerRequests, partition: PartitionState, offset: int, *, force: bool = False
) -> PartitionProducer:
    """Return the producer whose open transaction begins at an offset.

    CommandError where there is none, or its coordinator is going to end it; with `force` also such a one is returned.
    """
    opened = [each for each in producers_of(requests, [partition]) if each.start_offset == offset]
    if not opened:
        raise CommandError(
            f"no open transaction begins at offset {offset} of partition {partition.number} of {partition.topic}; "
            f"`odradek transactions producers {partition.topic}` shows where some do"
        )
    if not force and not still_hanging(requests, [partition], opened):
        raise CommandError(
            f"the coordinator of the transaction at offset {offset} is going to end it; `odradek transactions list "
            f"--producer-id {opened[0].producer_id}` shows whose it is, and force-terminate ends it in all partitions"
        )
    return opened[0]


def leader_of(partition: PartitionState) -> int:
    """Return who leads a partition; CommandError where nobody does."""
    if partition.leader is None:
        raise CommandError(f"partition {partition.number} of {partition.topic} has no leader that could be asked")
    return partition.leader


def broker_addresses(requests: BrokerRequests) -> Mapping[int, Address]:
    """Return where the brokers are that are not fenced."""
    return {number: each.address for number, each in describe_brokers(requests).live.items()}
