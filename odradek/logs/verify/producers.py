"""Holding producer snapshots and transaction indexes against what the batches say of their producers.

The state of the producers is replayed as a broker does it after a crash. It is known in full where the log begins at
offset 0, or at a snapshot; it is no longer known behind a damaged batch, and in a log that compaction has been over.
Then only what must hold anyway is checked. Follows KIP-98 and Kafka's storage format, producer snapshot and transaction
index.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.logs.index_entries import ABORTED_ENTRY, IndexEntries
from odradek.logs.small_files import MAX_SNAPSHOT
from odradek.logs.verify.findings import VerifyFindings
from odradek.protocol.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import PRODUCER_SNAPSHOT_SUFFIX, file_name
from odradek.storage.producers.producer_entry import ProducerEntry
from odradek.storage.producers.producer_replay import replay
from odradek.storage.producers.producer_snapshot import decode_snapshot
from odradek.storage.producers.producer_state import ProducerStates
from odradek.storage.segment.transaction_index import AbortedTxn

NONE_LEFT = 1 << 63
_VERSION = 0


class ProducerCheck:
    """The producers of one log, as its batches are gone over."""

    __slots__ = ("_directory", "_findings", "_fs", "_offsets", "_start", "aborted", "exact", "next_snapshot", "states")

    def __init__(
        self, fs: FileSystem, directory: str, offsets: Sequence[int], start: int, findings: VerifyFindings
    ) -> None:
        """Begin at `start`, the first offset of the log; `offsets` are those of the snapshots, ascending."""
        self._fs = fs
        self._directory = directory
        self._findings = findings
        self._start = start
        self._offsets = list(offsets)
        self.states = ProducerStates(directory)
        self.exact = start == 0
        """Whether the state is known in full, so that anything else in a file is wrong."""
        self.aborted: list[AbortedTxn] = []
        """The transactions that markers of this segment have aborted."""
        self.next_snapshot = NONE_LEFT
        """Before a batch that begins at this offset or behind it, `pass_snapshots` is to be called."""
        self._advance()
        self.pass_snapshots(start)

    def pass_snapshots(self, offset: int) -> None:
        """Hold the snapshots up to `offset`, before which all batches have been seen, against the producers."""
        while self.next_snapshot <= offset:
            at = self._offsets.pop(0)
            found = self._read(at)
            if found is not None and at == self._start and not self.exact:
                self.states.replace(found, at)
                self.exact = True
            elif found is not None and at >= self._start:
                self._compare(at, found)
            self._advance()

    def take(self, header: BatchHeader, batch: bytes) -> None:
        """Take note of a batch with a producer; `batch` has its bytes if it is a control batch."""
        completed = replay(self.states, header, batch)
        if completed is not None and completed.is_aborted:
            stable = completed.last_stable_offset
            self.aborted.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
            )

    def check_transactions(self, path: str) -> None:
        """Hold the transaction index of the segment at `path` against its aborted transactions, and forget those."""
        expected, self.aborted = self.aborted, []
        try:
            file = self._fs.open(path, writable=False)
        except FileNotFoundError:
            if expected and self.exact:
                reason = f"the file is missing, but transactions were aborted in the segment ({len(expected)})"
                self._findings.error(path, reason, None, expected[0].last_offset)
            return
        entries = IndexEntries(file, ABORTED_ENTRY)
        if entries.stray_bytes:
            whole = entries.size - entries.stray_bytes
            self._findings.error(path, f"the size is no multiple of {ABORTED_ENTRY.size}", whole)
        last = -1
        for number, (version, *fields) in enumerate(entries):
            position, entry = number * ABORTED_ENTRY.size, AbortedTxn(*fields)
            if version != _VERSION:
                self._findings.error(path, f"the entry has the unknown version {version}", position)
            elif entry.last_offset <= last or entry.first_offset > entry.last_offset:
                self._findings.error(path, f"the entry does not follow the one before it: {_say(entry)}", position)
            elif self.exact and (number >= len(expected) or expected[number] != entry):
                wanted = _say(expected[number]) if number < len(expected) else "none"
                self._findings.error(path, f"the entry says {_say(entry)}; the log says {wanted}", position)
            last = entry.last_offset
        if self.exact and entries.count < len(expected):
            missing = expected[entries.count]
            reason = f"the aborted {_say(missing)} is not in the index"
            self._findings.error(path, reason, entries.count * ABORTED_ENTRY.size, missing.last_offset)

    def distrust(self) -> None:
        """Take note that a batch cannot be believed, or is missing: from here on, not everything is known."""
        self.exact = False

    def _advance(self) -> None:
        self.next_snapshot = self._offsets[0] if self._offsets else NONE_LEFT

    def _read(self, offset: int) -> list[tuple[int, ProducerEntry]] | None:
        path = f"{self._directory}/{file_name(offset, PRODUCER_SNAPSHOT_SUFFIX)}"
        try:
            if self._fs.size(path) > MAX_SNAPSHOT:
                self._findings.error(path, f"more than {MAX_SNAPSHOT} bytes are no producer snapshot")
                return None
            return list(decode_snapshot(self._fs.read_bytes(path), path))
        except CorruptFile as error:
            self._findings.error(path, error.reason, 0)
        except FileNotFoundError:
            self._findings.note(path, "the file vanished meanwhile")
        return None

    def _compare(self, offset: int, found: Sequence[tuple[int, ProducerEntry]]) -> None:
        """Hold a snapshot against the state; producers that are not in it may have been forgotten for their age."""
        if not self.exact:
            return
        path = f"{self._directory}/{file_name(offset, PRODUCER_SNAPSHOT_SUFFIX)}"
        for producer_id, theirs in found:
            ours = self.states.entries.get(producer_id)
            if ours is None:
                if theirs.last_data_offset >= self._start:
                    reason = f"producer {producer_id} wrote up to offset {theirs.last_data_offset}, says the snapshot; "
                    self._findings.error(path, reason + "the log has no batch of it", None, offset)
            elif (said := _state(theirs)) != (true := _state(ours)):
                reason = f"of producer {producer_id} the snapshot says {said}, but the log says {true}"
                self._findings.error(path, reason, None, offset)


def _state(entry: ProducerEntry) -> str:
    text = f"epoch {entry.epoch}, sequence {entry.last_sequence}, offset {entry.last_data_offset}"
    first = entry.transaction_first_offset
    return f"{text}, open transaction from {first}" if first >= 0 else text


def _say(aborted: AbortedTxn) -> str:
    return (
        f"transaction of producer {aborted.producer_id}, offsets {aborted.first_offset} to {aborted.last_offset}, "
        f"stable before {aborted.last_stable_offset}"
    )
