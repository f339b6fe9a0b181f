"""The quorum that keeps the metadata of a cluster: DescribeQuorum (KIP-595, KIP-836, KIP-853)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.cluster.broker_requests import BrokerRequests, check
from odradek.protocol.messages.describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopic,
    QuorumReplica,
)

METADATA_TOPIC: Final = "__cluster_metadata"
WHAT: Final = "the quorum of the controllers"


@dataclass(frozen=True, slots=True)
class QuorumMember:
    """A controller that votes, or a broker that follows. Times are milliseconds since 1970, None where not told."""

    node_id: int
    log_end_offset: int | None
    lag: int | None
    """Metadata records that it is behind the leader; None where the leader has not heard of it yet."""
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    listeners: Sequence[str] = ()
    """Where it is reached, as NAME://HOST:PORT."""


@dataclass(frozen=True, slots=True)
class QuorumFacts:
    """The quorum as its leader, the active controller, sees it."""

    leader: int | None
    epoch: int
    high_watermark: int
    voters: Sequence[QuorumMember]
    observers: Sequence[QuorumMember]


def describe_quorum(requests: BrokerRequests) -> QuorumFacts | None:
    """Return the state of the quorum, None where the brokers know of none; CommandError where they do not tell it."""
    partitions = [DescribeQuorumPartition(partition_index=0)]
    request = DescribeQuorumRequest(topics=[DescribeQuorumTopic(topic_name=METADATA_TOPIC, partitions=partitions)])
    answer = requests.ask_if_served(request, DescribeQuorumResponse, WHAT)
    if answer is None:
        return None
    check(answer.error_code, answer.error_message, WHAT)
    found = next((partition for topic in answer.topics for partition in topic.partitions), None)
    if found is None:
        return None
    check(found.error_code, found.error_message, WHAT)
    listeners = {
        node.node_id: [f"{each.name}://{each.host}:{each.port}" for each in node.listeners] for node in answer.nodes
    }
    ends = {each.replica_id: each.log_end_offset for each in (*found.current_voters, *found.observers)}
    end = ends.get(found.leader_id, found.high_watermark)
    return QuorumFacts(
        leader=found.leader_id if found.leader_id >= 0 else None,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=_members(found.current_voters, end, listeners),
        observers=_members(found.observers, end, listeners),
    )


def _members(replicas: Sequence[QuorumReplica], end: int, listeners: Mapping[int, Sequence[str]]) -> list[QuorumMember]:
    return [
        QuorumMember(
            node_id=each.replica_id,
            log_end_offset=_known(each.log_end_offset),
            lag=max(0, end - each.log_end_offset) if each.log_end_offset >= 0 else None,
            last_fetch_ms=_known(each.last_fetch_timestamp),
            last_caught_up_ms=_known(each.last_caught_up_timestamp),
            listeners=listeners.get(each.replica_id, ()),
        )
        for each in sorted(replicas, key=lambda replica: replica.replica_id)
    ]


def _known(value: int) -> int | None:
    return value if value >= 0 else None
