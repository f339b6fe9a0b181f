"""DescribeLogDirs (api key 35), versions 1 to 5: how much each partition takes on which disk (KIP-113, KIP-827)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from broker.partitions.table import PartitionTable
from broker.runtime.context import RequestContext
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


class LogDirState(NamedTuple):
    """A log directory: its path, the sizes of its file system in bytes, and why it is offline, if it is."""

    path: str
    total_bytes: int
    usable_bytes: int
    offline_reason: str | None


class LogDirs(Protocol):
    """The part of the log manager that the handler needs."""

    def log_dir_states(self) -> Sequence[LogDirState]: ...


class LogDirHandlers:
    """See the module."""

    def __init__(self, partitions: PartitionTable, log_dirs: LogDirs) -> None:
        self._partitions = partitions
        self._log_dirs = log_dirs

    def describe_log_dirs(self, _context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Sizes by log directory, of all partitions or of those that are asked for."""
        wanted: set[tuple[str, int]] | None = None
        if request.topics is not None:
            wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
        return DescribeLogDirsResponse(
            results=[self._describe(state, wanted) for state in self._log_dirs.log_dir_states()]
        )

    def _describe(self, state: LogDirState, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
        if state.offline_reason is not None:
            return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=state.path)
        topics: defaultdict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
        for partition in self._partitions:
            if not partition.log.directory.startswith(state.path + "/"):
                continue
            if wanted is None or (partition.topic, partition.index) in wanted:
                topics[partition.topic].append(
                    DescribeLogDirsPartition(
                        partition_index=partition.index,
                        partition_size=partition.log.size,
                        offset_lag=max(partition.high_watermark - partition.log.log_end_offset, 0),
                    )
                )
        return DescribeLogDirsResult(
            log_dir=state.path,
            topics=_as_topics(topics.items()),
            total_bytes=state.total_bytes,
            usable_bytes=state.usable_bytes,
        )


def _as_topics(items: Iterable[tuple[str, list[DescribeLogDirsPartition]]]) -> list[DescribeLogDirsTopic]:
    return [DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in items]
