"""Moves of replicas between the log directories of a broker, with its threads and settings."""

from __future__ import annotations

from typing import Final

from odradek.broker.metadata.source import MetadataImages
from odradek.broker.moving.replica_moves import MoveParts, PlaceReports, ReplicaMoves
from odradek.broker.partitions.flusher import BackgroundFlusher
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.replication.quota import dynamic_rate
from odradek.broker.servers.shared import SharedServer
from odradek.storage.directories.manager import LogManager

RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"


def replica_moves(
    shared: SharedServer,
    metadata: MetadataImages,
    logs: LogManager,
    partitions: PartitionTable,
    flusher: BackgroundFlusher,
    reports: PlaceReports | None,
) -> ReplicaMoves:
    """Return the moves of a broker; `reports` are those to its controller, if it has one."""
    settings = shared.settings
    return ReplicaMoves(
        MoveParts(
            loop=shared.loop,
            threads=shared.host.threads("odradek-move", max(len(settings.log_dirs), 1)),
            clock=shared.clock,
            logs=logs,
            partitions=partitions,
            flusher=flusher,
            rate=lambda: dynamic_rate(metadata.image, settings.node_id, RATE),
            reports=reports,
        )
    )
