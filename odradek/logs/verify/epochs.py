"""Holding the leader epochs of the batches against each other, and against `leader-epoch-checkpoint`.

The checksum of a batch does not cover its leader epoch, so that nothing else would show a damaged one. Follows KIP-101
and Kafka's storage format, leader epoch cache rules.
"""

from __future__ import annotations

from bisect import bisect_right

from odradek.logs.verify.findings import VerifyFindings
from odradek.storage.checkpoints.leader_epochs import EpochStart

_UNKNOWN = -1
_MAX_OFFSET = 1 << 63


class EpochCheck:
    """Epochs never go back, and the checkpoint knows where each of them begins."""

    __slots__ = ("_before", "_entries", "_findings", "_is_open", "_next_start", "_run", "current", "path")

    def __init__(self, path: str, entries: list[EpochStart] | None, is_open: bool, findings: VerifyFindings) -> None:
        """Take the checkpoint's `entries`, None if it cannot be read; `is_open`: it may lag behind the log."""
        self.path = path
        self._entries = entries
        self._is_open = is_open
        self._findings = findings
        self.current = _UNKNOWN
        """Epoch of the last batch: one with another is to be shown to `change`."""
        self._before = _UNKNOWN
        self._run = ("", 0, 0)
        self._next_start = _MAX_OFFSET

    def change(self, epoch: int, log_path: str, position: int, offset: int, end_before: int) -> None:
        """Take note of a batch whose epoch is not that of the batch before it, which ended before `end_before`."""
        self._end_run(end_before)
        if epoch < self.current:
            if epoch == self._before:  # then it is the epoch in between that is odd
                path, at, odd = self._run
                self._findings.error(path, f"the leader epoch is {self.current}, but {epoch} follows", at, odd)
            else:
                reason = f"the leader epoch is {epoch}, but {self.current} came before it"
                self._findings.error(log_path, reason, position, offset)
        elif epoch != _UNKNOWN:
            self._check(epoch, log_path, position, offset)
        self._before, self.current = self.current, epoch
        self._run = (log_path, position, offset)

    def finish(self, end_offset: int) -> None:
        """Hold the checkpoint against the end of the log, which is `end_offset`."""
        self._end_run(end_offset)
        for number, (epoch, start) in enumerate(self._entries or ()):
            if start > end_offset:
                reason = f"epoch {epoch} starts at offset {start}, but the log ends at {end_offset}"
                self._findings.error(self.path, f"line {number + 3}: {reason}", None, start)

    def _end_run(self, end_offset: int) -> None:
        """Hold the next entry of the checkpoint against the batches of the epoch that has just ended."""
        start, self._next_start = self._next_start, _MAX_OFFSET
        if start < end_offset:
            reason = (
                f"another epoch starts at offset {start}, but the batches up to {end_offset - 1} have {self.current}"
            )
            self._findings.error(self.path, reason, None, start)

    def _check(self, epoch: int, log_path: str, position: int, offset: int) -> None:
        if self._entries is None:
            return
        slot = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset) - 1
        known = self._entries[slot].epoch if slot >= 0 else _UNKNOWN
        self._next_start = self._entries[slot + 1].start_offset if slot + 1 < len(self._entries) else _MAX_OFFSET
        if known == epoch:
            return
        found = f"the batch at byte {position} of {log_path} has epoch {epoch}"
        if self._is_open and known < epoch and slot == len(self._entries) - 1:
            self._findings.note(self.path, f"{found}, which is not in the checkpoint yet", None, offset)
        else:
            said = f"the checkpoint says {known} for its offset" if slot >= 0 else "the checkpoint does not know it"
            self._findings.error(self.path, f"{found}, but {said}", None, offset)
