"""What a broker is for a partition: the leader, with what it knows of the other replicas, or a follower.

The metadata says which. Must not know: logs, requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from odradek.broker.metadata.image import PartitionImage
from odradek.protocol.errors import ErrorCode


class Role(Enum):
    """What the metadata makes of this broker for a partition of which it holds a replica."""

    LEADER = "takes records and serves readers"
    FOLLOWER = "copies the leader's log; clients are sent to that one"


def role_of(image: PartitionImage, node_id: int) -> Role | None:
    """The role of a broker for a partition; None where it has no replica of it."""
    if image.leader == node_id:
        return Role.LEADER
    return Role.FOLLOWER if node_id in image.replicas else None


@dataclass(slots=True)
class Pulse:
    """When a follower last fetched that has all that there is of many partitions: noted once for all of them."""

    last_fetch_ms: int
    """Monotonic milliseconds."""


class LeaderReplicas(Protocol):
    """What the leader of a partition with several replicas knows of the others (`broker.replication.leadership`)."""

    @property
    def commit_code(self) -> ErrorCode:
        """What those are told who waited for the high watermark that has moved now."""

    @property
    def epoch_start_offset(self) -> int:
        """Where this leader epoch begins."""

    def check_enough(self) -> None:
        """Refuse an append with acks=all while too few replicas are in sync.

        Raises:
            KafkaError: NOT_ENOUGH_REPLICAS.
        """

    def advance(self) -> None:
        """Look at the high watermark again: the log has grown."""

    def has_replica(self, replica: int) -> bool:
        """Whether a broker is one of the partition's followers."""

    def is_in_sync(self, replica: int) -> bool:
        """Whether a follower is in the ISR."""

    def check_broker_epoch(self, replica: int, broker_epoch: int) -> None:
        """Refuse a follower that fetches under an older registration than the one that is known (KIP-903).

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER.
        """

    def fetched(
        self, replica: int, broker_epoch: int, fetch_offset: int, log_start_offset: int, leader_end: int
    ) -> None:
        """Note how far a follower is that has fetched while the log ended at `leader_end`."""

    def rest(self, replica: int, pulse: Pulse) -> None:
        """A follower that has everything fetches whenever the pulse says so, until `stir`."""

    def stir(self, replica: int) -> None:
        """Something has happened since a follower fetched last: what it has is told by its fetches again."""

    @property
    def low_watermark(self) -> int:
        """Where the logs of all replicas begin at the latest that are alive."""

    def when_started(self, offset: int, done: Callable[[ErrorCode], None]) -> bool:
        """Call `done` once all replicas that are alive begin at `offset` or later; returns False where they do already,
        and does not call."""

    def reconfigured(self) -> None:
        """The topic's configs have changed."""

    def ended(self) -> None:
        """Another broker leads from now on, or the partition is gone."""
