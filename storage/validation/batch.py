"""Validating one batch of a client, and making of it what the log is to store.

Owns the order of the checks, which decides the error that a client sees, and the changes to the batch: nothing at all
for most, a patched header where timestamps differ from what the header says, a new batch where the topic asks for
another codec or the records count their offsets wrongly. Follows Kafka's log behaviour, produce path (UnifiedLog,
LogValidator) and offset assignment.
"""

from struct import Struct
from typing import Final, NamedTuple, NoReturn

from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    CRC_AT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAX_TIMESTAMP_AT,
    MIN_ENTRY_LENGTH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Codec,
    check_crc,
    read_header,
)
from odradek.protocol.records.building import BatchFields, assemble_batch
from odradek.protocol.records.checksum import Buffer, crc32c
from odradek.protocol.records.compression import decompress
from odradek.protocol.records.errors import CorruptRecord, DecompressionError, InvalidRecord, TooMuchData
from odradek.storage.validation.effort import (
    BYTES_TO_A_STEP_OF_CHECKSUM,
    BYTES_TO_A_STEP_OF_DECOMPRESSION,
    LEAST_DECOMPRESSED,
    SMALL_BATCH,
    STEPS_TO_FRAME_A_RECORD,
    STEPS_TO_LOOK_AT_A_RECORD,
    STEPS_TO_WRITE_A_RECORD,
    Effort,
    TakesLonger,
)
from odradek.storage.validation.errors import MessageTooLarge, TooManyRecordsInBatch
from odradek.storage.validation.framing import MIN_RECORD_SIZE, check_framing
from odradek.storage.validation.records import ValidationResult, look_at_records, reject_records
from odradek.storage.validation.renumbering import MOST_RENUMBERED, renumber_records
from odradek.storage.validation.rules import MAX_TIMESTAMP, ValidationRules

_CLOSELY_LOOKED_AT: Final = 16
"""Records at the start of every batch that are looked at one by one; so small batches always are, as a whole.

Of the others in a larger batch, except the last, only lengths are checked, unless a rule of the topic concerns every
record. A client that is broken is caught by this; one made to deceive can get a malformed record into such a batch,
to the harm of those who read it. Beyond deceit are the count of records, hence all offsets, and timestamps in the
index.
"""
_LAST_CODEC: Final = Codec.ZSTD.value
_SMALL_RECORD: Final = 1024
"""Records of up to this size, on average, are copied out of the request first: indexing bytes is faster than a view."""

_OFFSET_FIELDS: Final = Struct(">qii")
_ATTRIBUTES: Final = Struct(">h")
_INT64: Final = Struct(">q")
_UINT32: Final = Struct(">I")


class ValidatedBatch(NamedTuple):
    """A batch that may be appended."""

    data: "memoryview"
    """The bytes to store: those given, without what followed the batch, or new ones."""
    header: BatchHeader
    """The header as it stands in `data`."""
    log_append_time_ms: int
    """The time that all records have now, -1 where each keeps the producer's."""
    max_timestamp: int


def validate_client_batch(
    data: memoryview | bytearray, rules: ValidationRules, now_ms: int, effort: Effort | None = None
) -> ValidatedBatch:
    """Check the V2 batch at the start of `data` and adapt it to the topic; offsets come later (`assign_offsets`).

    `data` must be writable: timestamps and checksum may be patched in place. Bytes after the batch are left out. Raises
    CorruptRecord, InvalidRecord, MessageTooLarge, TooManyRecordsInBatch, DecompressionError, TooMuchData, and
    RejectedRecords, which names the records at fault; and TakesLonger where `effort` does not suffice.
    """
    view = data if isinstance(data, memoryview) else memoryview(data)
    header = read_header(view)
    size = header.length + LOG_OVERHEAD
    if size != len(view):
        view = _without_rest(view, header)
    _check_header(view, header, rules, effort)
    attributes = header.attributes
    codec = attributes & CODEC_MASK
    body: Buffer
    if codec:
        start = 0
        body = _decompress(codec, view[HEADER_SIZE:], rules, effort)
    else:
        start = HEADER_SIZE
        body = bytes(view) if size <= header.records_count * _SMALL_RECORD else view
    found = _check_records(body, start, header, rules, effort)
    max_timestamp = _check_found(found, header, rules, now_ms)
    if max_timestamp is None:
        if effort is not None:
            effort.spend(header.records_count * STEPS_TO_LOOK_AT_A_RECORD)
        reject_records(body, start, header, rules, now_ms)
        max_timestamp = now_ms if rules.log_append_time else _greatest_timestamp(found, header)
    if not found.in_order or (rules.codec is not None and rules.codec != codec):
        if effort is not None:
            effort.spend(header.records_count * STEPS_TO_WRITE_A_RECORD + (len(body) >> 3))
        stored = _rewrite(body, start, header, rules, max_timestamp, found.in_order)
        header = read_header(stored)
        view = memoryview(stored)
    elif header.max_timestamp != max_timestamp or (attributes & LOG_APPEND_TIME_BIT != 0) is not rules.log_append_time:
        header = _patch_timestamps(view, header, rules.log_append_time, max_timestamp)
    log_append_time_ms = max_timestamp if rules.log_append_time else NO_TIMESTAMP
    return ValidatedBatch._make((view, header, log_append_time_ms, max_timestamp))  # a third of the time of a call


