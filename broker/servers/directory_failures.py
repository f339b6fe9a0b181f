"""What a node does when one of its log directories fails.

Owns: which failure it survives. The replicas in a failed directory are offline, the others go on, and the controller is
told; without its metadata, and without any directory for partitions, a node stops, as in Kafka (KIP-112, KIP-858). A
node that is in no cluster and has a single directory goes on: nobody could take its place, and what can be read there
is all there is. Must not know: which errors count (`storage.directories.failures`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from odradek.broker.metadata.image import UNASSIGNED_DIRECTORY, MetadataImage, PartitionImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.logging import get_logger
from odradek.storage.directories.manager import LogManager
from odradek.storage.names import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.lifecycle.driver import LifecycleDriver
    from odradek.broker.servers.shared import SharedServer

log = get_logger("storage")


class BrokerParts(NamedTuple):
    """Those of a broker that a failure concerns."""

    logs: LogManager
    partitions: PartitionTable
    image: Callable[[], MetadataImage]
    lifecycle: LifecycleDriver | None
    """Tells the controller; None where there is none to be told."""


class FailedDirectories:
    """Takes the directories of a broker out of service that fail."""

    def __init__(self, shared: SharedServer, parts: BrokerParts) -> None:
        self._shared = shared
        self._parts = parts

    def begin(self) -> None:
        """Follow the failures from now on, where this node is to."""
        if self._parts.lifecycle is None and len(self._shared.directories) == 1:
            return
        call_soon = self._shared.loop.call_soon_threadsafe
        self._shared.failures.begin(lambda path, reason: call_soon(self._failed, path, reason))

    def _failed(self, path: str, reason: str) -> None:
        parts, shared = self._parts, self._shared
        directory = next(one for one in shared.directories if one.path == path)
        if path == shared.metadata_path:
            shared.end(f"log directory {path} has failed, and the metadata of this node is in it: {reason}")
        gone = parts.logs.fail_directory(path, reason)
        log.error(
            "log directory failed: its partitions are offline and the others go on; see the messages of the kernel,"
            " repair or replace the disk, and start this node again",
            directory=os.path.abspath(path),
            partitions=len(gone),
            reason=reason,
        )
        parts.partitions.lose(gone, parts.image(), f"log directory {path} has failed: {reason}")
        if not shared.partition_directories:
            shared.end(f"all log directories have failed, the last one was {path}: {reason}")
        if parts.lifecycle is not None and directory.meta is not None and directory.meta.directory_id is not None:
            self._tell(parts.lifecycle, directory.meta.directory_id, path)

    def _tell(self, lifecycle: LifecycleDriver, directory: UUID, path: str) -> None:
        """Tell the controller; where it cannot be told, it has to see that this node is gone."""
        lifecycle.directory_failed(directory)

        def check() -> None:
            if not lifecycle.has_told(directory):
                self._shared.end(
                    f"log directory {path} has failed, and no controller could be told within"
                    " log.dir.failure.timeout.ms"
                )

        self._shared.loop.call_later(self._shared.settings.log_dir_failure_timeout_ms / 1000, check)


def lose_what_is_missing(logs: LogManager, image: MetadataImage, node_id: int, *, is_alone: bool) -> None:
    """Keep partitions from being made anew whose logs may be in a directory that could not be used at start.

    Those are the ones that no directory has which can be read, unless the metadata places them in one of these, or
    nowhere yet; that of a node which `is_alone` does not place partitions where there are several directories. To be
    called once the logs that are there are open.
    """
    if not any(one.failure for one in logs.directories):
        return
    usable = {one.meta.directory_id for one in logs.directories if one.meta is not None and not one.failure}

    def may_be_lost(partition: PartitionImage) -> bool:
        if node_id not in partition.replicas:
            return False
        directory = partition.directory_of(node_id)
        return directory not in usable and (is_alone or directory != UNASSIGNED_DIRECTORY)

    for topic in image.topics_by_id.values():
        for index, partition in enumerate(topic.partitions):
            tp = TopicPartition(topic.name, index)
            if may_be_lost(partition) and not logs.has(tp):
                logs.lose(tp, topic.topic_id)
