"""One partition of `__transaction_state`: the transactional ids that live in it, and their transactions.

Owns: that a change counts once its record is committed, and what follows from it then: markers for the partitions of a
transaction whose end is decided, and the record that says that all have it. While either is under way the id is busy. A
record that is written and not committed in time is still waited for: who asked is told to ask again, and what is known
here is never other than what the log will say. Must not know: requests of any version, which partition an id belongs
to, how the log is read, who leads a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from odradek.broker.coordinator.background import Background, Slices
from odradek.broker.coordinator.plain_records import KeyAndValue
from odradek.broker.coordinator.timers import TimerLoop
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred, and_then
from odradek.broker.runtime.logging import get_logger
from odradek.broker.transactions.decisions import (
    Decision,
    NeedsProducerId,
    add,
    complete,
    end,
    fence,
    initialise,
    is_expired,
    is_overdue,
    verify,
)
from odradek.broker.transactions.markers import MarkerSender, Sending
from odradek.broker.transactions.playback import TransactionPlayback
from odradek.broker.transactions.records import MAX_ID_BYTES, encode_key, encode_value
from odradek.broker.transactions.state import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Partitions,
    Producer,
    TransactionMetadata,
    TransactionState,
)
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("transactions")

WAIT_AGAIN_S: Final = 1.0
"""After how long a write that failed, or a record that is not committed yet, is looked at again."""
TOMBSTONES_PER_BATCH: Final = 500
TOMBSTONE_BYTES_PER_BATCH: Final = 256 * 1024
IDS_PER_STEP: Final = 200
"""Ids looked at before others get their turn."""

Done = Callable[[ErrorCode], None]


class ProducerResult(NamedTuple):
    """What a producer is told that begins or ends a transaction."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True)
class TransactionShardServices:
    """What the shards of all partitions share."""

    scheduler: TimerLoop
    next_turn: Callable[[Callable[[], None]], object]
    """Calls before anything that arrives after this turn of the event loop is looked at."""
    clock: Clock
    background: Background
    markers: MarkerSender
    new_producer_id: Callable[[], int | KafkaError | Deferred[int | KafkaError]]
    transaction_version: Callable[[], int]
    """The level of the feature `transaction.version`."""


