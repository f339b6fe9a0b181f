"""Log directories of brokers and the replicas in them, which librdkafka cannot ask for: DescribeLogDirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.offsets import Partition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

LITTLE_BYTES: Final = 1 << 20
"""A disk with less is full: a segment and its indexes begin with more."""


@dataclass(frozen=True, slots=True)
class LogDirFacts:
    """One log directory of a broker. Bytes of the volume are None where the broker does not tell them."""

    path: str
    error: str | None
    """Kafka's name of what is wrong with it; None if nothing is."""
    total_bytes: int | None = None
    usable_bytes: int | None = None
    is_cordoned: bool = False
    """It gets no new replicas (KIP-1066)."""
    sizes: Mapping[Partition, int] = field(default_factory=dict)
    """Bytes of the replicas in it, without copies that are on their way to it from another directory."""
    coming: frozenset[Partition] = frozenset()
    """Those of which such a copy is in it."""

    @property
    def is_full(self) -> bool:
        """Whether its volume has no room for records, as far as the broker tells."""
        return self.usable_bytes is not None and self.usable_bytes < LITTLE_BYTES


def describe_log_dirs(
    requests: BrokerRequests, wanted: Mapping[Address, Mapping[str, Sequence[int]] | None]
) -> dict[Address, list[LogDirFacts] | ClientError]:
    """Return the log directories of brokers, or why one does not tell.

    `wanted` are topics and partitions for each broker, None for all.
    """
    questions = {
        address: DescribeLogDirsRequest(
            topics=None
            if topics is None
            else [DescribableLogDirTopic(topic=name, partitions=list(numbers)) for name, numbers in topics.items()]
        )
        for address, topics in wanted.items()
    }
    answers = requests.ask_each(questions, DescribeLogDirsResponse)
    return {
        address: answer if isinstance(answer, ClientError) else [_facts(each) for each in answer.results]
        for address, answer in answers.items()
    }


def sizes_in(directories: Sequence[LogDirFacts]) -> dict[Partition, int]:
    """Return the sizes of the replicas in all directories of a broker."""
    return {partition: size for each in directories for partition, size in each.sizes.items()}


def _facts(result: DescribeLogDirsResult) -> LogDirFacts:
    return LogDirFacts(
        path=result.log_dir,
        error=error_name(result.error_code),
        total_bytes=result.total_bytes if result.total_bytes >= 0 else None,
        usable_bytes=result.usable_bytes if result.usable_bytes >= 0 else None,
        is_cordoned=result.is_cordoned,
        sizes={
            (topic.name, partition.partition_index): partition.partition_size
            for topic in result.topics
            for partition in topic.partitions
            if not partition.is_future_key
        },
        coming=frozenset(
            (topic.name, partition.partition_index)
            for topic in result.topics
            for partition in topic.partitions
            if partition.is_future_key
        ),
    )


def error_name(code: int) -> str | None:
    """Return Kafka's name of an error code, its number for one that is not known, None for no error."""
    if not code:
        return None
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