def assign_offsets(data: memoryview | bytearray, base_offset: int, leader_epoch: int) -> None:
    """Give the batch that `data` exactly is its place in the log, in place; the checksum does not cover these
    fields."""
    _OFFSET_FIELDS.pack_into(data, 0, base_offset, len(data) - LOG_OVERHEAD, leader_epoch)


def _without_rest(data: memoryview, header: BatchHeader) -> memoryview:
    """Return the batch without the bytes that follow it."""
    if header.length < MIN_ENTRY_LENGTH:
        raise CorruptRecord(
            f"Record size {header.length} is less than the minimum record overhead ({MIN_ENTRY_LENGTH})"
        )
    if header.size > len(data):
        raise InvalidRecord(f"The record batch of {header.size} bytes is incomplete: there are {len(data)}")
    return data[: header.size]


def _check_header(data: memoryview, header: BatchHeader, rules: ValidationRules, effort: Effort | None) -> None:
    """Check all that the header says; the order is Kafka's."""
    base_offset, _, _, magic, _, attributes, last_offset_delta, _, _, producer_id, _, base_sequence, count = header
    if magic != CURRENT_MAGIC:
        if not 0 <= magic < CURRENT_MAGIC:
            raise CorruptRecord(f"Invalid magic found in record: {magic}")
        raise InvalidRecord(f"Record batches with magic version {magic} are not accepted")
    if base_offset != 0:
        raise InvalidRecord(f"The baseOffset of the record batch should be 0, but it is {base_offset}")
    size = len(data)
    if size > rules.max_message_bytes:
        raise MessageTooLarge(size, rules.max_message_bytes)
    if size < HEADER_SIZE:
        raise CorruptRecord(
            f"Record batch is corrupt (the size {size} is smaller than the minimum allowed overhead {HEADER_SIZE})"
        )
    if effort is not None and size > SMALL_BATCH:
        effort.spend(size // BYTES_TO_A_STEP_OF_CHECKSUM)
    check_crc(data, header)
    if attributes & CODEC_MASK > _LAST_CODEC:
        raise DecompressionError(f"Unknown compression type id: {header.codec}")
    if last_offset_delta + 1 != count or count <= 0:
        _refuse_offsets(header)
    if attributes & CONTROL_BIT:
        raise InvalidRecord("Clients are not allowed to write control records")
    if base_sequence < 0 and producer_id > NO_PRODUCER_ID:
        raise InvalidRecord(f"Invalid sequence number {base_sequence} in record batch with producerId {producer_id}")


def _refuse_offsets(header: BatchHeader) -> NoReturn:
    if header.last_offset_delta < 0:
        raise InvalidRecord(f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}]")
    if header.records_count <= 0:
        raise InvalidRecord(f"Invalid reported count for record batch: {header.records_count}")
    raise InvalidRecord(
        f"Inconsistent batch offset range [{header.base_offset}, {header.last_offset}] "
        f"and count of records {header.records_count}"
    )


def _decompress(codec: int, data: memoryview, rules: ValidationRules, effort: Effort | None) -> bytes:
    """Return the records of the batch; raise DecompressionError, TooMuchData, TakesLonger."""
    limit = rules.decompressed_limit
    if effort is None:
        return decompress(codec, data, limit)
    possible = effort.steps * BYTES_TO_A_STEP_OF_DECOMPRESSION
    if possible < min(limit, LEAST_DECOMPRESSED):
        raise TakesLonger
    try:
        body = decompress(codec, data, min(limit, possible))
    except TooMuchData:
        if possible < limit:
            effort.steps = 0  # it was spent in vain, and must not be once more for the next batch
            raise TakesLonger from None
        raise
    effort.steps -= len(body) // BYTES_TO_A_STEP_OF_DECOMPRESSION
    return body


