"""Where the log of each replica ends, and so how far followers are behind their leaders.

A follower tells it to those who ask with the replica id of a debugging tool (ListOffsets, replica id -2); any other
client is answered by the leader alone. DescribeLogDirs has an offset lag, too, but that of a follower is measured
against the high watermark that it knows, which is never ahead of its own log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.offsets import Partition
from odradek.cluster.topology import PartitionState
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

DEBUGGING_REPLICA: Final = -2
LATEST: Final = -1
TIMEOUT_MS: Final = 10_000


def replica_ends(
    requests: BrokerRequests, addresses: Mapping[int, Address], partitions: Iterable[PartitionState]
) -> tuple[dict[int, dict[Partition, int]], dict[int, ClientError]]:
    """Return the end of the log of each replica on these brokers, by broker, and why some brokers do not tell."""
    wanted: dict[int, dict[str, list[int]]] = {}
    for each in partitions:
        for broker in each.replicas:
            if broker in addresses:
                wanted.setdefault(broker, {}).setdefault(each.topic, []).append(each.number)
    brokers = list(wanted)
    answers = requests.ask_each({addresses[each]: _question(wanted[each]) for each in brokers}, ListOffsetsResponse)
    found: dict[int, dict[Partition, int]] = {}
    silent: dict[int, ClientError] = {}
    for broker in brokers:
        answer = answers[addresses[broker]]
        if isinstance(answer, ClientError):
            silent[broker] = answer
        else:
            found[broker] = {
                (topic.name, each.partition_index): each.offset
                for topic in answer.topics
                for each in topic.partitions
                if not each.error_code and each.offset >= 0
            }
    return found, silent


def follower_lags(
    partitions: Iterable[PartitionState], ends: Mapping[int, Mapping[Partition, int]]
) -> dict[tuple[Partition, int], int | None]:
    """Return the records that each follower is behind its leader, by partition and broker; None where not known.

    The ends were not asked for at one moment, so that where records come in all the time a few may be behind.
    """
    lags: dict[tuple[Partition, int], int | None] = {}
    for each in partitions:
        end = ends.get(each.leader, {}).get(each.key) if each.leader is not None else None
        for broker in each.replicas:
            if broker != each.leader:
                own = ends.get(broker, {}).get(each.key)
                lags[each.key, broker] = None if end is None or own is None else max(0, end - own)
    return lags


def _question(topics: Mapping[str, Iterable[int]]) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=DEBUGGING_REPLICA,
        isolation_level=0,
        timeout_ms=TIMEOUT_MS,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in numbers],
            )
            for name, numbers in topics.items()
        ],
    )
