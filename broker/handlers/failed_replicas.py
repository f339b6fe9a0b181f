"""Which replicas lie in log directories that have failed, as clients are told of them.

In a cluster the registrations of the brokers say so (KIP-858); a node that is alone registers nowhere, and looks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Protocol

from odradek.broker.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionImage,
)
from odradek.storage.names import TopicPartition


class FailedReplicas(Protocol):
    """Tells the replicas in failed directories."""

    @property
    def state(self) -> object:
        """The same object as long as nothing changes."""

    def has_failed(self, topic: str, index: int, partition: PartitionImage, replica: int) -> bool:
        """Return whether one of the replicas of a partition lies in a failed directory."""


class InRegisteredDirectories:
    """`FailedReplicas` of a cluster. Follows Kafka's `BrokerRegistration.hasOnlineDir`."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

    @property
    def state(self) -> object:
        """The brokers that are registered."""
        return self._image().brokers

    def has_failed(self, _topic: str, _index: int, partition: PartitionImage, replica: int) -> bool:
        """Return whether the replica's directory is none that its broker has."""
        broker, directory = self._image().brokers.get(replica), partition.directory_of(replica)
        if broker is None or not broker.log_dirs or directory in (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY):
            return False
        return directory == LOST_DIRECTORY or directory not in broker.log_dirs


class InOwnDirectories:
    """`FailedReplicas` of a node that is alone."""

    def __init__(self, lost: Callable[[], Collection[TopicPartition]]) -> None:
        self._lost = lost

    @property
    def state(self) -> object:
        """How many there are."""
        return len(self._lost())

    def has_failed(self, topic: str, index: int, _partition: PartitionImage, _replica: int) -> bool:
        """Return whether the only replica there is lies in a failed directory."""
        return TopicPartition(topic, index) in self._lost()


def offline_replicas(
    topic: str, index: int, partition: PartitionImage, alive: Container[int], failed: FailedReplicas
) -> list[int]:
    """Return the replicas that cannot serve: their broker is away, or their directory has failed."""
    return [
        replica
        for replica in partition.replicas
        if replica not in alive or failed.has_failed(topic, index, partition, replica)
    ]
