"""Message sets of versions 0 and 1 from old clients: checked as Kafka checks them, and made into one V2 batch.

Owns the order of the checks on messages, plain or wrapped; the batch that results is then appended like a client's
(`validate_client_batch`), which gives it append times where the topic wants them. Old clients have not been the common
case for years: here every record is an object. Follows Kafka's log behaviour, produce path (UnifiedLog, LogValidator:
conversion to the current format).
"""

from collections.abc import Iterator
from itertools import islice

from odradek.protocol.records.batch import (
    CODEC_MASK,
    CURRENT_MAGIC,
    HEADER_SIZE,
    MAGIC_AT,
    NO_TIMESTAMP,
    Codec,
    check_crc,
    entry_size,
    read_header,
)
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.conversion import up_convert
from odradek.protocol.records.errors import CorruptRecord, DecompressionError, InvalidRecord, TooManyRecords
from odradek.protocol.records.legacy import (
    LegacyMessage,
    check_message_crc,
    first_inner_offset,
    iter_inner,
    read_message,
    unwrap,
)
from odradek.protocol.records.record import Record
from odradek.storage.validation.errors import MOST_RECORD_ERRORS, MessageTooLarge, RecordError, RejectedRecords
from odradek.storage.validation.rules import ValidationRules

UNWRAPPED_LIMIT = 32 * 1024 * 1024
"""Most that the wrappers of a request may hold: what old clients put into one is a batch of a megabyte or less."""
MOST_RECORDS = 200_000
"""Records that a request may have: a second or two of work. Old clients send some hundreds, or some thousands."""


class Allowance:
    """How much may still be converted for one request, whatever becomes of it: a few bytes can stand for very much."""

    __slots__ = ("records", "unwrapped_bytes")

    def __init__(self, unwrapped_bytes: int = UNWRAPPED_LIMIT, records: int = MOST_RECORDS) -> None:
        self.unwrapped_bytes = unwrapped_bytes
        self.records = records

    def take_record(self) -> None:
        """Count a record; raise TooManyRecords if it is one too many."""
        if self.records <= 0:
            raise TooManyRecords(MOST_RECORDS)
        self.records -= 1

    def unwrap(self, wrapper: LegacyMessage) -> bytes:
        """Return the content of a wrapper, and count it. Raises what `unwrap` raises, CorruptRecord, TooManyRecords."""
        content = unwrap(wrapper, self.unwrapped_bytes)
        self.unwrapped_bytes -= len(content)
        # Finding where messages begin takes no time compared to converting them, which would be in vain.
        if next(islice(iter_inner(content), self.records, None), None) is not None:
            raise TooManyRecords(MOST_RECORDS)
        return content


def convert_message_set(
    data: Buffer, rules: ValidationRules, now_ms: int, allowance: Allowance | None = None
) -> Buffer | None:
    """Return the V2 batch to append for the records of a produce request below version 3, None if there is no record.

    `data` holds messages of version 0 or 1, of which a last one that is cut off is left out, or one V2 batch, which is
    returned unchecked. Offsets count from 0, timestamps are the client's, the codec is the topic's or the wrapper's.
    `allowance` is what the request has left, by default that of a whole one. Raises CorruptRecord, InvalidRecord,
    MessageTooLarge, DecompressionError, TooMuchData, TooManyRecords, and RejectedRecords for timestamps and missing
    keys.
    """
    view = memoryview(data)
    allowance = allowance or Allowance()
    entries = list(_entries(view, rules, allowance.records))
    if not entries:
        return None
    first_magic = entries[0][MAGIC_AT]
    codec = max((entry[MAGIC_AT + 1] & CODEC_MASK for entry in entries if entry[MAGIC_AT] < CURRENT_MAGIC), default=0)
    if len(entries) > 1 and (first_magic == CURRENT_MAGIC or codec):
        raise InvalidRecord("Compressed outer record has more than one batch")
    if first_magic == CURRENT_MAGIC:
        return entries[0]
    if codec > Codec.ZSTD:
        raise DecompressionError(f"Unknown compression type id: {codec}")
    target = Codec(codec) if rules.codec is None else rules.codec
    fields = BatchFields(codec=target, level=rules.level if target is rules.codec else None)
    batch = up_convert(_checked_records(entries, rules, now_ms, allowance), fields)
    if len(batch) > rules.max_message_bytes:
        raise MessageTooLarge(len(batch), rules.max_message_bytes)
    return batch


