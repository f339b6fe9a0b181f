"""Records to be written, and the group as it will be once they are.

Owns: the one idiom by which the machine decides in several steps: each step sees what the steps before it wrote,
although nothing is written, and the group does not change, until the whole is appended. Must not know: groups' rules.
"""

from __future__ import annotations

from collections.abc import Iterable

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.consumer.state import ConsumerGroupState


class Draft:
    """Starts as the group is; each record emitted changes the draft alone."""

    __slots__ = ("_copied", "records", "state")

    def __init__(self, state: ConsumerGroupState) -> None:
        self.state = state
        """For reading."""
        self.records: list[CoordinatorRecord] = []
        self._copied = False

    def emit(self, *records: CoordinatorRecord) -> None:
        """Write records, in this order."""
        self.emit_all(records)

    def emit_all(self, records: Iterable[CoordinatorRecord]) -> None:
        """Write records, in this order."""
        for record in records:
            if not self._copied:
                self.state = self.state.copy()
                self._copied = True
            self.state.apply(record)
            self.records.append(record)
