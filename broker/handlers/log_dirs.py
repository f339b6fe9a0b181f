"""DescribeLogDirs (api key 35), versions 0 to 5: how much each partition takes on which disk (KIP-113, KIP-827)."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable

from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.storage.directories.futures import FutureLog
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.directories.manager import LogManager

MOST_PARTITIONS = 50_000
"""Partitions and topics that a request may name: some 30 ms of the event loop."""


class LogDirHandlers:
    """Answers DescribeLogDirs: sizes in bytes of the directories and of the logs in them."""

    def __init__(self, partitions: PartitionTable, logs: LogManager) -> None:
        self._partitions = partitions
        self._logs = logs

    def describe_log_dirs(self, _context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Sizes by log directory, of all partitions or of those that are asked for."""
        if sum([len(topic.partitions) + 1 for topic in request.topics or ()]) > MOST_PARTITIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"more than {MOST_PARTITIONS} partitions and topics")
        wanted: set[tuple[str, int]] | None = None
        if request.topics is not None:
            wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
        return DescribeLogDirsResponse(
            results=[
                self._describe(directory, wanted) for directory in self._logs.directories if directory.for_partitions
            ]
        )

    def _describe(self, directory: LogDirectory, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
        path = directory.path
        failed = DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=os.path.abspath(path))
        if directory.failure:
            return failed
        try:
            space = self._logs.disk_space(directory)
        except OSError:
            return failed
        topics: defaultdict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
        for partition in self._partitions:
            if not partition.log.directory.startswith(path + "/"):
                continue
            if wanted is None or (partition.topic, partition.index) in wanted:
                topics[partition.topic].append(
                    DescribeLogDirsPartition(
                        partition_index=partition.index,
                        partition_size=partition.log.size,
                        offset_lag=max(partition.high_watermark - partition.log.log_end_offset, 0),
                    )
                )
        for future in self._logs.futures:
            if future.directory is directory and (wanted is None or future.partition in wanted):
                topics[future.partition.topic].append(self._describe_future(future))
        return DescribeLogDirsResult(
            log_dir=os.path.abspath(path),
            topics=_as_topics(topics.items()),
            total_bytes=space.total,
            usable_bytes=space.usable,
        )

    def _describe_future(self, future: FutureLog) -> DescribeLogDirsPartition:
        """Tell of a copy, whose directory may have yet to be made, how much it has and how far it is behind."""
        source, copy = self._logs.get(future.partition), future.log
        end, start = (0, 0) if source is None else (source.log_end_offset, source.log_start_offset)
        there = start if copy is None else copy.log_end_offset
        return DescribeLogDirsPartition(
            partition_index=future.partition.partition,
            partition_size=0 if copy is None else copy.size,
            offset_lag=max(end - there, 0),
            is_future_key=True,
        )


def _as_topics(items: Iterable[tuple[str, list[DescribeLogDirsPartition]]]) -> list[DescribeLogDirsTopic]:
    return [DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in items]