def _entries(view: memoryview, rules: ValidationRules, most: int) -> Iterator[memoryview]:
    """Yield the whole messages after the checks that come first: their number, size, then checksum."""
    position = count = 0
    while size := entry_size(view, position):
        count += 1
        if count > most:
            raise TooManyRecords(MOST_RECORDS)
        entry = view[position : position + size]
        if size > rules.max_message_bytes:
            raise MessageTooLarge(size, rules.max_message_bytes)
        if entry[MAGIC_AT] < CURRENT_MAGIC:
            check_message_crc(entry)
        elif size < HEADER_SIZE:
            raise CorruptRecord(f"Record batch is corrupt (the size {size} is smaller than a header, {HEADER_SIZE})")
        else:
            check_crc(entry, read_header(entry))
        yield entry
        position += size


def _checked_records(
    entries: list[memoryview], rules: ValidationRules, now_ms: int, allowance: Allowance
) -> Iterator[Record]:
    """Yield the records of all messages; after those of a message in which any is to be refused, raise."""
    magic = entries[0][MAGIC_AT]
    for entry in entries:
        if entry[MAGIC_AT] != magic:
            raise InvalidRecord(
                f"Batch magic {entry[MAGIC_AT]} is not the same as the first batch's magic byte {magic}"
            )
        outer = read_message(entry)
        findings = _Findings(rules, now_ms, outer)
        for place, message in enumerate(_unwrapped(outer, allowance) if outer.is_wrapper else (outer,)):
            allowance.take_record()
            if findings.accept(place, message):
                timestamp = outer.timestamp if outer.is_wrapper and outer.is_log_append_time else message.timestamp
                assert not isinstance(message.value, memoryview)
                yield Record(0, timestamp, message.key, message.value)
        findings.conclude()


def _unwrapped(wrapper: LegacyMessage, allowance: Allowance) -> Iterator[LegacyMessage]:
    """Yield the messages in a wrapper, whose checksums are right; their offsets only have to be possible."""
    content = memoryview(allowance.unwrap(wrapper))
    first_inner_offset(wrapper, content)
    for position in iter_inner(content):
        message = read_message(content, position)
        if message.is_wrapper:
            raise InvalidRecord(
                "Compressed outer record should not have an inner record with compression attribute set"
            )
        check_message_crc(content[position : position + message.size])
        yield message


class _Findings:
    """What is wrong with the records of one message."""

    __slots__ = ("_earliest", "_errors", "_invalid_timestamp", "_latest", "_outer", "_rules")

    def __init__(self, rules: ValidationRules, now_ms: int, outer: LegacyMessage) -> None:
        self._rules = rules
        self._outer = outer
        self._earliest = now_ms - rules.timestamp_before_max_ms
        self._latest = now_ms + rules.timestamp_after_max_ms
        self._errors: list[RecordError] = []
        self._invalid_timestamp = False

    def accept(self, place: int, message: LegacyMessage) -> bool:
        """Take note of a message; return whether it may be stored, as long as all before it may."""
        problem = None
        if message.magic != self._outer.magic:
            problem = f"Inner magic {message.magic} does not match outer magic {self._outer.magic}"
        elif self._rules.compacted and message.key is None:
            problem = "Compacted topic cannot accept message without key"
        elif timestamp_problem := self._timestamp_problem(message):
            problem = timestamp_problem
            self._invalid_timestamp = True
        if problem and len(self._errors) < MOST_RECORD_ERRORS:
            self._errors.append(RecordError(place, problem))
        return not self._errors

    def conclude(self) -> None:
        """Raise RejectedRecords if a message was not accepted."""
        if self._errors:
            raise RejectedRecords(self._errors, self._invalid_timestamp)

    def _timestamp_problem(self, message: LegacyMessage) -> str | None:
        timestamp = message.timestamp
        append_time = self._outer.is_log_append_time
        if append_time and self._outer.is_wrapper:
            timestamp = self._outer.timestamp
        if timestamp < NO_TIMESTAMP:
            return f"Invalid negative timestamp {timestamp}"
        if not self._rules.log_append_time and timestamp != NO_TIMESTAMP:
            if self._earliest <= timestamp <= self._latest:
                return None
            return f"Timestamp {timestamp} is out of range [{self._earliest}, {self._latest}]"
        if append_time:
            return "Producer should not set timestamp type to LogAppendTime."
        return None
