"""What a partition remembers of the producers that write to it: sequences, epochs and open transactions.

Pure state, no files (see `storage.producers.producer_snapshot`). The log calls `check` before it writes a batch and
`update` once the batch is written, and the same for transaction markers, so that a failed write leaves no trace here.
Follows KIP-98 (idempotence, transactions), KIP-890 (verification of transactions), KIP-1228 (markers of transactions
version 2) and Kafka's `ProducerStateManager` and `ProducerAppendInfo`.

Where batches come from decides how much is checked:

| origin | duplicates | verification | epoch | sequence | transaction open or not |
|---|---|---|---|---|---|
| CLIENT | yes | yes | yes | yes | yes |
| COORDINATOR (offsets, transaction log, markers) | no | yes | yes | no | yes |
| REPLICATION, RECOVERY (checked by the leader, or before) | no | no | no | no | no |
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import chain, islice
from typing import NamedTuple, Protocol

from odradek.protocol.records.batch import BatchHeader
from odradek.storage.errors import CoordinatorFenced, InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from odradek.storage.producers.producer_entry import (
    NO_EPOCH,
    NO_OFFSET,
    SEQUENCE_MASK,
    ProducerEntry,
    Verification,
    WrittenBatch,
    is_expired,
)

__all__ = ["AppendOrigin", "CompletedTransaction", "ProducerEntry", "ProducerStates", "Verification", "WrittenBatch"]

_TRANSACTIONAL_BIT = 0x10
PRODUCERS_PER_STEP = 5_000
"""Producers that are looked at in one step of a job that looks at all."""
_FIRST_VERSION_WITH_EPOCH_BUMP = 2
_STRANGER = ProducerEntry()


class AppendOrigin(IntEnum):
    """Where a batch comes from."""

    CLIENT = 0
    COORDINATOR = 1
    REPLICATION = 2
    RECOVERY = 3


class FirstBatch(Protocol):
    """What has to be known of the first batch of a transaction for it to be verified: a header says it."""

    @property
    def producer_id(self) -> int:
        """Of the producer."""

    @property
    def producer_epoch(self) -> int:
        """Of the producer."""

    @property
    def base_sequence(self) -> int:
        """Of the first record; -1 for a coordinator's batch, whose sequence is not checked."""


class CompletedTransaction(NamedTuple):
    """A transaction with data in the partition that a marker has ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Of the marker."""
    last_stable_offset: int
    """Where the oldest transaction still open began, else the offset after the marker; ignores replication."""
    is_aborted: bool


