"""What a client can see of a cluster, as metrics with the names of kafka_exporter.

Owns: how it is asked in few requests: one for the metadata, two to each broker for the ends of its partitions, one for
the groups that it coordinates, and one for the offsets and members of a hundred of those. What a broker does not answer
is left out, as kafka_exporter does. Must not know: HTTP, how metrics are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from odradek import __version__
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.bulk_questions import (
    EARLIEST,
    GROUPS_AT_ONCE,
    LATEST,
    ask_each,
    committed_offsets_of,
    offsets_of_leaders,
)
from odradek.metrics.samples import Samples
from odradek.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.offset_fetch import OffsetFetchResponse

CONSUMER: Final = "consumer"

PartitionPlace: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class _Seen:
    """What was found out of a cluster so far."""

    metadata: MetadataResponse
    addresses: Mapping[int, Address]
    """Of brokers, by id."""
    names: Mapping[UUID, str]
    """Of topics, by id."""
    ends: dict[PartitionPlace, int] = field(default_factory=dict)


class ClusterCollector:
    """Asks a cluster for all its metrics."""

    def __init__(
        self, requests: BrokerRequests, topics: re.Pattern[str], groups: re.Pattern[str], *, with_details: bool = True
    ) -> None:
        """Only topics and groups whose whole name the expressions match are told of.

        Without details it is not asked where partitions begin and how many members groups have.
        """
        self._with_details = with_details
        self._requests = requests
        self._topics = topics
        self._groups = groups

    def collect(self) -> Samples:
        """Return the metrics; CommandError where no broker answers."""
        samples = Samples()
        metadata = self._requests.ask(MetadataRequest(topics=None), MetadataResponse, "metadata")
        metadata.topics = [one for one in metadata.topics if one.name and self._topics.fullmatch(one.name)]
        addresses = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
        seen = _Seen(metadata, addresses, {one.topic_id: one.name or "" for one in metadata.topics})
        _of_brokers(samples, metadata)
        _of_partitions(samples, metadata)
        seen.ends = self._offsets(samples, seen, LATEST, "kafka_topic_partition_current_offset")
        if self._with_details:
            self._offsets(samples, seen, EARLIEST, "kafka_topic_partition_oldest_offset")
        self._of_groups(samples, seen)
        return samples

    def _offsets(self, samples: Samples, seen: _Seen, timestamp: int, name: str) -> dict[PartitionPlace, int]:
        """Ask the leaders where their partitions begin, or end; add that, and return it."""
        found = offsets_of_leaders(self._requests, seen.metadata.topics, seen.addresses, timestamp)
        for (topic, number), offset in found.items():
            samples.add(name, offset, topic, str(number))
        return found

    # groups

    def _of_groups(self, samples: Samples, seen: _Seen) -> None:
        """Ask each broker for its groups, and then for what they have committed, a hundred at a time."""
        listed = ask_each(
            self._requests, dict.fromkeys(seen.addresses.values(), ListGroupsRequest()), ListGroupsResponse
        )
        rounds: list[dict[Address, tuple[list[str], list[str]]]] = []
        for address, answer in listed.items():
            groups = [one for one in answer.groups if self._groups.fullmatch(one.group_id)]
            for place, first in enumerate(range(0, len(groups), GROUPS_AT_ONCE)):
                some = groups[first : first + GROUPS_AT_ONCE]
                if place == len(rounds):
                    rounds.append({})
                classic = [one.group_id for one in some if one.group_type.lower() != CONSUMER]
                rounds[place][address] = classic, [one.group_id for one in some if one.group_type.lower() == CONSUMER]
        for one_round in rounds:
            names = {address: [*classic, *consumer] for address, (classic, consumer) in one_round.items()}
            for committed in committed_offsets_of(self._requests, names):
                _of_committed(samples, seen, committed)
            if self._with_details:
                self._members(samples, one_round)

    def _members(self, samples: Samples, asked: Mapping[Address, tuple[list[str], list[str]]]) -> None:
        described = ask_each(
            self._requests,
            {address: DescribeGroupsRequest(groups=classic) for address, (classic, _) in asked.items() if classic},
            DescribeGroupsResponse,
        )
        consumers = ask_each(
            self._requests,
            {
                address: ConsumerGroupDescribeRequest(group_ids=consumer)
                for address, (_, consumer) in asked.items()
                if consumer
            },
            ConsumerGroupDescribeResponse,
        )
        found = [(one.group_id, one.error_code, len(one.members)) for each in described.values() for one in each.groups]
        found += [
            (one.group_id, one.error_code, len(one.members)) for each in consumers.values() for one in each.groups
        ]
        for group_id, error_code, members in found:
            if error_code == 0:
                samples.add("kafka_consumergroup_members", members, group_id)


def _of_brokers(samples: Samples, metadata: MetadataResponse) -> None:
    samples.add("kafka_exporter_build_info", 1, __version__)
    samples.add("kafka_brokers", len(metadata.brokers))
    for broker in metadata.brokers:
        samples.add("kafka_broker_info", 1, str(broker.node_id), f"{broker.host}:{broker.port}")


def _of_partitions(samples: Samples, metadata: MetadataResponse) -> None:
    prefix = "kafka_topic_partition_"
    for topic in metadata.topics:
        name = topic.name or ""
        samples.add("kafka_topic_partitions", len(topic.partitions), name)
        for one in topic.partitions:
            labels = name, str(one.partition_index)
            replicas, isr = one.replica_nodes, one.isr_nodes
            samples.add(f"{prefix}leader", one.leader_id, *labels)
            samples.add(f"{prefix}replicas", len(replicas), *labels)
            samples.add(f"{prefix}in_sync_replica", len(isr), *labels)
            is_preferred = bool(replicas) and one.leader_id == replicas[0]
            samples.add(f"{prefix}leader_is_preferred", int(is_preferred), *labels)
            samples.add(f"{prefix}under_replicated_partition", int(len(isr) < len(replicas)), *labels)


def _of_committed(samples: Samples, seen: _Seen, answer: OffsetFetchResponse) -> None:
    """Add the offsets of groups, and how far they are from the ends that are known."""
    for group in answer.groups:
        for topic in group.topics if group.error_code == 0 else ():
            name = topic.name or seen.names.get(topic.topic_id, "")
            offsets = lags = 0
            knows_any = False
            committed = [one for one in topic.partitions if one.error_code == 0 and one.committed_offset >= 0]
            for one in committed if name else ():
                labels = group.group_id, name, str(one.partition_index)
                samples.add("kafka_consumergroup_current_offset", one.committed_offset, *labels)
                offsets += one.committed_offset
                end = seen.ends.get((name, one.partition_index))
                if end is not None:
                    knows_any = True
                    lag = max(end - one.committed_offset, 0)
                    lags += lag
                    samples.add("kafka_consumergroup_lag", lag, *labels)
            if committed and name:
                samples.add("kafka_consumergroup_current_offset_sum", offsets, group.group_id, name)
            if knows_any:
                samples.add("kafka_consumergroup_lag_sum", lags, group.group_id, name)
