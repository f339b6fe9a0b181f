"""How much a round has to do for the bytes that it reads: a few kilobytes can stand for millions of records.

A batch may hold what one may that is produced to the topic (`storage.validation.rules`), or one of its own size. What
all of them hold together is counted in steps of about a microsecond: one for a record, one for half a kilobyte that
was decompressed. Kafka has no such bounds.
"""

from __future__ import annotations

from itertools import islice

from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.compaction.entries import Entry, body_of
from odradek.storage.validation.errors import TooManyRecordsInBatch
from odradek.storage.validation.rules import ValidationRules

BYTES_TO_A_STEP = 512
STEPS_OF_A_ROUND = 32_000_000
"""Half a minute. Six times the keys that the map takes by default, and 16 GiB of decompressed records: after so much
the map is as good as full, and other logs have their turn."""
STEPS_TO_A_BYTE = 4
"""What a byte of a file may cost beyond that: records with keys and offsets of their own take at least half a byte,
whatever compresses them."""

STEPS_TO_AN_OLD_RECORD = 2
"""Each is an object, and has at least 26 bytes."""
MOST_OLD_RECORDS = 1_000_000
"""Messages of V0 or V1 in a wrapper, which are all taken into memory; five times of what a client may send at once."""


class Workload:
    """What was to be done until now for one log."""

    __slots__ = ("_largest_batch", "_largest_work", "steps")

    def __init__(self, largest_batch: int) -> None:
        """`largest_batch`: bytes of the largest batch that the topic takes (max.message.bytes)."""
        self._largest_batch = largest_batch
        self._largest_work = STEPS_OF_A_ROUND
        self.steps = 0

    @property
    def fills_a_round(self) -> bool:
        """Whether it is enough for a round."""
        return self.steps >= STEPS_OF_A_ROUND

    @property
    def is_too_much(self) -> bool:
        """Whether it is more than the bytes that were taken stand for."""
        return self.steps > self._largest_work

    def take(self, entry: Entry) -> None:
        """Allow for the bytes of an entry."""
        self._largest_work += STEPS_TO_A_BYTE * (entry.end - entry.start)

    def open(self, entry: Entry) -> tuple[bytes, int, int]:
        """Return the uncompressed records of a V2 batch as (data, start, end), and count them.

        Raises TooManyRecordsInBatch, and the errors of `decompress`.
        """
        count, rules = entry.header.records_count, self._rules(entry)
        if count > rules.records_limit:
            raise TooManyRecordsInBatch(count, rules.records_limit)
        body = body_of(entry, rules.decompressed_limit)
        self.steps += count + (body[2] - body[1]) // BYTES_TO_A_STEP
        return body

    def open_old(self, entry: Entry) -> list[Record]:
        """Return the records of an entry of V0 or V1, a message or a wrapper of several, and count them.

        Raises InvalidRecord, and the errors of `decompress`.
        """
        limit = self._rules(entry).decompressed_limit
        found = iter_entry_records(memoryview(entry.data)[entry.start : entry.end], limit)
        records = list(islice(found, MOST_OLD_RECORDS + 1))
        if len(records) > MOST_OLD_RECORDS:
            raise InvalidRecord(f"It wraps more than {MOST_OLD_RECORDS} messages")
        self.steps += STEPS_TO_AN_OLD_RECORD * len(records)
        return records

    def _rules(self, entry: Entry) -> ValidationRules:
        return ValidationRules(max_message_bytes=max(self._largest_batch, entry.end - entry.start))