class ProducerStates:
    """The producers of one partition; `end_offset` is the offset up to which the log is reflected, set by the log."""

    __slots__ = ("_completed", "_entries", "_open", "_verifications", "end_offset", "name", "verify_transactions")

    def __init__(self, name: str, end_offset: int = 0, verify_transactions: bool = True) -> None:
        """Start with no producers; `name` is the partition's, for messages.

        `verify_transactions` is the broker's `transaction.partition.verification.enable`.
        """
        self.name = name
        self.end_offset = end_offset
        self.verify_transactions = verify_transactions
        self._entries: dict[int, ProducerEntry] = {}
        # First offset -> producer id of open transactions. Ascending, as transactions start at the end of the log.
        self._open: dict[int, int] = {}
        # First offset -> marker's offset of completed ones that first_unstable_offset has not let go; markers ascend.
        self._completed: dict[int, int] = {}
        self._verifications: dict[int, Verification] = {}

    @property
    def entries(self) -> Mapping[int, ProducerEntry]:
        """The producers by their id."""
        return self._entries

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that a rebuild from the log could lose."""
        return not self._entries and not self._completed

    @property
    def open_count(self) -> int:
        """How many producers have an open transaction."""
        return len(self._open)

    def most_telling(self, limit: int) -> Iterator[tuple[int, ProducerEntry]]:
        """Yield up to `limit` producers with their ids: those with an open transaction, then others, newest first."""
        entries = self._entries
        others = (each for each in reversed(entries) if entries[each].transaction_first_offset < 0)
        for producer_id in islice(chain(self._open.values(), others), limit):
            yield producer_id, entries[producer_id]

    def check(
        self, header: BatchHeader, origin: AppendOrigin, guard: Verification | None = None
    ) -> WrittenBatch | None:
        """Return None if the data batch may be written, or the same batch if it was written before.

        `guard` is what `start_verification` gave for this batch, once the coordinator has confirmed the transaction.
        Raises InvalidProducerEpoch, OutOfOrderSequence or InvalidTxnState.
        """
        entry = self._entries.get(header.producer_id)
        if (
            entry is not None
            and header.base_sequence == entry.next_sequence
            and header.producer_epoch == entry.epoch
            and (header.attributes & _TRANSACTIONAL_BIT != 0) is (entry.transaction_first_offset >= 0)
            and (not self._verifications or header.producer_id not in self._verifications)
        ):
            return None  # what nearly all batches are: the next of a known producer
        if origin > AppendOrigin.COORDINATOR:
            return None
        return self._check_all(header, entry or ProducerEntry(), origin, guard)

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """Take note of a data batch that was written at `base_offset`, whatever it says."""
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry()
        if header.producer_epoch != entry.epoch:
            entry.set_epoch(header.producer_epoch)
        sequence = header.base_sequence
        delta = header.last_offset_delta
        if sequence >= 0:
            sequence = (sequence + delta) & SEQUENCE_MASK
        entry.add_batch(sequence, base_offset + delta, delta, header.max_timestamp)
        if header.attributes & _TRANSACTIONAL_BIT:
            if entry.transaction_first_offset < 0:
                entry.transaction_first_offset = base_offset
                self._open[base_offset] = producer_id
            if self._verifications:
                self._verifications.pop(producer_id, None)

    def check_marker(self, header: BatchHeader, coordinator_epoch: int, transaction_version: int) -> None:
        """Raise InvalidProducerEpoch or CoordinatorFenced if the transaction marker must not be written.

        From transactions version 2 on a marker has an epoch of its own, one above that of the transaction; the same
        epoch is accepted again where no transaction is open (the coordinator repeats itself, KAFKA-19999).
        """
        entry = self._entries.get(header.producer_id) or _STRANGER
        epoch = header.producer_epoch
        repeated = epoch == entry.epoch and entry.transaction_first_offset >= 0
        if epoch < entry.epoch or (transaction_version >= _FIRST_VERSION_WITH_EPOCH_BUMP and repeated):
            raise InvalidProducerEpoch(
                f"Epoch of producer {header.producer_id} in {self.name} is {epoch}, "
                f"but the last seen epoch is {entry.epoch} (transactions version {transaction_version})"
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise CoordinatorFenced(
                f"Invalid coordinator epoch for producer {header.producer_id} in {self.name}: {coordinator_epoch} "
                f"(zombie), {entry.coordinator_epoch} (current)"
            )

    def update_marker(
        self, header: BatchHeader, base_offset: int, coordinator_epoch: int, is_aborted: bool
    ) -> CompletedTransaction | None:
        """Take note of a transaction marker that was written at `base_offset`, whatever it says.

        Returns the transaction that it ends, or None if that one has no data here.
        """
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry()
        first_offset = entry.transaction_first_offset
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        entry.transaction_first_offset = NO_OFFSET
        self._end_verification(producer_id, header.producer_epoch)
        if first_offset < 0:
            return None
        self._open.pop(first_offset, None)
        self._completed[first_offset] = base_offset
        stable = next(iter(self._open), base_offset + 1)
        return CompletedTransaction(producer_id, first_offset, base_offset, stable, is_aborted)

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Return the first offset whose fate consumers of committed records cannot know yet, or None.

        That is where the oldest transaction began that is open, or whose marker is not below the high watermark. The
        high watermark must not be lower than in an earlier call.
        """
        completed = self._completed
        while completed:
            first = next(iter(completed))
            if completed[first] >= high_watermark:
                oldest = min(completed)
                return min(oldest, next(iter(self._open), oldest))
            del completed[first]
        opened = self._open
        return next(iter(opened)) if opened else None

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return whether the producer has written to the partition in a transaction that is not ended yet."""
        entry = self._entries.get(producer_id)
        return entry is not None and entry.transaction_first_offset >= 0 and entry.epoch == epoch

    def start_verification(self, header: FirstBatch, supports_epoch_bump: bool, now_ms: int) -> Verification | None:
        """Return the guard under which the coordinator is to be asked for the batch's transaction; None: no need to.

        `supports_epoch_bump` says that the producer uses transactions version 2. Raises InvalidProducerEpoch.
        """
        entry = self._entries.get(header.producer_id)
        if entry is not None:
            self._check_epoch(header, entry)
        if self.has_open_transaction(header.producer_id, header.producer_epoch):
            return None
        found = self._verifications.get(header.producer_id)
        if found is None:
            found = Verification(header.base_sequence, header.producer_epoch, supports_epoch_bump, now_ms)
            self._verifications[header.producer_id] = found
        else:
            found.add(header.base_sequence, header.producer_epoch)
        return found

    def forget_verifications(self) -> None:
        """Let no batch in any more that waits for the answer to an earlier question: somebody else led meanwhile."""
        self._verifications.clear()

    def remove_expired(self, now_ms: int, expiration_ms: int) -> Iterator[None]:
        """Forget the producers without an open transaction that were last heard of `expiration_ms` ago or earlier.

        Goes in steps of a few milliseconds; the state may change between two.
        """
        limit = now_ms - expiration_ms
        producer_ids = iter(list(self._entries))
        while step := list(islice(producer_ids, PRODUCERS_PER_STEP)):
            for producer_id in step:
                entry = self._entries.get(producer_id)
                if entry is not None and is_expired(entry, limit):
                    del self._entries[producer_id]
            yield
        for producer_id in [producer for producer, found in self._verifications.items() if found.started_ms <= limit]:
            del self._verifications[producer_id]

    def raise_start(self, log_start_offset: int) -> None:
        """Let go of completed transactions that end before the new start of the log."""
        for first in [first for first, last in self._completed.items() if last < log_start_offset]:
            del self._completed[first]
        self.end_offset = max(self.end_offset, log_start_offset)

    def replace(self, entries: Iterable[tuple[int, ProducerEntry]], end_offset: int) -> None:
        """Forget everything, and take the (producer id, entry) of a snapshot that was taken at `end_offset`."""
        self._entries = dict(entries)
        started = [
            (entry.transaction_first_offset, producer_id)
            for producer_id, entry in self._entries.items()
            if entry.transaction_first_offset >= 0
        ]
        self._open = dict(sorted(started))
        self._completed = {}
        self._verifications = {}
        self.end_offset = end_offset

    def _check_all(
        self, header: BatchHeader, entry: ProducerEntry, origin: AppendOrigin, guard: Verification | None
    ) -> WrittenBatch | None:
        if origin is AppendOrigin.CLIENT and header.producer_epoch == entry.epoch:
            duplicate = entry.find_duplicate(header.base_sequence, header.last_sequence)
            if duplicate is not None:
                return duplicate
        self._check_epoch(header, entry)
        verification = self._verifications.get(header.producer_id)
        is_open = entry.transaction_first_offset >= 0
        if (
            header.is_transactional
            and self.verify_transactions
            and not (is_open and header.producer_epoch == entry.epoch)
            and (guard is None or guard is not verification)
        ):
            raise InvalidTxnState("Record was not part of an ongoing transaction")
        if origin is AppendOrigin.CLIENT:
            if verification is not None:
                self._check_verified_sequence(header, entry, verification)
            self._check_sequence(header, entry)
        if is_open and not header.is_transactional:
            raise InvalidTxnState(f"Expected transactional write from producer {header.producer_id} in {self.name}")
        return None

    def _check_epoch(self, header: FirstBatch, entry: ProducerEntry) -> None:
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"Epoch of producer {header.producer_id} in {self.name} is {header.producer_epoch}, "
                f"which is smaller than the last seen epoch {entry.epoch}"
            )

    def _check_verified_sequence(self, header: BatchHeader, entry: ProducerEntry, verification: Verification) -> None:
        sequence = header.base_sequence
        if verification.supports_epoch_bump and sequence != 0 and not entry.batches:
            raise OutOfOrderSequence(
                f"Invalid sequence number for producer {header.producer_id} in {self.name}: {sequence} (incoming), "
                "expected 0 for a producer of transactions version 2 with no existing state"
            )
        if sequence > verification.lowest_sequence:
            raise OutOfOrderSequence(
                f"Out of order sequence number for producer {header.producer_id} in {self.name}: "
                f"{sequence} (incoming), {verification.lowest_sequence} (earliest seen)"
            )

    def _check_sequence(self, header: BatchHeader, entry: ProducerEntry) -> None:
        sequence = header.base_sequence
        if entry.epoch == NO_EPOCH:
            return  # nothing is known, perhaps because the producer's records were deleted: any start is right
        expected = entry.next_sequence if header.producer_epoch == entry.epoch else 0
        if sequence != expected:
            raise OutOfOrderSequence(
                f"Out of order sequence number for producer {header.producer_id} in {self.name}: {sequence} (incoming, "
                f"epoch {header.producer_epoch}), expected {expected} (current epoch {entry.epoch})"
            )

    def _end_verification(self, producer_id: int, marker_epoch: int) -> None:
        """Let go of a verification once its transaction is ended.

        A marker of version 2 with the epoch that is being verified ends the transaction before that one.
        """
        found = self._verifications.get(producer_id)
        if found is not None and not (found.supports_epoch_bump and found.epoch == marker_epoch):
            del self._verifications[producer_id]
