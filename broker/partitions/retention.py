"""Looks through all partitions for segments that are old enough to go, and removes them.

Owns the order, the log lines, and that one partition in trouble does not keep the others from being looked at. What is
old enough is `storage.log.retention`'s business. A pass goes in small steps, so that those who use the broker meanwhile
notice nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import KafkaError
from odradek.storage.log.retention import DueSegment, SegmentDeletionReason
from odradek.storage.names import TopicPartition

log = get_logger("retention")

PARTITIONS_PER_STEP = 16
"""Where nothing is to be done, a partition costs some ten microseconds."""


class Retention:
    """Takes away old segments of all partitions, a segment or a few partitions at a step."""

    def __init__(self, partitions: PartitionTable, clock: Clock) -> None:
        self._partitions = partitions
        self._clock = clock
        self._problems: dict[TopicPartition, str] = {}
        """What went wrong with a partition at the last pass, and has been logged."""

    def run(self) -> Iterator[None]:
        """Make one pass over the partitions that there are now; yields between its steps."""
        now_ms = self._clock.now_ms()
        partitions = list(self._partitions)
        self._forget_problems(partitions)
        for number, partition in enumerate(partitions):
            removed: list[DueSegment] = []
            while due := self._remove(partition, now_ms):
                removed.append(due)
                yield
            if removed:
                _report(partition, removed)
            elif number % PARTITIONS_PER_STEP == 0:
                yield

    def _remove(self, partition: Partition, now_ms: int) -> DueSegment | None:
        """Remove the oldest segment if it is due; a failure is logged once, and tried again with the next pass."""
        name = TopicPartition(partition.topic, partition.index)
        try:
            removed = partition.remove_old_segment(now_ms)
        except KafkaError as failed:
            if self._problems.get(name) != str(failed):
                self._problems[name] = str(failed)
                log.error(
                    "old segments could not be deleted; tried again at the next check",
                    topic=partition.topic,
                    partition=partition.index,
                    reason=str(failed),
                )
            return None
        if removed is None:
            self._problems.pop(name, None)
        return removed

    def _forget_problems(self, partitions: list[Partition]) -> None:
        """Forget the problems of partitions that are gone."""
        if self._problems:
            there = {TopicPartition(partition.topic, partition.index) for partition in partitions}
            self._problems = {name: problem for name, problem in self._problems.items() if name in there}


def _report(partition: Partition, removed: list[DueSegment]) -> None:
    """Say which segments went, and why: a line for each reason."""
    for reason, group in groupby(removed, lambda due: due.reason):
        segments = list(group)
        log.info(
            "old segments deleted",
            topic=partition.topic,
            partition=partition.index,
            reason=_reason_text(partition, reason),
            segments=len(segments),
            size=sum(due.segment.size for due in segments),
            offsets=f"{segments[0].segment.base_offset} to {segments[-1].end_offset - 1}",
            log_start_offset=partition.log.log_start_offset,
        )


def _reason_text(partition: Partition, reason: SegmentDeletionReason) -> str:
    config = partition.log.config
    match reason:
        case SegmentDeletionReason.SIZE:
            return f"the log is larger than retention.bytes={config.retention_bytes}"
        case SegmentDeletionReason.TIME:
            return f"newest record older than retention.ms={config.retention_ms}"
        case SegmentDeletionReason.IDLE_TIME:
            return f"no timestamps, last written longer ago than retention.ms={config.retention_ms}"
    return str(reason)
