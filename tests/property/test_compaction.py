"""Compaction against a plain model: after any history a reader finds the last committed value of every key."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.compaction.planning import CleanerLimits
from odradek.storage.deletions import PendingDeletions
from odradek.storage.log.log import Log
from odradek.storage.names import PRODUCER_SNAPSHOT_SUFFIX
from odradek.storage.opening.loader import Opening, open_log
from odradek.storage.producers.producer_state import AppendOrigin
from tests.support.compaction import compact_log, read_batches, read_pairs
from tests.support.logs import DIRECTORY, NOW_MS, PARTITION, TOPIC_ID, check_log, small_config
from tests.support.memory_files import MemoryFiles

RETENTION_MS = 1000
KEYS = st.one_of(st.none(), st.sampled_from([b"a", b"b", b"c", b"d", b"a long key " * 6]))
VALUES = st.one_of(st.none(), st.binary(max_size=40))
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5)
CODECS = st.sampled_from((Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD))
PRODUCERS = st.integers(1, 3)

Pair = tuple[int, bytes | None, bytes | None]


@dataclass
class Producer:
    """What a producer has done."""

    sequence: int = 0
    transaction: list[Pair] = field(default_factory=list)
    is_open: bool = False


class CompactionMachine(RuleBasedStateMachine):
    """A compacted log, beside all that was ever committed to it."""

    log: Log

    def __init__(self) -> None:
        super().__init__()
        self.fs = MemoryFiles()
        self.now_ms = NOW_MS
        self.committed: list[Pair] = []
        self.aborted: set[int] = set()
        self.written: dict[int, tuple[bytes | None, bytes | None, int]] = {}
        self.producers = {number: Producer() for number in (1, 2, 3)}
        self.checkpoint: int | None = None

    @initialize(segment_bytes=st.sampled_from((600, 2000)), jitter=st.integers(0, 1))
    def begin(self, segment_bytes: int, jitter: int) -> None:
        self.config = small_config(
            segment_bytes=segment_bytes,
            index_interval_bytes=100 * jitter,
            cleanup_policy=frozenset({"compact"}),
            delete_retention_ms=RETENTION_MS,
            min_cleanable_dirty_ratio=0.0,
        )
        self.open()

    def open(self, clean: bool = False, recovery_point: int = 0) -> None:
        opening = Opening(
            PARTITION,
            DIRECTORY,
            self.config,
            self.now_ms,
            clean,
            recovery_point,
            0,
            TOPIC_ID,
            verify_transactions=False,
        )
        self.log, findings = open_log(self.fs, opening, PendingDeletions(self.fs))
        assert findings == ()

    def append(self, pairs: list[tuple[bytes | None, bytes | None]], fields: BatchFields) -> list[Pair]:
        self.now_ms += 1
        first = self.log.log_end_offset
        records = [Record(number, self.now_ms - number, *pair) for number, pair in enumerate(pairs)]
        # the broker's own batches may have records without a key, as old ones may that a topic had before it compacted
        self.log.append(memoryview(build_batch(records, fields)), 0, self.now_ms, AppendOrigin.COORDINATOR)
        placed = [(first + number, *pair) for number, pair in enumerate(pairs)]
        for record, (offset, key, value) in zip(records, placed, strict=True):
            self.written[offset] = (key, value, record.timestamp)
        return placed

    @rule(pairs=PAIRS, codec=CODECS)
    def write(self, pairs: list[tuple[bytes | None, bytes | None]], codec: Codec) -> None:
        self.committed += self.append(pairs, BatchFields(codec=codec))

    @rule(number=PRODUCERS, pairs=PAIRS, codec=CODECS)
    def write_in_transaction(self, number: int, pairs: list[tuple[bytes | None, bytes | None]], codec: Codec) -> None:
        producer = self.producers[number]
        fields = BatchFields(
            codec=codec,
            producer_id=number,
            producer_epoch=0,
            base_sequence=producer.sequence,
            transactional=True,
        )
        producer.transaction += self.append(pairs, fields)
        producer.sequence += len(pairs)
        producer.is_open = True

    @rule(number=PRODUCERS, commits=st.booleans())
    def end_transaction(self, number: int, commits: bool) -> None:
        producer = self.producers[number]
        if not producer.is_open:
            return
        self.now_ms += 1
        marker = EndTransactionMarker(commits, 0)
        self.log.append_marker(build_end_transaction_batch(marker, number, 0, self.now_ms), 0, self.now_ms, 1)
        if commits:
            self.committed += producer.transaction
        else:
            self.aborted |= {offset for offset, _, _ in producer.transaction}
        producer.transaction = []
        producer.is_open = False

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def let_time_pass(self) -> None:
        self.now_ms += RETENTION_MS

    @rule(keys=st.sampled_from((2, 3, 1000)))
    def compact(self, keys: int) -> None:
        self.log.flush()
        stable = self.log.producers.first_unstable_offset(self.log.log_end_offset)
        before = read_pairs(self.log)
        outcome = compact_log(
            self.log,
            self.checkpoint,
            now_ms=self.now_ms,
            stable_offset=stable,
            limits=CleanerLimits(dedupe_buffer_bytes=(keys + 1) * 24, load_factor=1.0, io_buffer_bytes=1),
        )
        if outcome is None:
            return
        end = self.checkpoint = outcome.end_offset
        after = read_pairs(self.log)
        assert set(after) <= set(before)
        untouched = min(self.log.segments.active.base_offset, self.log.log_end_offset if stable is None else stable)
        assert [pair for pair in after if pair[0] >= untouched] == [pair for pair in before if pair[0] >= untouched]
        below = [pair for pair in after if pair[0] < end]
        keys_below = [key for _, key, _ in below]
        assert len(keys_below) == len(set(keys_below))
        assert None not in keys_below
        assert not self.aborted & {offset for offset, _, _ in below}

    @rule()
    def compact_twice(self) -> None:
        """Compacted again at the same moment, the log stays as it is."""
        self.compact(1000)
        once = read_pairs(self.log)
        self.compact(1000)
        assert read_pairs(self.log) == once

    @rule()
    def restart(self) -> None:
        self.log.flush()
        self.log.close()
        self.open(clean=True, recovery_point=self.log.recovery_point)

    @rule()
    def restart_without_snapshots(self) -> None:
        """What the producers did is known from the log alone."""
        self.log.flush()
        states = {
            number: (entry.epoch, entry.last_sequence, entry.last_data_offset, entry.transaction_first_offset)
            for number, entry in self.log.producers.entries.items()
        }
        self.log.close()
        for name in self.fs.listdir(DIRECTORY):
            if name.endswith(PRODUCER_SNAPSHOT_SUFFIX):
                self.fs.unlink(f"{DIRECTORY}/{name}")
        self.open(recovery_point=0)
        for number, entry in self.log.producers.entries.items():
            found = entry.epoch, entry.last_sequence, entry.last_data_offset, entry.transaction_first_offset
            assert found == states[number]
        assert set(self.log.producers.entries) == set(states)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Readers of committed records find the last value of each key; order, offsets and times are kept."""
        if not hasattr(self, "log"):
            return
        check_log(self.log)
        last: dict[bytes | None, tuple[int, bytes | None]] = {}
        for offset, key, value in sorted(self.committed):
            last[key] = (offset, value)
        offsets = []
        hidden = self.hidden()
        seen: dict[bytes | None, tuple[int, bytes | None]] = {}
        for header, records in read_batches(self.log):
            if header.is_control:
                continue
            for record in records:
                offsets.append(record.offset)
                assert self.written[record.offset] == (record.key, record.value, record.timestamp)
                if record.offset not in hidden:
                    seen[record.key] = (record.offset, record.value)
        assert offsets == sorted(set(offsets))
        for key, (offset, value) in last.items():
            if key is not None and value is not None:
                assert seen[key] == (offset, value)
            elif key is not None:
                assert seen.get(key, (offset, None)) == (offset, None)
        for producer in self.producers.values():
            assert {offset for offset, _, _ in producer.transaction} <= set(offsets)

    def hidden(self) -> set[int]:
        """The records that a reader of committed data does not get: by the log's own indexes, not by the model."""
        hidden = {offset for producer in self.producers.values() for offset, _, _ in producer.transaction}
        end = self.log.log_end_offset
        aborted = self.log.aborted_transactions(0, end) if end else []
        for header, records in read_batches(self.log):
            if any(
                one.producer_id == header.producer_id and one.first_offset <= header.base_offset < one.last_offset
                for one in aborted
            ):
                hidden |= {record.offset for record in records}
        return hidden


TestCompaction = CompactionMachine.TestCase
TestCompaction.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
