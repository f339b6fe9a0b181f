"""What there is to know of topics: places, offsets, sizes, and the configs that differ from their default."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Node, TopicCollection, TopicPartitionInfo
from confluent_kafka.admin import TopicDescription

from odradek.cluster.configs import ConfigOrigin, describe_topic_configs
from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer
from odradek.cluster.offsets import Offsets, Partition, earliest, latest
from odradek.terminal.errors import CommandError

if TYPE_CHECKING:
    from odradek.cluster.broker_requests import Address

KNOWN_TIMEOUT_S = 5.0
KNOWN_PAUSE_S = 0.02

_URL_SAFE = str.maketrans("+/", "-_")


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition. Offsets are None where it has no leader, `size` is None where nobody tells it."""

    number: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    beginning: int | None
    end: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic; `configs` are those set on it."""

    name: str
    topic_id: str
    internal: bool
    partitions: Sequence[PartitionFacts]
    configs: Mapping[str, str | None]

    @property
    def offsets(self) -> int:
        """How many offsets its partitions have from their beginnings to their ends, as far as that is known."""
        return sum(
            each.end - each.beginning for each in self.partitions if each.end is not None and each.beginning is not None
        )

    @property
    def size(self) -> int | None:
        """Bytes at the leaders, None where nobody tells them."""
        sizes = [each.size for each in self.partitions if each.size is not None]
        return sum(sizes) if sizes else None


def describe(cluster: ClusterClients, names: Sequence[str]) -> list[TopicDescription]:
    """Return what the metadata says of topics, in order; CommandError for one that does not exist."""
    if not names:
        return []
    futures: Mapping[str, Future[TopicDescription]] = cluster.admin.describe_topics(
        TopicCollection(list(names)), request_timeout=ANSWER_TIMEOUT_S
    )
    return [answer(futures[name], f"topic {name}") for name in names]


def missing_topics(cluster: ClusterClients, names: Sequence[str]) -> list[str]:
    """Return those of these names that no topic has."""
    known = cluster.metadata().topics
    return [name for name in dict.fromkeys(names) if name not in known]


def wait_until_known(cluster: ClusterClients, names: Sequence[str]) -> None:
    """Return when new topics can be used, or after a few seconds.

    The controller has them at once; the broker that is asked next learns of them a moment later.
    """
    deadline = time.monotonic() + KNOWN_TIMEOUT_S
    while names and time.monotonic() < deadline:
        try:
            describe(cluster, names)
        except CommandError:
            time.sleep(KNOWN_PAUSE_S)
        else:
            return


def partitions_of(cluster: ClusterClients, topic: str) -> list[int]:
    """Return the numbers of a topic's partitions; CommandError where it does not exist."""
    [description] = describe(cluster, [topic])
    return [each.id for each in description.partitions]


def id_text(topic: TopicDescription) -> str:
    """Return a topic's id as Kafka writes it; librdkafka uses another alphabet for the same 22 digits."""
    return str(topic.topic_id).translate(_URL_SAFE)


def facts(cluster: ClusterClients, names: Sequence[str]) -> tuple[list[TopicFacts], str]:
    """Return everything of some topics, and one sentence on why sizes are not among it, empty where they are."""
    descriptions = describe(cluster, names)
    led = [(each.name, part.id) for each in descriptions for part in each.partitions if _leader(part)]
    first, end = earliest(cluster.admin, led), latest(cluster.admin, led)
    sizes, problem = _sizes(cluster, descriptions)
    configs = describe_topic_configs(cluster, names)
    result = [
        TopicFacts(
            name=each.name,
            topic_id=id_text(each),
            internal=each.is_internal,
            partitions=_partitions(each, first, end, sizes),
            configs={
                config.name: config.value
                for config in configs[each.name]
                if config.source == ConfigOrigin.DYNAMIC_TOPIC_CONFIG
            },
        )
        for each in descriptions
    ]
    return result, problem


def _partitions(topic: TopicDescription, first: Offsets, end: Offsets, sizes: Offsets) -> list[PartitionFacts]:
    return [
        PartitionFacts(
            number=part.id,
            leader=leader.id if (leader := _leader(part)) else None,
            replicas=[node.id for node in part.replicas],
            isr=[node.id for node in part.isr],
            beginning=first.get((topic.name, part.id)),
            end=end.get((topic.name, part.id)),
            size=sizes.get((topic.name, part.id)),
        )
        for part in sorted(topic.partitions, key=lambda part: part.id)
    ]


def _sizes(cluster: ClusterClients, topics: Sequence[TopicDescription]) -> tuple[dict[Partition, int], str]:
    """Return the size of each partition at its leader, and why some are missing."""
    from odradek.client.errors import ClientError  # only now: topics are listed without requests of our own
    from odradek.cluster.log_dirs import describe_log_dirs, sizes_in

    wanted: dict[Address, dict[str, list[int]]] = {}
    for topic in topics:
        for part in topic.partitions:
            if leader := _leader(part):
                at_leader = wanted.setdefault((leader.host, leader.port), {})
                at_leader.setdefault(topic.name, []).append(part.id)
    sizes: dict[Partition, int] = {}
    problem = ""
    for (host, port), found in describe_log_dirs(cluster.requests, wanted).items():
        if isinstance(found, ClientError):
            problem = f"{host}:{port} does not tell the size of its partitions: {found}"
        else:
            sizes |= sizes_in(found)
    return sizes, problem


def _leader(partition: TopicPartitionInfo) -> Node | None:
    """Return the leader, None while there is none: the declared type leaves that out."""
    return partition.leader
