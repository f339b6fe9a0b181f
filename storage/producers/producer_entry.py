"""What is remembered of one producer on one partition.

Values of `storage.producers.producer_state`, which holds the rules. Follows Kafka's `ProducerStateEntry` (KIP-98) and
`VerificationStateEntry` (KIP-890).
"""

from typing import NamedTuple

BATCHES_KEPT = 5
"""Batches of a producer that are known again when they come twice: as many as a client may have in flight."""

NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1

SEQUENCE_MASK = 0x7FFF_FFFF
"""Sequence numbers are counted modulo 2^31."""


class WrittenBatch(NamedTuple):
    """A batch that was written before: what a producer that sends it again is told."""

    first_offset: int
    last_offset: int
    timestamp: int
    """Its largest timestamp, in ms."""


class ProducerEntry:
    """One producer, as of its last batch or marker. Changed only by its `ProducerStates` and when read from a file."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "next_sequence",
        "transaction_first_offset",
    )

    def __init__(self) -> None:
        self.epoch = NO_EPOCH
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        self.transaction_first_offset = NO_OFFSET
        self.next_sequence = 0
        self.batches: list[tuple[int, int, int, int]] = []
        """(last sequence, last offset, offset delta, timestamp) of up to five batches of this epoch, oldest first."""

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record of this epoch, -1 if there is none."""
        return self.batches[-1][0] if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """Offset of the last record of this epoch, -1 if there is none."""
        return self.batches[-1][1] if self.batches else NO_OFFSET

    def set_epoch(self, epoch: int) -> None:
        """Go on to another epoch: its batches are not known yet, and its sequence starts at 0."""
        if self.epoch != epoch:
            self.epoch = epoch
            self.batches.clear()
            self.next_sequence = 0

    def add_batch(self, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int) -> None:
        """Remember a written batch, and forget the sixth last."""
        batches = self.batches
        batches.append((last_sequence, last_offset, offset_delta, timestamp))
        if len(batches) > BATCHES_KEPT:
            del batches[0]
        self.next_sequence = (last_sequence + 1) & SEQUENCE_MASK
        self.last_timestamp = timestamp

    def find_duplicate(self, first_sequence: int, last_sequence: int) -> WrittenBatch | None:
        """Return the remembered batch with exactly these sequence numbers."""
        for sequence, offset, delta, timestamp in self.batches:
            if sequence == last_sequence and (sequence - delta) & SEQUENCE_MASK == first_sequence:
                return WrittenBatch(offset - delta, offset, timestamp)
        return None


class Verification:
    """A question to the transaction coordinator on its way: is the partition part of an open transaction? (KIP-890)

    The object itself is the guard that comes back with the batch: an answer to an older question is another object.
    """

    __slots__ = ("epoch", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, sequence: int, epoch: int, supports_epoch_bump: bool, started_ms: int) -> None:
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump
        self.started_ms = started_ms

    def add(self, sequence: int, epoch: int) -> None:
        """Note a further batch that waits for the same answer."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


def is_expired(entry: ProducerEntry, limit_ms: int) -> bool:
    """Return whether the producer has no open transaction and was last heard of at `limit_ms` or before."""
    return entry.transaction_first_offset < 0 and entry.last_timestamp <= limit_ms