class TransactionShard:
    """The transactional ids of one partition of `__transaction_state`."""

    def __init__(self, writer: PartitionWriter, services: TransactionShardServices) -> None:
        """Make an empty one: call `loaded` once `playback` has all records."""
        self._writer = writer
        self._services = services
        self.transactions: dict[str, TransactionMetadata] = {}
        """What is committed of each id."""
        self._pending: set[str] = set()
        """Ids of which a record is written and not committed."""
        self._open: dict[str, None] = {}
        """Ids with a transaction that is open, the oldest first."""
        self._sending: dict[str, Sending] = {}
        """Markers on their way."""
        self._is_gone = False
        partition = writer.partition
        self._playback: TransactionPlayback | None = TransactionPlayback(
            self.transactions, f"{partition.topic}-{partition.index}"
        )

    @property
    def index(self) -> int:
        """Its number in the topic."""
        return self._writer.partition.index

    # life

    @property
    def playback(self) -> TransactionPlayback:
        """What takes the records of the log in."""
        assert self._playback is not None, "everything is read"
        return self._playback

    def loaded(self) -> None:
        """Serve, and go on with what was decided and may not have reached all partitions."""
        self._playback = None
        decided = []
        for transactional_id, known in self.transactions.items():
            if known.state is TransactionState.ONGOING:
                self._open[transactional_id] = None
            elif known.state.is_decided:
                decided.append(transactional_id)

        def slices() -> Slices[None]:
            for transactional_id in decided:
                if not self._is_gone:
                    self._send_markers(transactional_id)
                yield

        self._services.background.result_of(len(decided), slices())

    def unload(self, _error: ErrorCode) -> None:
        """Serve no more; who waits is told as soon as the writer is abandoned."""
        self._is_gone = True
        for sending in self._sending.values():
            sending.cancel()
        self._sending.clear()
        self._open.clear()

    # requests

    def initialise(
        self, transactional_id: str, expected: Producer | None, timeout_ms: int
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Let a producer begin; its id and epoch, or CONCURRENT_TRANSACTIONS, PRODUCER_FENCED, INVALID_REQUEST, or an
        error of the coordinator."""
        if len(transactional_id.encode()) > MAX_ID_BYTES:
            return ProducerResult(ErrorCode.INVALID_REQUEST)

        def decide(new_id: int | None) -> Decision:
            version, now = self._services.transaction_version(), self._now()
            known = self.transactions.get(transactional_id)
            is_busy = transactional_id in self._pending
            if known is None and is_busy:
                return ErrorCode.CONCURRENT_TRANSACTIONS
            return initialise(known, is_busy, expected, timeout_ms, version, now, new_id)

        def written(new: TransactionMetadata, error: ErrorCode) -> ProducerResult:
            if error is not ErrorCode.NONE:
                return ProducerResult(error)
            if new.state is not TransactionState.EMPTY:
                return ProducerResult(ErrorCode.CONCURRENT_TRANSACTIONS)
            return ProducerResult(ErrorCode.NONE, new.producer_id, new.producer_epoch)

        return self._change(transactional_id, decide, written, lambda: ProducerResult(ErrorCode.NONE))

    def add(
        self, transactional_id: str, producer: Producer, added: Partitions, version: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Take partitions into the transaction; NONE once that is committed."""

        def decide(_new_id: int | None) -> Decision:
            known, is_busy = self.transactions.get(transactional_id), transactional_id in self._pending
            return add(known, is_busy, producer, added, version, self._now())

        outcome = self._change(
            transactional_id, decide, lambda _, error: ProducerResult(error), lambda: ProducerResult(ErrorCode.NONE)
        )
        return outcome.then(_error_of) if isinstance(outcome, Deferred) else outcome.error

    def verify(self, transactional_id: str, producer: Producer) -> TransactionMetadata | ErrorCode:
        """Return what is known of a transaction that a broker asks about, or why it may not be told."""
        known = self.transactions.get(transactional_id)
        error = verify(known, producer)
        return known if known is not None and error is ErrorCode.NONE else error

    def end(
        self, transactional_id: str, producer: Producer, is_commit: bool, version: int
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Commit or abort; the producer that the next transaction has, once it is decided."""

        def decide(new_id: int | None) -> Decision:
            known, is_busy = self.transactions.get(transactional_id), transactional_id in self._pending
            return end(known, is_busy, producer, is_commit, version, self._now(), new_id)

        def written(new: TransactionMetadata, error: ErrorCode) -> ProducerResult:
            if error is not ErrorCode.NONE:
                return ProducerResult(error)
            after = complete(new, new.updated_ms)
            return ProducerResult(ErrorCode.NONE, after.producer_id, after.producer_epoch)

        def unchanged() -> ProducerResult:
            known = self.transactions[transactional_id]
            return ProducerResult(ErrorCode.NONE, known.producer_id, known.producer_epoch)

        return self._change(transactional_id, decide, written, unchanged)

    # what time brings

    def abort_overdue(self) -> Iterator[None]:
        """Abort the transactions that have been open for longer than their producers wanted, an id at a step."""
        version = self._services.transaction_version()
        for transactional_id in list(self._open):
            if self._is_gone:
                return
            known, now = self.transactions.get(transactional_id), self._now()
            if known is not None and transactional_id not in self._pending and is_overdue(known, now):
                log.info(
                    "a transaction is aborted: its time is over",
                    transactional_id=transactional_id,
                    producer_id=known.producer_id,
                    producer_epoch=known.producer_epoch,
                    open_ms=now - known.started_ms,
                    timeout_ms=known.timeout_ms,
                )
                self._write(transactional_id, fence(known, version, now), lambda _: None)
            yield

    def forget_idle(self, retention_ms: int) -> Iterator[None]:
        """Remove the ids under which nothing has happened for so long, some at a step."""
        idle: list[str] = []
        size = 0
        for count, transactional_id in enumerate(list(self.transactions)):
            if self._is_gone:
                return
            known = self.transactions.get(transactional_id)
            is_free = transactional_id not in self._pending
            if known is not None and is_free and is_expired(known, retention_ms, self._now()):
                idle.append(transactional_id)
                size += len(transactional_id)
            if len(idle) >= TOMBSTONES_PER_BATCH or size >= TOMBSTONE_BYTES_PER_BATCH:
                self._remove(idle)
                idle, size = [], 0
                yield
            elif count % IDS_PER_STEP == 0:
                yield
        if idle:
            self._remove(idle)

    def _remove(self, idle: Sequence[str]) -> None:
        """Write tombstones, and forget the ids once these are committed."""
        self._pending.update(idle)

        def removed(error: ErrorCode) -> None:
            self._pending.difference_update(idle)
            if error is ErrorCode.NONE:
                for transactional_id in idle:
                    self.transactions.pop(transactional_id, None)

        pairs: list[KeyAndValue] = [(encode_key(transactional_id), None) for transactional_id in idle]
        self._append(pairs, removed, lambda _: None)

    # changes

    def _change(
        self,
        transactional_id: str,
        decide: Callable[[int | None], Decision],
        written: Callable[[TransactionMetadata, ErrorCode], ProducerResult],
        unchanged: Callable[[], ProducerResult],
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Do what is decided, and return what the producer is told once it is committed."""
        decision = decide(None)
        if isinstance(decision, NeedsProducerId):
            found = self._services.new_producer_id()

            def go_on(new_id: int | KafkaError) -> ProducerResult | Deferred[ProducerResult]:
                if isinstance(new_id, KafkaError):
                    return ProducerResult(new_id.code)
                if self._is_gone:
                    return ProducerResult(ErrorCode.NOT_COORDINATOR)
                return self._carry_out(transactional_id, decide(new_id), written, unchanged)

            return and_then(found, go_on)  # type: ignore[arg-type]  # mypy joins the union to object
        return self._carry_out(transactional_id, decision, written, unchanged)

    def _carry_out(
        self,
        transactional_id: str,
        decision: Decision,
        written: Callable[[TransactionMetadata, ErrorCode], ProducerResult],
        unchanged: Callable[[], ProducerResult],
    ) -> ProducerResult | Deferred[ProducerResult]:
        if isinstance(decision, ErrorCode):
            return unchanged() if decision is ErrorCode.NONE else ProducerResult(decision)
        assert not isinstance(decision, NeedsProducerId), "it has been given one"
        answer: Deferred[ProducerResult] = Deferred()
        self._write(transactional_id, decision, lambda error: answer.resolve(written(decision, error)))
        return answer.now_or_later()

    def _write(self, transactional_id: str, new: TransactionMetadata, told: Done) -> None:
        """Write what is new of an id; it counts once it is committed.

        Markers follow in the next turn of the event loop: whoever waits for the decision has its answer before them.
        """
        self._pending.add(transactional_id)

        def settled(error: ErrorCode) -> None:
            self._pending.discard(transactional_id)
            if error is not ErrorCode.NONE:
                return
            self._take_over(transactional_id, new)
            if new.state.is_decided:
                self._services.next_turn(partial(self._end_decided, transactional_id))

        value = encode_value(new, self._services.transaction_version())
        self._append([(encode_key(transactional_id), value)], settled, told)

    def _append(self, pairs: Sequence[KeyAndValue], settled: Done, told: Done) -> None:
        """Append records in one batch; `settled` hears how that went in the end, and then, or when it takes too long,
        `told` does."""
        try:
            end_offset = self._writer.append(pairs, self._now())
        except KafkaError as failed:
            settled(failed.code)
            told(failed.code)
            return

        if self._writer.is_safe(end_offset):
            settled(ErrorCode.NONE)
            told(ErrorCode.NONE)
        else:
            self._wait(end_offset, settled, told)

    def _wait(self, end_offset: int, settled: Done, told: Done) -> None:
        """Wait until a record is committed, again and again; `told` does not wait for longer than a write may take."""
        if self._is_gone:
            return

        def waited(error: ErrorCode) -> None:
            is_safe = error is ErrorCode.NONE or (not self._is_gone and self._writer.is_safe(end_offset))
            if is_safe:
                settled(ErrorCode.NONE)
            told(error)
            if not is_safe and not self._is_gone:
                self._services.scheduler.call_later(WAIT_AGAIN_S, self._wait, end_offset, settled, told)

        self._writer.when_safe(end_offset, waited)

    def _take_over(self, transactional_id: str, new: TransactionMetadata) -> None:
        self.transactions[transactional_id] = new
        if new.state is TransactionState.ONGOING:
            self._open[transactional_id] = None
        else:
            self._open.pop(transactional_id, None)

    # the end of a transaction

    def _end_decided(self, transactional_id: str) -> None:
        """Send the markers of what was decided, unless somebody else leads by now."""
        if not self._is_gone:
            self._send_markers(transactional_id)

    def _send_markers(self, transactional_id: str) -> None:
        known = self.transactions[transactional_id]
        marker = TransactionMarker(
            producer_id=known.producer_id,
            producer_epoch=known.producer_epoch,
            coordinator_epoch=self._writer.partition.leader_epoch,
            committed=known.state is TransactionState.PREPARE_COMMIT,
            transaction_version=known.version,
        )
        sending = self._services.markers.send(marker, known.partitions, partial(self._markers_sent, transactional_id))
        if not sending.is_over:
            self._sending[transactional_id] = sending

    def _markers_sent(self, transactional_id: str, is_written: bool) -> None:
        self._sending.pop(transactional_id, None)
        if is_written:
            self._complete(transactional_id)

    def _complete(self, transactional_id: str) -> None:
        """All partitions have the marker: write that down, again and again if need be."""
        if self._is_gone:
            return
        known = self.transactions[transactional_id]

        def settled(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._take_over(transactional_id, completed)
            elif not self._is_gone:
                self._services.scheduler.call_later(WAIT_AGAIN_S, self._complete, transactional_id)

        completed = complete(known, self._now())
        value = encode_value(completed, self._services.transaction_version())
        self._append([(encode_key(transactional_id), value)], settled, lambda _: None)

    def _now(self) -> int:
        return self._services.clock.now_ms()


def _error_of(result: ProducerResult) -> ErrorCode:
    return result.error
