"""What the files of a partition directory came to: the value that a log starts from."""

from dataclasses import dataclass
from uuid import UUID

from odradek.storage.checkpoints.leader_epochs import LeaderEpochCache
from odradek.storage.log.flush_plan import Unsynced
from odradek.storage.names import TopicPartition
from odradek.storage.producers.producer_snapshot import ProducerSnapshots
from odradek.storage.producers.producer_state import ProducerStates
from odradek.storage.segment.segment import Segment


@dataclass(frozen=True, slots=True)
class LoadedLog:
    """What was found on disk, and made good: all that a `Log` starts from."""

    partition: TopicPartition
    directory: str
    topic_id: UUID | None
    segments: tuple[Segment, ...]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    leader_epochs: LeaderEpochCache
    producers: ProducerStates
    snapshots: ProducerSnapshots
    producer_expiration_ms: int
    unsynced: Unsynced
    is_intact: bool
    """Whether it was found as a clean stop leaves it; otherwise records may be missing at its end."""
    sync_problem: str
    """Why nothing may be appended before a flush has ended well (`LocalLog.sync_problem`)."""
    findings: tuple[str, ...]
    """What was not as it should be, and what was done about it: sentences for the broker's own log."""
