"""What a node has whatever its roles are: settings, clock, log directories, the metadata log, threads for both.

Owns: opening and closing those, in order. Must not know: roles. Kafka's class of this name is shared by its broker and
its controller in the same way.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from odradek.broker.metadata.cleaning import MetadataRetention
from odradek.broker.metadata.internal_topics import internal_topics
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, find_metadata, open_metadata_log
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.host import Host
from odradek.broker.servers.node_security import NodeSecurities
from odradek.config.settings import BrokerSettings
from odradek.protocol.uuids import random_uuid
from odradek.storage.directories.clean_shutdown import was_clean_shutdown
from odradek.storage.directories.failures import DirectoryFailures
from odradek.storage.directories.log_dirs import (
    LogDirectory,
    find_log_directories,
    identify_log_directories,
    make_log_directories,
)
from odradek.storage.errors import StorageError

if TYPE_CHECKING:
    from odradek.broker.monitoring.monitor import Monitor

log = get_logger("broker")

METADATA_THREADS = 2
"""For changes of the metadata, and for a snapshot of them meanwhile."""
TLS_THREADS = 2
"""For handshakes: as many at once as there may be processors for them beside the one for all else."""
UPKEEP_THREADS = 2
"""For what nobody waits for: checkpoints, deletions, upkeep of the metadata, what compaction leaves to be done."""
AUTHENTICATION_THREADS = 2
"""For passwords that are hashed and keys that are fetched: so many clients at once, others wait."""


class SharedServer:
    """The parts of a process that all its roles use.

    After `start`: `directories`, and `metadata` where a controller is one of the roles.
    """

    directories: list[LogDirectory]
    failures: DirectoryFailures
    """Which of them have failed."""
    metadata: MetadataLog
    metadata_directory: LogDirectory

    def __init__(self, loop: asyncio.AbstractEventLoop, settings: BrokerSettings, host: Host) -> None:
        self.loop = loop
        self.host = host
        self.settings = settings
        """Those of the file."""
        self.clock = host.clock
        self.started_at = self.clock.monotonic()
        self.fs = host.files
        self.metadata_threads = host.threads("odradek-metadata", METADATA_THREADS)
        self.upkeep_threads = host.executor("odradek-upkeep", UPKEEP_THREADS)
        self.authentication_threads = host.threads("odradek-authentication", AUTHENTICATION_THREADS)
        self.tls_threads = host.threads("odradek-tls", max(1, min(TLS_THREADS, host.processors - 1)))
        self.nodes = NodeSecurities(loop, settings, self.tls_threads, self.authentication_threads)
        """How connections to other nodes are protected."""
        self.monitor: Monitor | None = None
        """Measures, and tells of it; None where nobody asks for metrics."""
        self.given_cluster_id: str | None = None
        """The cluster of directories that are new; None: one that is found, or a new one."""
        self.end: Callable[[str], None] = _log_end
        """Has the process stop in order, for this reason."""

    def start(self) -> None:
        """Lock the log directories, open the metadata log, and let the directories say whose they are.

        Raises:
            KafkaError, MetadataError, OSError: they cannot be used; the message says why and what to do.
        """
        settings = self.settings
        self.directories = find_log_directories(
            self.fs,
            settings.log_dirs,
            settings.node_id,
            random_uuid,
            self.given_cluster_id,
            settings.metadata_log_dir,
        )
        self.failures = DirectoryFailures(self.fs, [directory.path for directory in self.directories])
        if settings.quorum.is_controller:
            self.metadata = self._open_metadata()
            identify_log_directories(self.fs, self.directories)

    @property
    def metadata_path(self) -> str:
        """The log directory that the metadata is in."""
        path = os.path.abspath(self.settings.metadata_log_dir)
        found = (one.path for one in self.directories if os.path.abspath(one.path) == path)
        return next(found, self.directories[0].path)

    @property
    def has_cluster_id(self) -> bool:
        """Whether the directories said of which cluster they are when they were found."""
        return any(one.found is not None and one.found.cluster_id is not None for one in self.directories)

    def join_cluster(self, cluster_id: str) -> None:
        """Let new directories be of this cluster."""
        for directory in self.directories:
            assert directory.meta is not None
            directory.meta = directory.meta._replace(cluster_id=cluster_id)

    @property
    def directory_ids(self) -> tuple[UUID, ...]:
        """The ids of the directories that have partitions, in the order of the configuration."""
        metas = [one.meta for one in self.partition_directories]
        return tuple(meta.directory_id for meta in metas if meta is not None and meta.directory_id is not None)

    @property
    def partition_directories(self) -> list[LogDirectory]:
        """Those that have partitions and have not failed."""
        return [one for one in self.directories if one.for_partitions and not one.failure]

    @property
    def cluster_id(self) -> str:
        """The cluster that the directories belong to."""
        meta = next(directory.meta for directory in self.directories if directory.meta is not None)
        assert meta.cluster_id is not None
        return meta.cluster_id

    def close_metadata(self) -> list[str]:
        """Give the files of the metadata back, before the marker of a clean shutdown is written; return what went
        wrong, in sentences. Nothing must be under way."""
        try:
            self.metadata.close()
        except StorageError as failed:
            return [str(failed)]
        return []

    def give_up_start(self, close_metadata: Callable[[], list[str]]) -> None:
        """Leave the directories as they were found, since the start is given up before any log of a partition was
        opened; nothing must be under way. What cannot be left so is recovered by the next start."""
        if not close_metadata():
            with suppress(OSError):
                for directory in self.directories:
                    directory.put_marker_back(self.fs)

    def stop(self) -> None:
        """End the threads; the roles have ended before."""
        self.upkeep_threads.shutdown()
        self.metadata_threads.stop()
        self.authentication_threads.stop()
        self.tls_threads.stop()

    def metadata_options(self) -> tuple[str, MetadataOptions]:
        """Return the log directory that the metadata log is in, and what it depends on."""
        settings = self.settings
        path = self.metadata_path
        directory = self.metadata_directory = next(found for found in self.directories if found.path == path)
        options = MetadataOptions(
            node_id=settings.node_id,
            topic_config=settings.topic_defaults.with_overrides(
                {
                    "segment.bytes": str(max(settings.metadata_log_segment_bytes, 1024 * 1024)),
                    "segment.ms": str(settings.metadata_log_segment_ms),
                    "cleanup.policy": "delete",
                    "compression.type": "producer",
                    "file.delete.delay.ms": "60000",
                }
            ),
            min_insync_replicas=str(settings.topic_defaults.min_insync_replicas),
            clean=was_clean_shutdown(self.fs, directory.path),
            snapshots=SnapshotSchedule(
                settings.metadata_log_max_record_bytes_between_snapshots, settings.metadata_log_max_snapshot_interval_ms
            ),
            limits=MetadataRetention(settings.metadata_max_retention_bytes, settings.metadata_max_retention_ms),
            leads_others=bool(settings.controller_listeners),
            has_partitions=settings.quorum.is_broker,
            note_error=self.failures.note,
        )
        return directory.path, options

    def _open_metadata(self) -> MetadataLog:
        path, options = self.metadata_options()
        try:
            found = find_metadata(self.fs, path, options, self.directories, internal_topics(self.settings))
            make_log_directories(self.fs, self.directories)
            take_marker = partial(self.metadata_directory.take_marker, self.fs)
            return open_metadata_log(self.fs, path, options, self.clock, found, take_marker)
        except OSError as failed:
            raise StorageError(
                f"the metadata in {path} cannot be opened: {failed.strerror or failed}; see that the disk has"
                " space and that the user that runs the broker may read and write there"
            ) from failed


def _log_end(reason: str) -> None:
    log.error("cannot go on", reason=reason)
