"""The broker's background jobs: flushes, checkpoints, old segments, expired producers, files whose time has come.

Each job collects on the loop what is to be written and returns the waiting part, which runs on a thread. Intervals are
Kafka's configs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from odradek.broker.partitions.flusher import flush_is_due
from odradek.broker.partitions.partition import Flusher
from odradek.broker.partitions.retention import Retention
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.scheduler import Scheduler
from odradek.config.settings import BrokerSettings
from odradek.storage.directories.gathering import Steps
from odradek.storage.directories.manager import LogManager
from odradek.storage.names import TopicPartition

DELETIONS_INTERVAL_MS = 5000
"""How often files are looked at whose deletion was delayed (file.delete.delay.ms, a minute by default)."""

OFFLINE_INTERVAL_MS = 1000
"""How often partitions are tried again whose log could not be made, on a full disk for example."""

NEVER_MS = 2**53
"""Intervals from here on (Kafka's default is the largest int64) mean that a job does not run."""


class BackgroundJobs:
    """The periodic work on logs: flushes, checkpoints, retention, expiry of producers, deletions."""

    def __init__(
        self,
        settings: BrokerSettings,
        logs: LogManager,
        partitions: PartitionTable,
        flusher: Flusher,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._logs = logs
        self._partitions = partitions
        self._flusher = flusher
        self._clock = clock
        self._retention = Retention(partitions, clock)

    def schedule(self, scheduler: Scheduler) -> None:
        """Start them all."""
        settings = self._settings
        for interval_ms, name, steps in (
            (settings.replica_high_watermark_checkpoint_interval_ms, "high watermarks", self._high_watermarks),
            (settings.log_flush_offset_checkpoint_interval_ms, "flush and recovery points", self._flush),
            (settings.log_flush_start_offset_checkpoint_interval_ms, "log starts", self._log_starts),
        ):
            scheduler.every_in_steps(interval_ms / 1000, name, steps)
        for interval_ms, name, job in (
            (DELETIONS_INTERVAL_MS, "file deletion", self._delete_files),
            (OFFLINE_INTERVAL_MS, "offline partitions", self._partitions.retry_offline),
        ):
            scheduler.every(interval_ms / 1000, name, job)
        if settings.log_flush_scheduler_interval_ms < NEVER_MS:
            scheduler.every_in_steps(settings.log_flush_scheduler_interval_ms / 1000, "flush by time", self._flush_due)
        expiration_s = settings.producer_id_expiration_check_interval_ms / 1000
        scheduler.every_in_steps(expiration_s, "producer expiration", self._expire_producers)
        check_ms = settings.log_retention_check_interval_ms
        first_ms = min(check_ms, settings.log_initial_task_delay_ms)
        scheduler.every_in_steps(check_ms / 1000, "retention", self._retention.run, first_ms / 1000)

    def _high_watermarks(self) -> Steps:
        return self._logs.checkpoints.high_watermarks_in_steps(
            (TopicPartition(partition.topic, partition.index), partition.high_watermark)
            for partition in self._partitions.in_steps()
        )

    def _flush(self) -> Steps:
        """Bring what was appended since the last time to the disk, so that a crash leaves little to check at the next
        start."""
        for partition in self._partitions.in_steps():
            if partition.log.recovery_point < partition.log.log_end_offset:
                self._flusher.request_in_background(partition)
            yield
        return (yield from self._logs.checkpoints.recovery_points_in_steps())

    def _flush_due(self) -> Iterator[None]:
        """Flush the partitions whose data waits longer than flush.ms allows."""
        now_ms = self._clock.now_ms()
        for partition in self._partitions.in_steps():
            if flush_is_due(partition, now_ms):
                self._flusher.request_in_background(partition)
            yield

    def _log_starts(self) -> Steps:
        return self._logs.checkpoints.log_starts_in_steps()

    def _expire_producers(self) -> Iterator[None]:
        now_ms = self._clock.now_ms()
        for partition in self._partitions.in_steps():
            yield from partition.log.producers.remove_expired(now_ms, partition.log.producer_expiration_ms)

    def _delete_files(self) -> Callable[[], None] | None:
        return self._logs.due_deletions(self._clock.now_ms())
