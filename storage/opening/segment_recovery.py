"""Recovering a segment after a crash: which of its batches are good, and all that follows from them.

The data file is read from its start; at the first batch that is damaged, cut off or out of order the file is cut.
Indexes are made anew, leader epochs and producers learn what the batches say. Doing it again changes nothing. Follows
Kafka's log behaviour, start-up load and recovery (`LogSegment.recover`).
"""

from typing import NamedTuple

from odradek.protocol.records.batch import NO_PRODUCER_ID, BatchHeader
from odradek.storage.checkpoints.leader_epochs import LeaderEpochCache
from odradek.storage.producers.producer_replay import index_if_aborted, replay
from odradek.storage.producers.producer_state import ProducerStates
from odradek.storage.segment.checked_scan import SegmentScan
from odradek.storage.segment.segment import Segment


class RecoveredSegment(NamedTuple):
    """What a recovery has found."""

    next_offset: int
    """First offset after the last good batch."""
    removed_bytes: int
    problem: str
    """Why bytes were removed; empty if none were."""


def recover_segment(
    segment: Segment,
    end_offset: int | None,
    leader_epochs: LeaderEpochCache,
    producers: ProducerStates,
    buffer: bytearray,
) -> RecoveredSegment:
    """Check the whole segment, cut it after the last good batch, and rebuild what is derived from it. Raises OSError.

    The next segment begins at `end_offset`, None if there is none: no batch can reach beyond that, whatever it says, as
    its checksum does not cover its offset. `producers` must reflect the log up to the segment. The segment is active
    afterwards, and not synced.
    """
    file = segment.file
    scan = SegmentScan(file, segment.base_offset, buffer, end_offset)
    segment.reset_indexes()
    segment.size = 0
    for position, size, last_offset, fields in scan:
        segment.note_batch(size, last_offset, fields[8])
        if fields[2] >= 0 and fields[2] != leader_epochs.epoch_for_offset(fields[0]):
            # The file may be older than the batch: of an epoch that this replica began there as leader, wrote nothing
            # in, and let go of as a follower.
            leader_epochs.truncate_from_end(fields[0])
            leader_epochs.assign(fields[2], fields[0])
        if fields[9] != NO_PRODUCER_ID:
            header = BatchHeader._make(fields)
            completed = replay(producers, header, file.pread(size, position) if header.is_control else b"")
            index_if_aborted(segment, completed)
    producers.end_offset = scan.next_offset
    removed = file.size() - scan.valid_bytes
    if removed:
        file.truncate(scan.valid_bytes)
        segment.was_cut = True
    segment.synced_size = 0
    segment.indexes.are_synced = False
    return RecoveredSegment(scan.next_offset, removed, scan.problem)
