"""The records of `__transaction_state`, from and to bytes.

Owns: which version is written. Must not know: logs. Follows Kafka's `TransactionLog`.
"""

from __future__ import annotations

from struct import Struct, pack
from typing import Final

from odradek.broker.transactions.state import (
    NO_PARTITIONS,
    NO_PRODUCER_ID,
    Partitions,
    TransactionMetadata,
    TransactionState,
)
from odradek.protocol.codec import DecodeError, decode, encode_into
from odradek.protocol.codec.runtime import uvarint
from odradek.protocol.messages.transaction_records import (
    TransactionLogValue,
    TransactionPartitions,
)

KEY_VERSION: Final = 0
MAX_ID_BYTES: Final = 0x7FFF
"""The longest transactional id that a key can hold."""

_VERSION: Final = Struct(">h")
_KEY: Final = Struct(">hh")
"""The version of a key, and the length of the id behind it."""
_IDLE: Final = Struct(">hqhibBqqBBBq")
"""Version 1 without partitions (0: null, 1: none), with the producer id before as its first tagged field: what nearly
every record is that a load reads."""
_IDLE_TAG: Final = (0, 8)
_VERSION_TAG: Final = Struct(">BBh")
_HEAD: Final = Struct(">hqhib")
"""What comes before the partitions in version 1."""
_TIMES_AND_TAGS: Final = Struct(">qqB")
"""What comes behind them, and how many tagged fields follow."""
_ID_TAG: Final = Struct(">BBq")


def encode_key(transactional_id: str) -> bytes:
    """Return the key of a transactional id."""
    data = transactional_id.encode()
    return _KEY.pack(KEY_VERSION, len(data)) + data  # one of a record, three records of a transaction: kept short


def encode_value(known: TransactionMetadata, transaction_version: int) -> bytes:
    """Return what is known of an id as it is stored; `transaction_version` is the broker's."""
    if transaction_version >= 1:
        return _encode_value(known)
    value = bytearray(_VERSION.pack(0))
    partitions = None
    if known.state is not TransactionState.EMPTY:
        partitions = [
            TransactionPartitions(topic=topic, partition_ids=sorted(indexes))
            for topic, indexes in known.partitions.items()
        ]
    message = TransactionLogValue(
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        transaction_timeout_ms=known.timeout_ms,
        transaction_status=known.state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=known.updated_ms,
        transaction_start_timestamp_ms=known.started_ms,
    )
    encode_into(value, message, 0)
    return bytes(value)


def _encode_value(known: TransactionMetadata) -> bytes:
    """Return version 1, written by hand: each transaction has three, and most of what a coordinator does is this."""
    producer_id, epoch, timeout_ms, state, partitions, updated, started, _, previous, following, spoken = known
    value = bytearray(_HEAD.pack(1, producer_id, epoch, timeout_ms, state))
    if state is TransactionState.EMPTY:
        value += b"\0"  # null
    else:
        value += uvarint(len(partitions) + 1)
        for topic, indexes in partitions.items():
            name, count = topic.encode(), len(indexes)
            value += uvarint(len(name) + 1) + name + uvarint(count + 1)
            value += pack(f">{count}iB", *sorted(indexes), 0)
    has_previous, has_next, has_version = previous != NO_PRODUCER_ID, following != NO_PRODUCER_ID, spoken != 0
    value += _TIMES_AND_TAGS.pack(updated, started, has_previous + has_next + has_version)
    if has_previous:
        value += _ID_TAG.pack(0, 8, previous)
    if has_next:
        value += _ID_TAG.pack(1, 8, following)
    if has_version:
        value += _VERSION_TAG.pack(2, 2, spoken)
    return bytes(value)


def decode_key(key: bytes) -> str:
    """Return the transactional id of a key; DecodeError for a key of another type, or none at all."""
    if len(key) < _VERSION.size or _VERSION.unpack_from(key)[0] != KEY_VERSION:
        raise DecodeError("its key is not that of a transactional id")
    begin = 2 * _VERSION.size
    if len(key) < begin or _VERSION.unpack_from(key, _VERSION.size)[0] != len(key) - begin:
        raise DecodeError("its key is not as long as it says")
    try:
        return key[begin:].decode()
    except UnicodeDecodeError as bad:
        raise DecodeError(f"its key is no text: {bad.reason}") from None


def decode_value(value: bytes) -> TransactionMetadata:
    """Return what a record says of its id; DecodeError for a value of an unknown version or state, or none at all."""
    if len(value) < _VERSION.size:
        raise DecodeError(f"its value of {len(value)} bytes has no version")
    version = _VERSION.unpack_from(value)[0]
    if version == 1 and (idle := _decode_idle(value)) is not None:
        return idle
    if not 0 <= version <= 1:
        raise DecodeError(f"version {version} of its value is not known")
    message = decode(TransactionLogValue, value, version, _VERSION.size)[0]
    try:
        state = TransactionState(message.transaction_status)
    except ValueError:
        raise DecodeError(f"state {message.transaction_status} is not known") from None
    partitions: Partitions = NO_PARTITIONS
    if message.transaction_partitions and state is not TransactionState.EMPTY:
        partitions = {one.topic: frozenset(one.partition_ids) for one in message.transaction_partitions}
    return TransactionMetadata(
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
        timeout_ms=message.transaction_timeout_ms,
        state=state,
        partitions=partitions,
        updated_ms=message.transaction_last_update_timestamp_ms,
        started_ms=message.transaction_start_timestamp_ms,
        previous_id=message.previous_producer_id,
        next_id=message.next_producer_id,
        version=message.client_transaction_version,
    )


def _decode_idle(value: bytes) -> TransactionMetadata | None:
    """Return what the commonest kind of record says, quickly; None where it is of another kind."""
    more = len(value) - _IDLE.size
    if more not in (0, _VERSION_TAG.size):
        return None
    _, producer_id, epoch, timeout_ms, state, partitions, updated, started, tags, *tag, previous = _IDLE.unpack_from(
        value
    )
    spoken = 0
    if more:
        first, size, spoken = _VERSION_TAG.unpack_from(value, _IDLE.size)
        tags -= (first, size) == (2, 2)
    if partitions > 1 or tags != 1 or tuple(tag) != _IDLE_TAG or state not in _STATES:
        return None
    return TransactionMetadata(
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        state=_STATES[state],
        updated_ms=updated,
        started_ms=started,
        previous_id=producer_id if previous == producer_id else previous,
        version=spoken,
    )


_STATES: Final = {state.value: state for state in TransactionState}
