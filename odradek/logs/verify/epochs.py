"""Holding the leader epochs of the batches against each other, and against `leader-epoch-checkpoint`.

The checksum of a batch does not cover its leader epoch, so that nothing else would show a damaged one. Follows KIP-101
and Kafka's storage format, leader epoch cache rules.
"""

from __future__ import annotations

from bisect import bisect_right

from odradek.logs.verify.findings import Findings
from storage.leader_epochs import EpochStart

_UNKNOWN = -1


class EpochCheck:
    """Epochs never go back, and the checkpoint knows where each of them begins."""

    __slots__ = ("_before", "_entries", "_findings", "_is_open", "_run", "current", "path")

    def __init__(self, path: str, entries: list[EpochStart] | None, is_open: bool, findings: Findings) -> None:
        """Take the checkpoint's `entries`, None if it cannot be read; `is_open`: it may lag behind the log."""
        self.path = path
        self._entries = entries
        self._is_open = is_open
        self._findings = findings
        self.current = _UNKNOWN
        """Epoch of the last batch: one with another is to be shown to `change`."""
        self._before = _UNKNOWN
        self._run = ("", 0, 0)

    def change(self, epoch: int, log_path: str, position: int, offset: int) -> None:
        """Take note of a batch whose epoch is not that of the batch before it."""
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
        for number, (epoch, start) in enumerate(self._entries or ()):
            if start > end_offset:
                reason = f"epoch {epoch} starts at offset {start}, but the log ends at {end_offset}"
                self._findings.error(self.path, f"line {number + 3}: {reason}", None, start)

    def _check(self, epoch: int, log_path: str, position: int, offset: int) -> None:
        if self._entries is None:
            return
        slot = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset) - 1
        known = self._entries[slot].epoch if slot >= 0 else _UNKNOWN
        if known == epoch:
            return
        found = f"the batch at byte {position} of {log_path} has epoch {epoch}"
        if self._is_open and known < epoch and slot == len(self._entries) - 1:
            self._findings.note(self.path, f"{found}, which is not in the checkpoint yet", None, offset)
        else:
            said = f"the checkpoint says {known} for its offset" if slot >= 0 else "the checkpoint does not know it"
            self._findings.error(self.path, f"{found}, but {said}", None, offset)
