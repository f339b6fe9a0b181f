"""The empty record of a controller that has nothing to write, so that those who follow see that it lives.

Kafka's NoOpRecord of metadata.max.idle.interval.ms (KIP-835). Only where others follow: a node that is alone writes
none.
"""

from collections.abc import Callable

from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.source import MetadataSource
from odradek.protocol.messages.metadata_records import NoOpRecord


class IdleRecords:
    """Proposes an empty record whenever nothing else was since the last look."""

    def __init__(self, source: MetadataSource, in_turn: Callable[[Callable[[], object]], object]) -> None:
        """`in_turn` does what proposes a change when nothing else is being planned (`Controller.in_turn`)."""
        self._source = source
        self._in_turn = in_turn
        self._seen = source.proposed
        self._record: MetadataRecord = make_record(NoOpRecord())

    def look(self) -> None:
        """Look whether anything was written; to be called every so often."""
        if self._source.proposed is self._seen:
            self._in_turn(lambda: self._source.propose([self._record], self._source.proposed))
        self._seen = self._source.proposed
