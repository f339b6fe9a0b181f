"""Moving partitions to other replicas, calling moves off, and electing leaders: what the controller is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from typing import Final

from odradek.cluster.broker_requests import BrokerRequests, check
from odradek.cluster.log_dirs import error_name
from odradek.cluster.offsets import Partition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

AT_ONCE: Final = 1000
"""Partitions of one request; a controller writes at most ten thousand records for one."""
TIMEOUT_MS: Final = 10_000


class ElectionType(IntEnum):
    """Who may come to lead; the numbers are those of ElectLeaders."""

    PREFERRED = 0
    """The first of the replicas, if it is in sync."""
    UNCLEAN = 1
    """Any replica, at the price of the records that it lacks."""


def alter_reassignments(
    requests: BrokerRequests, wanted: Mapping[Partition, Sequence[int] | None]
) -> dict[Partition, str]:
    """Have partitions move to these replicas; None calls the move of one off. Returns what the controller refused."""
    refused: dict[Partition, str] = {}
    for portion in _portions(wanted):
        topics: dict[str, list[ReassignablePartition]] = {}
        for (topic, number), replicas in portion.items():
            target = None if replicas is None else list(replicas)
            topics.setdefault(topic, []).append(ReassignablePartition(partition_index=number, replicas=target))
        answer = requests.ask(
            AlterPartitionReassignmentsRequest(
                timeout_ms=TIMEOUT_MS,
                topics=[ReassignableTopic(name=name, partitions=each) for name, each in topics.items()],
            ),
            AlterPartitionReassignmentsResponse,
            "reassignments",
        )
        check(answer.error_code, answer.error_message, "reassignments")
        refused |= {
            (result.name, each.partition_index): _reason(each.error_code, each.error_message)
            for result in answer.responses
            for each in result.partitions
            if each.error_code
        }
    return refused


def elect_leaders(
    requests: BrokerRequests, kind: ElectionType, partitions: Collection[Partition] | None
) -> dict[Partition, str | None]:
    """Have leaders elected, in all partitions if None; returns what was refused, None for what was elected.

    Partitions in which no election was needed are left out.
    """
    topics: dict[str, list[int]] = {}
    for topic, number in partitions or ():
        topics.setdefault(topic, []).append(number)
    answer = requests.ask(
        ElectLeadersRequest(
            election_type=kind,
            topic_partitions=None
            if partitions is None
            else [TopicPartitions(topic=name, partitions=numbers) for name, numbers in topics.items()],
            timeout_ms=TIMEOUT_MS,
        ),
        ElectLeadersResponse,
        "elections",
    )
    check(answer.error_code, None, "elections")
    return {
        (topic.topic, each.partition_id): _reason(each.error_code, each.error_message) if each.error_code else None
        for topic in answer.replica_election_results
        for each in topic.partition_result
        if each.error_code != ErrorCode.ELECTION_NOT_NEEDED
    }


def _portions(
    wanted: Mapping[Partition, Sequence[int] | None],
) -> Iterator[dict[Partition, Sequence[int] | None]]:
    rest = iter(wanted.items())
    while portion := dict(islice(rest, AT_ONCE)):
        yield portion


def _reason(code: int, message: str | None) -> str:
    name = error_name(code)
    return f"{message.rstrip('.')} ({name})" if message else str(name)
