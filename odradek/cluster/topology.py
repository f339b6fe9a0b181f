"""Brokers and partitions of a cluster, with what librdkafka leaves out: fenced brokers, offline replicas, moves.

Owns the questions (DescribeCluster, Metadata, ListPartitionReassignments, DescribeConfigs) and the values that they
become; what is judged of a partition is its properties.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.cluster.broker_requests import Address, BrokerRequests, check
from odradek.cluster.offsets import Partition
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

MIN_ISR: Final = "min.insync.replicas"
_TOPIC: Final = 2
"""What has configs, in DescribeConfigs."""
_TOPICS_AT_ONCE: Final = 500
_UNKNOWN_TOPIC: Final = 3


@dataclass(frozen=True, slots=True)
class ClusterBroker:
    """A broker that is registered; a fenced one leads nothing and is told to no other client."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool

    @property
    def address(self) -> Address:
        """Where it is reached."""
        return self.host, self.port


@dataclass(frozen=True, slots=True)
class ClusterBrokers:
    """The brokers of a cluster, by their ids in order."""

    cluster_id: str
    controller_id: int
    """What clients are told: in KRaft any broker, which passes requests on."""
    brokers: Mapping[int, ClusterBroker]

    @property
    def live(self) -> dict[int, ClusterBroker]:
        """Those that are not fenced."""
        return {number: each for number, each in self.brokers.items() if not each.is_fenced}


@dataclass(frozen=True, slots=True)
class OngoingReassignment:
    """A partition on its way; `replicas` are all that it has meanwhile, the target's first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that it is to have."""
        return tuple(each for each in self.replicas if each not in self.removing)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition; `min_isr` is None where nobody asked for it."""

    topic: str
    number: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    reassignment: OngoingReassignment | None = None
    min_isr: int | None = None

    @property
    def key(self) -> Partition:
        """Its topic and number."""
        return self.topic, self.number

    @property
    def is_offline(self) -> bool:
        """Nobody leads it, so it can be neither written nor read."""
        return self.leader is None

    @property
    def is_under_replicated(self) -> bool:
        """Fewer replicas are in sync than it is to have; those that a reassignment is adding are not counted yet."""
        adding = self.reassignment.adding if self.reassignment is not None else ()
        return len(self.isr) < len(self.replicas) - len(adding)

    @property
    def is_under_min_isr(self) -> bool:
        """So few replicas are in sync that records with acks=all are refused."""
        return self.min_isr is not None and len(self.isr) < self.min_isr


JUDGEMENTS: Final[Mapping[str, Callable[[PartitionState], bool]]] = {
    "under_replicated": lambda each: each.is_under_replicated,
    "under_min_isr": lambda each: each.is_under_min_isr,
    "offline": lambda each: each.is_offline,
}
"""What can be wrong with a partition, by the names that documents have for it."""


def troubled(
    partitions: Iterable[PartitionState], judgements: Iterable[str] = tuple(JUDGEMENTS)
) -> list[PartitionState]:
    """Return those of which one of these judgements is true."""
    wanted = [JUDGEMENTS[name] for name in judgements]
    return [each for each in partitions if any(is_so(each) for is_so in wanted)]


def describe_brokers(requests: BrokerRequests) -> ClusterBrokers:
    """Return the brokers, fenced ones among them where the cluster tells of these (since Kafka 4.0)."""
    request = DescribeClusterRequest(include_fenced_brokers=True)
    answer = requests.ask(request, DescribeClusterResponse, "the cluster")
    check(answer.error_code, answer.error_message, "the cluster")
    brokers = [
        ClusterBroker(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
        for each in sorted(answer.brokers, key=lambda broker: broker.broker_id)
    ]
    return ClusterBrokers(answer.cluster_id, answer.controller_id, {each.broker_id: each for each in brokers})


def describe_partitions(
    requests: BrokerRequests, topics: Collection[str] | None = None, *, with_min_isr: bool = False
) -> list[PartitionState]:
    """Return the partitions of topics, of all if None, by topic and number; CommandError where one does not exist."""
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer = requests.ask(request, MetadataResponse, "the topics")
    check(answer.error_code, None, "the topics")
    for topic in answer.topics:
        if topics is not None or topic.error_code != _UNKNOWN_TOPIC:  # one is just being deleted
            check(topic.error_code, None, f"topic {topic.name}")
    ongoing = list_reassignments(requests)
    names = [str(topic.name) for topic in answer.topics if not topic.error_code]
    minimum = min_isr_of(requests, names) if with_min_isr else {}
    return [
        PartitionState(
            topic=str(topic.name),
            number=part.partition_index,
            leader=part.leader_id if part.leader_id >= 0 else None,
            replicas=tuple(part.replica_nodes),
            isr=tuple(part.isr_nodes),
            offline=tuple(part.offline_replicas),
            reassignment=ongoing.get((str(topic.name), part.partition_index)),
            min_isr=minimum.get(str(topic.name)),
        )
        for topic in sorted(answer.topics, key=lambda topic: str(topic.name))
        for part in sorted(topic.partitions, key=lambda part: part.partition_index)
    ]


def list_reassignments(requests: BrokerRequests) -> dict[Partition, OngoingReassignment]:
    """Return all partitions that are on their way to other replicas."""
    what, request = "reassignments", ListPartitionReassignmentsRequest(topics=None)
    answer = requests.ask_if_served(request, ListPartitionReassignmentsResponse, what)
    if answer is None:
        return {}  # brokers that do not know what it is have none
    check(answer.error_code, answer.error_message, what)
    return {
        (topic.name, each.partition_index): OngoingReassignment(
            tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def min_isr_of(requests: BrokerRequests, topics: Sequence[str]) -> dict[str, int]:
    """Return min.insync.replicas of topics, for those that still exist."""
    found: dict[str, int] = {}
    for names in _portions(topics):
        resources = [
            DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=[MIN_ISR])
            for name in names
        ]
        answer = requests.ask(DescribeConfigsRequest(resources=resources), DescribeConfigsResponse, MIN_ISR)
        for result in answer.results:
            for config in result.configs:
                if config.name == MIN_ISR and (config.value or "").isdecimal():
                    found[result.resource_name] = int(str(config.value))
    return found


def _portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(names), _TOPICS_AT_ONCE):
        yield names[begin : begin + _TOPICS_AT_ONCE]
