"""The power fails in the k-th file operation of a compaction, for every k: the last value of every key is there.

The child process writes and the broker swaps; here both use the same disk, so that a crash hits either.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.names import CLEANED_SUFFIX, SWAP_SUFFIX
from odradek.storage.producers.producer_state import AppendOrigin
from tests.crash.node import Journal, Node, crash_everywhere
from tests.support.compaction import compact_log
from tests.support.logs import NOW_MS, PARTITION, contents, read_all
from tests.support.memory_files import MemoryFiles

SEEDS = range(2)
KEYS = 5
PRODUCER = 7


class CompactedNode(Node):
    """A node whose partition is compacted; the key of a record is its offset modulo 5."""

    def __init__(self, fs: MemoryFiles, journal: Journal) -> None:
        journal.may_have_gaps = True
        super().__init__(fs, journal)
        self.config = self.config.with_overrides(
            {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0", "delete.retention.ms": "0"}
        )
        self.log.update_config(self.config)
        self.log.producers.verify_transactions = False
        self.check_keys()

    def check_keys(self) -> None:
        """Every key that was flushed has its last flushed value, or a later one; nothing half-done is left."""
        found = dict(read_all(self.log))
        flushed = self.journal.written[: self.journal.flushed]
        last = {offset % KEYS: offset for offset, value in enumerate(flushed) if value.startswith(b"record")}
        for key, offset in last.items():
            later = [one for one, value in found.items() if one % KEYS == key and (value or b"").startswith(b"record")]
            assert later
            assert max(later) >= offset
        names = contents(self.fs, self.log.directory)
        assert not [name for name in names if name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX))]

    def append(self, count: int) -> None:
        for _ in range(count):
            first = len(self.journal.written)
            values = [b"record %d" % offset for offset in range(first, first + 2)]
            records = [
                Record(number, NOW_MS + first, b"%d" % ((first + number) % KEYS), value)
                for number, value in enumerate(values)
            ]
            self.write(build_batch(records), values)

    def write(self, batch: bytearray, values: list[bytes]) -> None:
        """Append a batch, of which readers will see these values."""
        for offset, value in enumerate(values, len(self.journal.written)):
            self.journal.possible[offset].add(value)
        self.log.append(memoryview(batch), 0, NOW_MS, AppendOrigin.COORDINATOR)
        self.journal.written += values

    def abort_transaction(self, sequence: int) -> None:
        """Write two records and abort them."""
        records = [Record(number, NOW_MS, b"aborted", b"aborted") for number in range(2)]
        fields = BatchFields(producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence, transactional=True)
        self.write(build_batch(records, fields), [b"aborted", b"aborted"])
        marker = build_end_transaction_batch(EndTransactionMarker(False, 0), PRODUCER, 0, NOW_MS)
        value = b"\0\0\0\0\0\0"
        self.journal.possible[len(self.journal.written)].add(value)
        self.log.append_marker(marker, 0, NOW_MS, 1)
        self.journal.written.append(value)

    def compact(self) -> None:
        """Do a round as the broker does: what it touches is on the disk, and written down as such, before."""
        self.flush()
        self.checkpoint()
        outcome = compact_log(self.log, self.manager.checkpoints.cleaned_offsets.get(PARTITION), now_ms=NOW_MS + 10)
        if outcome is not None:
            write = self.manager.checkpoints.note_cleaned(PARTITION, outcome.end_offset)
            if write is not None:
                write()


def one_round(node: CompactedNode) -> None:
    """Fill segments, compact them, let the old files go, write on."""
    node.append(20)
    node.compact()
    node.run_deletions()
    node.append(4)
    node.flush()


def several_rounds(node: CompactedNode) -> None:
    """Compact what was compacted before, together with what is new, so that segments are written together."""
    for _ in range(3):
        node.append(9)
        node.compact()
    node.run_deletions()


def with_transactions(node: CompactedNode) -> None:
    """Compact over aborted transactions, of which the indexes of the segments speak."""
    for number in range(3):
        node.append(4)
        node.abort_transaction(2 * number)
    node.compact()
    node.append(6)
    node.compact()
    node.run_deletions()


def with_restarts(node: CompactedNode) -> None:
    """Stop and start between rounds."""
    node.append(10)
    node.compact()
    again = node.restart()
    assert isinstance(again, CompactedNode)
    again.append(10)
    again.compact()
    again.restart()


SCENARIOS = (one_round, several_rounds, with_transactions, with_restarts)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_last_value_is_lost_by_a_crash_in_compaction(scenario: Callable[[CompactedNode], None], seed: int) -> None:
    """Whatever the k-th operation is, keys keep their last flushed values, and a second start finds nothing to do."""
    assert crash_everywhere(CompactedNode, scenario, seed) > 50
