"""The bytes of the records of `__consumer_offsets`, and back.

A key begins with the number of its type, a value with its version; a null value removes what the key names. Commits of
offsets are by far the commonest records: their keys, and the two forms of value that Kafka 4.3 writes, are made and
read by hand. All else goes through the declared messages. Versions written are those of Kafka 4.3, versions read are
all there are. Must not know: what records mean to a group.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.protocol.codec import DecodeError, Message, decode, encode_into
from odradek.protocol.uuids import ZERO_UUID

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2

NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1

_TYPE: Final = Struct(">h")
_INT32: Final = Struct(">i")
_EXPIRING: Final = Struct(">qq")
_LATEST_HEAD: Final = Struct(">hqi")
_LATEST_TIME: Final = Struct(">q")
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"
_WITH_TOPIC_ID: Final = 8 + len(_TOPIC_ID_TAG) + 16
"""Bytes behind the metadata text of a value of version 4 that has a topic id: time, one tag, the id."""
_EXPIRING_VERSION: Final = 1
_LATEST_VERSION: Final = 4
_SHORT_TEXT: Final = 126
"""Longest text whose compact length is a single byte."""

_WRITTEN_VERSIONS: Final = {OFFSET_COMMIT: _LATEST_VERSION, GROUP_METADATA: 3}
"""Of values; 0 for the types that are not named here."""

_NAMES: Final = {
    LEGACY_OFFSET_COMMIT: "LegacyOffsetCommit",
    OFFSET_COMMIT: "OffsetCommit",
    GROUP_METADATA: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    16: "ConsumerGroupRegularExpression",
}


class UnknownRecordError(Exception):
    """A key of a type that is not known here: written by a later version, or for share or streams groups."""

    def __init__(self, number: int) -> None:
        super().__init__(f"unknown type {number} of a record key")
        self.number = number


class OffsetKey(NamedTuple):
    """Whose offset, in which partition."""

    group: str
    topic: str
    partition: int


class OffsetAndMetadata(NamedTuple):
    """How far a group has read in a partition."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: int = NO_TIMESTAMP
    """Milliseconds since 1970 UTC."""
    expire_timestamp: int = NO_TIMESTAMP
    """When it expires, where its client said so (OffsetCommit 2 to 4); -1: the retention of the broker counts."""
    topic_id: UUID = ZERO_UUID


class OffsetRecord(NamedTuple):
    """A committed offset on its way to the log."""

    key: OffsetKey
    raw_key: bytes
    value: bytes | None
    """None removes the offset."""


# records of any type


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Return key and value of a record as they are stored."""
    number = type(record.key).SCHEMA.api_key
    key = bytearray(_TYPE.pack(number))
    encode_into(key, record.key, 0)
    if record.value is None:
        return bytes(key), None
    version = _WRITTEN_VERSIONS.get(number, 0)
    value = bytearray(_TYPE.pack(version))
    encode_into(value, record.value, version)
    return bytes(key), bytes(value)


def record_type(key: bytes) -> int:
    """Return the number of a key's type; raise DecodeError where the key is too short for one."""
    if len(key) < _TYPE.size:
        raise DecodeError(f"a record key of {len(key)} bytes has no type")
    number: int = _TYPE.unpack_from(key)[0]
    return number


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Return the record that key and value stand for.

    Raises:
        UnknownRecordError: for a key of an unknown type.
        DecodeError: for bytes that are no record, or a value of an unknown version.
    """
    number = record_type(key)
    name = _NAMES.get(number)
    if name is None:
        raise UnknownRecordError(number)
    from odradek.protocol.messages import group_records

    key_class: type[Message] = getattr(group_records, f"{name}Key")
    decoded_key, _ = decode(key_class, key, 0, _TYPE.size)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    value_class: type[Message] = getattr(group_records, f"{name}Value")
    version = record_type(value)
    versions = value_class.SCHEMA.versions
    if not versions.first <= version <= versions.last:
        raise DecodeError(f"{name}: version {version} of the value is not known")
    decoded_value, _ = decode(value_class, value, version, _TYPE.size)
    return CoordinatorRecord(decoded_key, decoded_value)


# commits of offsets


def encode_offset_key(key: OffsetKey) -> bytes:
    """Return the key of a commit as it is stored."""
    group, topic = key.group.encode(), key.topic.encode()
    return b"".join(
        (
            b"\0\x01",
            len(group).to_bytes(2, "big"),
            group,
            len(topic).to_bytes(2, "big"),
            topic,
            _INT32.pack(key.partition),
        )
    )


def encode_commit(key: OffsetKey, committed: OffsetAndMetadata | None) -> OffsetRecord:
    """Return the record of a commit; None removes the offset."""
    return OffsetRecord(key, encode_offset_key(key), None if committed is None else encode_committed(committed))


def decode_offset_key(key: bytes) -> OffsetKey:
    """Return whose offset a key of type 0 or 1 names; raise DecodeError if it does not parse."""
    try:
        start = 4 + int.from_bytes(key[2:4], "big")
        group = key[4:start].decode()
        end = start + 2 + int.from_bytes(key[start : start + 2], "big")
        topic = key[start + 2 : end].decode()
        (partition,) = _INT32.unpack_from(key, end)
    except (UnicodeDecodeError, error) as bad:
        raise DecodeError(f"the key of a committed offset does not parse: {bad}") from None
    return OffsetKey(group, topic, partition)


def encode_committed(committed: OffsetAndMetadata) -> bytes:
    """Return the value of a commit as it is stored."""
    text = committed.metadata.encode()
    if committed.expire_timestamp != NO_TIMESTAMP:  # only version 1 has a place for it
        times = _EXPIRING.pack(committed.commit_timestamp, committed.expire_timestamp)
        return b"".join(
            (b"\0\x01", committed.offset.to_bytes(8, "big", signed=True), _TYPE.pack(len(text)), text, times)
        )
    return b"".join(
        (
            _LATEST_HEAD.pack(_LATEST_VERSION, committed.offset, committed.leader_epoch),
            _compact_length(len(text)),
            text,
            _LATEST_TIME.pack(committed.commit_timestamp),
            b"\0" if committed.topic_id == ZERO_UUID else _TOPIC_ID_TAG + committed.topic_id.bytes,
        )
    )


def decode_committed(value: bytes) -> OffsetAndMetadata:
    """Return what the value of a commit, of any version, says; raise DecodeError if it does not parse."""
    size = len(value)
    if size > _LATEST_HEAD.size and value[1] == _LATEST_VERSION and value[0] == 0 and value[14] <= _SHORT_TEXT:
        _, offset, leader_epoch = _LATEST_HEAD.unpack_from(value)
        after = 14 + value[14] if value[14] else 0
        if after and size == after + _WITH_TOPIC_ID and value[after + 8 : after + 11] == _TOPIC_ID_TAG:
            (timestamp,) = _LATEST_TIME.unpack_from(value, after)
            text = value[15:after].decode("utf-8", "replace")
            return OffsetAndMetadata(
                offset, leader_epoch, text, timestamp, NO_TIMESTAMP, UUID(bytes=value[after + 11 :])
            )
    return _decode_any(value)


def _decode_any(value: bytes) -> OffsetAndMetadata:
    from odradek.protocol.messages.group_records import OffsetCommitValue

    version = record_type(value)
    versions = OffsetCommitValue.SCHEMA.versions
    if not versions.first <= version <= versions.last:
        raise DecodeError(f"version {version} of a committed offset is not known")
    found, _ = decode(OffsetCommitValue, value, version, _TYPE.size)
    return OffsetAndMetadata(
        found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, found.expire_timestamp, found.topic_id
    )


def _compact_length(length: int) -> bytes:
    out = bytearray()
    rest = length + 1
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
