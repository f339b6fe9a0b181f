"""Kafka's metadata records: their framing, and which of them this version understands.

Owns: `value of a log record <-> typed record`. Must not know: what a record does to an image, or files. The framing
is `uvarint frame version = 1 | uvarint record type | uvarint record version | body`, the body in flexible encoding
(KIP-631).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.protocol.codec import decode, encode
from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.messages import metadata_records as messages

FRAME_VERSION: Final = 1

Message = (
    messages.RegisterBrokerRecord
    | messages.UnregisterBrokerRecord
    | messages.TopicRecord
    | messages.PartitionRecord
    | messages.ConfigRecord
    | messages.PartitionChangeRecord
    | messages.FenceBrokerRecord
    | messages.UnfenceBrokerRecord
    | messages.RemoveTopicRecord
    | messages.DelegationTokenRecord
    | messages.UserScramCredentialRecord
    | messages.FeatureLevelRecord
    | messages.ClientQuotaRecord
    | messages.ProducerIdsRecord
    | messages.BrokerRegistrationChangeRecord
    | messages.AccessControlEntryRecord
    | messages.RemoveAccessControlEntryRecord
    | messages.RemoveUserScramCredentialRecord
    | messages.BeginTransactionRecord
    | messages.EndTransactionRecord
    | messages.AbortTransactionRecord
    | messages.RemoveDelegationTokenRecord
    | messages.RegisterControllerRecord
    | messages.ClearElrRecord
    | messages.NoOpRecord
)
"""The records that mean something here, and the one that is written to mean nothing."""

_KNOWN: Mapping[int, type[Message]] = MappingProxyType(
    {message.SCHEMA.api_key: message for message in Message.__args__}
)
_CARRY_NOTHING = frozenset({messages.NoOpRecord.SCHEMA.api_key, messages.ZkMigrationStateRecord.SCHEMA.api_key})
"""Types that are stepped over, whatever their version."""


class MetadataRecord(NamedTuple):
    """A record, typed and as it stands in the log."""

    message: Message
    value: bytes


def make_record(message: Message, version: int = 0) -> MetadataRecord:
    """Return the message as a record of that version."""
    head = bytes((FRAME_VERSION, message.SCHEMA.api_key, version))
    return MetadataRecord(message, head + encode(message, version))


def read_record(value: memoryview | bytes, offset: int) -> MetadataRecord | None:
    """Return the record in a log record's value, or None if its type carries nothing for a broker.

    `offset` is the log record's, for the messages of the errors. Raises UnsupportedMetadataError for a type or version
    that a newer Kafka wrote, CorruptMetadataError for anything that is not a metadata record.
    """
    frame_version, at = _uvarint(value, 0, offset)
    number, at = _uvarint(value, at, offset)
    version, at = _uvarint(value, at, offset)
    if frame_version != FRAME_VERSION:
        raise UnsupportedMetadataError(
            f"the metadata record at offset {offset} has frame version {frame_version}, not 1"
        )
    if number in _CARRY_NOTHING:
        return None
    kind = _KNOWN.get(number)
    if kind is None:
        raise UnsupportedMetadataError(
            f"the metadata record at offset {offset} has type {number} (version {version}), which this version of"
            " odradek does not know: a newer Kafka wrote it"
        )
    what = f"{kind.__name__} of version {version} at offset {offset} of the metadata log"
    if version not in kind.SCHEMA.versions:
        raise UnsupportedMetadataError(
            f"{what} is newer than this version of odradek, which knows it up to {kind.SCHEMA.versions.last}"
        )
    try:
        message, end = decode(kind, value, version, at)
    except DecodeError as error:
        raise CorruptMetadataError(f"{what} cannot be read: {error}") from error
    if end != len(value):
        raise CorruptMetadataError(f"{what} is followed by {len(value) - end} stray bytes")
    return MetadataRecord(message, bytes(value))


def _uvarint(value: memoryview | bytes, at: int, offset: int) -> tuple[int, int]:
    """Read one unsigned varint of at most five bytes; return it and the position behind it."""
    result = shift = 0
    while at < len(value) and shift <= 28:
        byte = value[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise CorruptMetadataError(f"the record at offset {offset} of the metadata log is not a metadata record")
