"""What planning needs to know of a cluster, whichever client asks it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol
from uuid import UUID

from pyspark_odradek.offsets import Offsets, TopicPartition


class ClusterView(Protocol):
    """A cluster seen from the driver. Every method raises ClusterError where the cluster cannot be asked."""

    def close(self) -> None:
        """Close all connections."""

    def topics(self) -> dict[str, list[int]]:
        """Return the topics of the cluster with their partitions, internal ones where settings ask for them."""

    def partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Return the partitions of those of these topics that exist."""

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID]:
        """Return the ids of those of these topics that were asked for before; none where brokers do not tell them."""

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Return the offset for a timestamp in ms, LATEST or EARLIEST, of each partition; NO_OFFSET if there is none.

        Readers of committed records only get the last stable offset as the latest. Raises UnknownTopicError.
        """
