"""The size of partitions on disk, which librdkafka cannot ask for: DescribeLogDirs.

Version 1 of the request, which every broker since Apache Kafka 1.0 serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from odradek.client.errors import ClientError
from odradek.cluster.one_request import ask
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from odradek.protocol.registry import ApiKey

VERSION = 1


class SizesUnknownError(Exception):
    """The broker cannot be asked for sizes; says why."""


def partition_sizes(host: str, port: int, topics: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], int]:
    """Return the bytes that partitions take on one broker, for those it has; SizesUnknownError where it does not say.

    `topics` are the names and partitions to ask for.
    """
    wanted = [DescribableLogDirTopic(topic=name, partitions=list(numbers)) for name, numbers in topics.items()]
    request = DescribeLogDirsRequest(topics=wanted)
    try:
        answer = ask(host, port, ApiKey.DESCRIBE_LOG_DIRS, VERSION, request, DescribeLogDirsResponse)
    except ClientError as failed:
        raise SizesUnknownError(f"{host}:{port} does not tell the size of its partitions: {failed}") from None
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }
