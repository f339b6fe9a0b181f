"""Messages of versions 0 and 1, as they lie in old logs and in the requests of old clients: reading them.

Owns the layout of a message, its CRC-32, and wrappers: messages whose value is a compressed set of messages. Messages
are made in `legacy_building`. A message knows neither producer, transaction, headers nor leader epoch; version 0 has
no timestamp either. Follows Kafka's storage format, message set V0/V1 (KIP-31 relative offsets, KIP-32 timestamps).
"""

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from odradek.protocol.records import lz4
from odradek.protocol.records.batch import (
    CODEC_MASK,
    LENGTH_AT,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MIN_ENTRY_LENGTH,
    NO_TIMESTAMP,
    Codec,
)
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.compression import DEFAULT_LIMIT, decompress
from odradek.protocol.records.errors import CorruptRecord, InvalidRecord
from odradek.protocol.records.record import Record

MIN_LENGTH_V0 = MIN_ENTRY_LENGTH
MIN_LENGTH_V1 = MIN_LENGTH_V0 + 8
"""Least `length` of a message, without the 12 bytes of offset and size: null key, null value."""
LEGACY_CRC_AT = LOG_OVERHEAD
LEGACY_ATTRIBUTES_AT = MAGIC_AT + 1

_HEAD = Struct(">qiIbB")
"""Offset, length, checksum, magic, attributes."""
_TIMESTAMP_AT = _HEAD.size
_FIELDS_AT = (_TIMESTAMP_AT, _TIMESTAMP_AT + 8)
"""Where the key starts, by magic."""
_INT32 = Struct(">i")
_INT64 = Struct(">q")