def _check_records(
    body: Buffer, start: int, header: BatchHeader, rules: ValidationRules, effort: Effort | None
) -> ValidationResult:
    """Check that the records are what the header says, each as closely as its batch demands."""
    count = header.records_count
    end = len(body)
    if count * MIN_RECORD_SIZE > end - start:
        raise InvalidRecord("Incorrect declared batch size, premature EOF reached")
    if count > rules.max_message_bytes and count > rules.records_limit:
        raise TooManyRecordsInBatch(count, rules.records_limit)
    if count > _CLOSELY_LOOKED_AT:
        if not rules.concern_every_record:
            if effort is not None:
                effort.spend(count * STEPS_TO_FRAME_A_RECORD)
            found = look_at_records(body, start, 0, _CLOSELY_LOOKED_AT, effort)
            last = check_framing(body, found.end, end, count - _CLOSELY_LOOKED_AT)
            found = found.and_then(look_at_records(body, last, count - 1, 1, effort))
            if found.in_order and (rules.log_append_time or header.max_timestamp == _greatest_timestamp(found, header)):
                return found
        if effort is not None:
            effort.spend(count * STEPS_TO_LOOK_AT_A_RECORD)  # a few are less work than to append them, and not counted
    found = look_at_records(body, start, 0, count, effort)
    if found.end != end:
        raise InvalidRecord("Incorrect declared batch size, records still remaining in file")
    return found


def _greatest_timestamp(found: ValidationResult, header: BatchHeader) -> int:
    """Return the greatest timestamp of the records, -1 if none is greater than that."""
    is_append_time = header.attributes & LOG_APPEND_TIME_BIT
    greatest = header.max_timestamp if is_append_time else header.base_timestamp + found.greatest_delta
    return greatest if greatest > NO_TIMESTAMP else NO_TIMESTAMP


def _check_found(found: ValidationResult, header: BatchHeader, rules: ValidationRules, now_ms: int) -> int | None:
    """Return the greatest timestamp that the batch is to be stored with, None if some record may have to be refused."""
    if rules.compacted and not found.keys:
        return None
    if rules.log_append_time:
        return None if header.attributes & LOG_APPEND_TIME_BIT else now_ms
    greatest = _greatest_timestamp(found, header)
    if greatest > now_ms + rules.timestamp_after_max_ms or greatest > MAX_TIMESTAMP:
        return None
    if header.attributes & LOG_APPEND_TIME_BIT:
        in_range = greatest != NO_TIMESTAMP and greatest >= now_ms - rules.timestamp_before_max_ms
    else:
        in_range = header.base_timestamp + found.least_delta >= now_ms - rules.timestamp_before_max_ms
    return greatest if in_range else None


def _patch_timestamps(data: memoryview, header: BatchHeader, log_append_time: bool, max_timestamp: int) -> BatchHeader:
    """Write the greatest timestamp and what kind it is into the batch, with the new checksum; return the new header."""
    attributes = header.attributes & (CODEC_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT)
    if log_append_time:
        attributes |= LOG_APPEND_TIME_BIT
    _ATTRIBUTES.pack_into(data, ATTRIBUTES_AT, attributes)
    _INT64.pack_into(data, MAX_TIMESTAMP_AT, max_timestamp)
    _UINT32.pack_into(data, CRC_AT, crc32c(data[ATTRIBUTES_AT:], 0))
    return read_header(data)


def _rewrite(
    body: Buffer, start: int, header: BatchHeader, rules: ValidationRules, max_timestamp: int, in_order: bool
) -> bytearray:
    """Return a new batch of the same records, with the topic's codec and offsets in a row."""
    codec = Codec(header.codec) if rules.codec is None else rules.codec
    base_timestamp = header.base_timestamp
    if header.is_log_append_time:
        records, _ = renumber_records(body, start, header.records_count, keep_timestamps=False)
        base_timestamp = header.max_timestamp
    elif not in_order:
        if header.records_count > MOST_RENUMBERED:
            raise TooManyRecordsInBatch(header.records_count, MOST_RENUMBERED)
        records, first_delta = renumber_records(body, start, header.records_count)
        base_timestamp += first_delta
    else:
        records = bytes(body[start:]) if start else bytes(body)
    fields = BatchFields(
        codec=codec,
        level=rules.level if codec is rules.codec else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        log_append_time_ms=max_timestamp if rules.log_append_time else None,
    )
    batch = assemble_batch(
        records,
        fields,
        offsets=(0, header.last_offset_delta),
        timestamps=(base_timestamp, max_timestamp),
        count=header.records_count,
    )
    if len(batch) > rules.max_message_bytes:
        raise MessageTooLarge(len(batch), rules.max_message_bytes)
    return batch