class LegacyMessage(NamedTuple):
    """One message as stored: a record, or the wrapper of several."""

    offset: int
    """Of a wrapper: that of its last record. Of one in a wrapper of version 1: its distance from the first."""
    length: int
    """Bytes after the fields of offset and length."""
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | memoryview | None
    """A view into the data in the case of a wrapper."""

    @property
    def size(self) -> int:
        """Bytes of the whole message."""
        return self.length + LOG_OVERHEAD

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_wrapper(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def is_log_append_time(self) -> bool:
        """Whether the time of the message, and of all it wraps, is the broker's."""
        return self.magic > 0 and self.attributes & LOG_APPEND_TIME_BIT != 0


def read_message(data: Buffer, position: int = 0) -> LegacyMessage:
    """Return the message at `position`; its checksum is not looked at.

    Raises CorruptRecord where no whole message of version 0 or 1 is, InvalidRecord where its fields do not fit into it.
    Bytes of it that come after the value are ignored, as in Kafka.
    """
    if len(data) - position < LOG_OVERHEAD + MIN_LENGTH_V0:
        raise CorruptRecord(f"The data ends inside the message at byte {position}")
    offset, length, crc, magic, attributes = _HEAD.unpack_from(data, position)
    end = position + LOG_OVERHEAD + length
    if magic not in (0, 1):
        raise InvalidRecord(f"A message of version {magic} cannot be in a message set")
    if length < (MIN_LENGTH_V1 if magic else MIN_LENGTH_V0) or end > len(data):
        raise CorruptRecord(f"The message at byte {position} cannot have the {length} bytes that it says")
    timestamp = _INT64.unpack_from(data, position + _TIMESTAMP_AT)[0] if magic else NO_TIMESTAMP
    key, at = _read_field(data, position + _FIELDS_AT[magic], end)
    field, _ = _read_field(data, at, end)
    value: bytes | memoryview | None = field
    if field is not None and not attributes & CODEC_MASK:
        value = bytes(field)
    return LegacyMessage(offset, length, crc, magic, attributes, timestamp, None if key is None else bytes(key), value)


def _read_field(data: Buffer, position: int, end: int) -> tuple[memoryview | None, int]:
    start = position + 4
    if start > end:
        raise InvalidRecord(f"The message that ends at byte {end} ends inside the size of a field")
    (length,) = _INT32.unpack_from(data, position)
    if length < 0:
        return None, start
    if start + length > end:
        raise InvalidRecord(f"A field of {length} bytes does not fit into its message")
    return memoryview(data)[start : start + length], start + length


def compute_message_crc(message: Buffer) -> int:
    """Return the checksum that the message (exactly its bytes) should carry."""
    return zlib.crc32(memoryview(message)[MAGIC_AT:])


def check_message_crc(message: Buffer) -> None:
    """Raise CorruptRecord if the message (exactly its bytes) does not have the checksum that it says, or is too
    small."""
    length = len(message) - LOG_OVERHEAD
    if length < MIN_LENGTH_V0 or (message[MAGIC_AT] == 1 and length < MIN_LENGTH_V1):
        raise CorruptRecord(
            f"Record is corrupt (crc could not be retrieved as the record is too small, size = {length})"
        )
    stored = int.from_bytes(message[LEGACY_CRC_AT:MAGIC_AT], "big")
    computed = compute_message_crc(message)
    if stored != computed:
        raise CorruptRecord(f"Record is corrupt (stored crc = {stored}, computed crc = {computed})")


def iter_message_records(entry: Buffer, limit: int = DEFAULT_LIMIT) -> Iterator[Record]:
    """Yield the records of the message at the start of `entry`: itself, or those that it wraps.

    At most `limit` bytes are decompressed. Checksums are not looked at. Raises CorruptRecord and InvalidRecord where
    a message is malformed, and the errors of `decompress`; records before the fault may have been yielded by then.
    """
    outer = read_message(entry)
    if not outer.is_wrapper:
        return iter((_record(outer.offset, outer, outer),))
    return _iter_wrapped(outer, unwrap(outer, limit))


def unwrap(wrapper: LegacyMessage, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return the decompressed messages of a wrapper, at most `limit` bytes; raise InvalidRecord, TooMuchData,
    DecompressionError."""
    if wrapper.codec == Codec.ZSTD:
        raise InvalidRecord(f"Messages of version {wrapper.magic} cannot be compressed with zstd")
    if wrapper.value is None:
        raise InvalidRecord(f"Found invalid compressed record set with null value (magic = {wrapper.magic})")
    if wrapper.codec == Codec.LZ4:
        return lz4.decompress(wrapper.value, limit, wrapper.magic)
    return decompress(wrapper.codec, wrapper.value, limit)


def iter_inner(content: Buffer) -> Iterator[int]:
    """Yield where each whole message of a wrapper's content starts; one that is cut off at the end is no fault.

    Raises CorruptRecord for a size that no message has, InvalidRecord where there is no message at all.
    """
    position, end = 0, len(content)
    while end - position >= LOG_OVERHEAD:
        (length,) = _INT32.unpack_from(content, position + LENGTH_AT)
        if length < MIN_LENGTH_V0:
            raise CorruptRecord(f"Record size {length} is less than the minimum record overhead ({MIN_LENGTH_V0})")
        after = position + LOG_OVERHEAD + length
        if after > end:
            break
        yield position
        position = after
    if position == 0:
        raise InvalidRecord("Found invalid compressed record set with no inner records")


def first_inner_offset(wrapper: LegacyMessage, content: Buffer) -> int:
    """Return what has to be added to the offset inside each message of `content` to get its offset in the log.

    Nothing in version 0. In version 1 the last message has the wrapper's offset, but for wrappers with offset 0, which
    some clients send whatever is in them. Raises InvalidRecord where the wrapper's offset is too small for that.
    """
    if wrapper.magic == 0:
        return 0
    last = 0
    for position in iter_inner(content):
        last = position
    if wrapper.offset == 0:
        return 0
    (last_relative,) = _INT64.unpack_from(content, last)
    if wrapper.offset < last_relative:
        raise InvalidRecord(
            f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper.offset}' is less "
            f"than the last inner message offset '{last_relative}' and it is not zero."
        )
    first: int = wrapper.offset - last_relative
    return first


def _iter_wrapped(wrapper: LegacyMessage, content: bytes) -> Iterator[Record]:
    base = first_inner_offset(wrapper, content)
    for position in iter_inner(content):
        inner = read_message(content, position)
        if inner.is_wrapper:
            raise InvalidRecord("Inner messages must not be compressed")
        yield _record(base + inner.offset, inner, wrapper)


def _record(offset: int, message: LegacyMessage, wrapper: LegacyMessage) -> Record:
    timestamp = message.timestamp
    if message.magic and wrapper.is_log_append_time:
        timestamp = wrapper.timestamp
    assert not isinstance(message.value, memoryview)
    return Record(offset, timestamp, message.key, message.value)
