"""Requests of transactional producers as ready-made bytes, and what is read of their answers; beside `wire`.

In the versions of a client that lets Produce add partitions (KIP-890: Produce 12, EndTxn 5) and of one that tells the
coordinator before (AddPartitionsToTxn 3, Produce 11, EndTxn 4). Answers begin with the correlation id.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks import records, wire

_PRODUCE, _FIND_COORDINATOR, _INIT_PRODUCER_ID = 0, 10, 22
_ADD_PARTITIONS, _END, _DESCRIBE, _LIST = 24, 26, 65, 66
_NO_TAGS = b"\0"
_BODY_AT = 5
"""Where the body of a flexible answer begins: after the correlation id and the header's tags."""
_ATTRIBUTES_AT, _PRODUCER_AT = 21, 43
_TRANSACTIONAL = 0x10
_PRODUCER = struct.Struct(">qhi")

CONCURRENT_TRANSACTIONS = 51
NOT_YET = frozenset((14, 15, 16, CONCURRENT_TRANSACTIONS))
"""The coordinator loads or is not available or elsewhere, or the end of the transaction before is not written yet."""


class Producer(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


def find_coordinator(transactional_id: str) -> bytes:
    """FindCoordinator 3 of a transactional id."""
    return wire.flexible_request(_FIND_COORDINATOR, 3, wire.compact_string(transactional_id) + b"\1" + _NO_TAGS)


def init_producer_id(transactional_id: str, timeout_ms: int) -> bytes:
    """InitProducerId 4 of a producer that begins."""
    body = wire.compact_string(transactional_id) + struct.pack(">iqh", timeout_ms, -1, -1) + _NO_TAGS
    return wire.flexible_request(_INIT_PRODUCER_ID, 4, body)


def add_partitions(transactional_id: str, producer: Producer, topic: str, partitions: Sequence[int]) -> bytes:
    """AddPartitionsToTxn 3 of partitions of one topic."""
    body = wire.compact_string(transactional_id) + struct.pack(">qh", *producer) + b"\2" + wire.compact_string(topic)
    body += records.unsigned_varint(len(partitions) + 1) + struct.pack(f">{len(partitions)}i", *partitions)
    return wire.flexible_request(_ADD_PARTITIONS, 3, body + _NO_TAGS * 2)


def end(transactional_id: str, producer: Producer, *, implicit: bool) -> bytes:
    """EndTxn that commits; version 5 of a client whose Produce adds partitions (`implicit`), otherwise 4."""
    body = wire.compact_string(transactional_id) + struct.pack(">qh?", *producer, True) + _NO_TAGS
    return wire.flexible_request(_END, 5 if implicit else 4, body)


def describe(transactional_ids: Sequence[str]) -> bytes:
    """DescribeTransactions 0."""
    body = records.unsigned_varint(len(transactional_ids) + 1) + b"".join(map(wire.compact_string, transactional_ids))
    return wire.flexible_request(_DESCRIBE, 0, body + _NO_TAGS)


def list_transactions(*states: str) -> bytes:
    """ListTransactions 0 of transactions in any of the states, all where none is named."""
    body = records.unsigned_varint(len(states) + 1) + b"".join(map(wire.compact_string, states))
    return wire.flexible_request(_LIST, 0, body + b"\1" + _NO_TAGS)


class TransactionalProduce:
    """A Produce request of one batch for each of some partitions, sent again and again: the producer, its epoch, the
    sequences and the checksums are written in place."""

    def __init__(
        self, transactional_id: str, topic: str, batches: Sequence[tuple[int, bytearray]], *, implicit: bool
    ) -> None:
        """Build it from partitions and their batches; version 12 (`implicit`), which adds partitions, or 11."""
        body = bytearray(wire.compact_string(transactional_id) + struct.pack(">hi", -1, 30_000) + b"\2")
        body += wire.compact_string(topic) + records.unsigned_varint(len(batches) + 1)
        places: list[tuple[int, int]] = []
        for partition, batch in batches:
            body += wire.SIZE.pack(partition) + records.unsigned_varint(len(batch) + 1)
            places.append((len(body), len(batch)))
            body += batch + _NO_TAGS
        body += _NO_TAGS * 2
        self._frame = bytearray(wire.flexible_request(_PRODUCE, 12 if implicit else 11, bytes(body)))
        header = len(self._frame) - len(body)
        self._batches = [(header + start, size) for start, size in places]
        for start, _size in self._batches:
            self._frame[start + _ATTRIBUTES_AT + 1] |= _TRANSACTIONAL

    def request(self, producer: Producer, sequence: int) -> bytearray:
        """The request for this producer, each batch beginning at a sequence; valid until the next call."""
        with memoryview(self._frame) as view:
            for start, size in self._batches:
                _PRODUCER.pack_into(view, start + _PRODUCER_AT, *producer, sequence)
                records.seal(view[start : start + size])
        return self._frame


def coordinator_error(answer: memoryview) -> int:
    """The error code of FindCoordinator 3, InitProducerId 4 or EndTxn."""
    (error,) = struct.unpack_from(">h", answer, _BODY_AT + 4)
    return int(error)


def coordinator_of(answer: memoryview) -> int:
    """The broker that FindCoordinator 3 named, where it has no error."""
    message, position = wire.read_unsigned(answer, _BODY_AT + 6)
    (node_id,) = struct.unpack_from(">i", answer, position + max(message - 1, 0))
    return int(node_id)


def producer_of(answer: memoryview) -> Producer:
    """The producer in an answer to InitProducerId 4 or EndTxn 5 without error."""
    return Producer(*struct.unpack_from(">qh", answer, _BODY_AT + 6))


def added_error(answer: memoryview) -> int:
    """The first error code of the one topic in AddPartitionsToTxn 3, 0 for none."""
    _topics, position = wire.read_unsigned(answer, _BODY_AT + 4)
    name, position = wire.read_unsigned(answer, position)
    count, position = wire.read_unsigned(answer, position + name - 1)
    for index in range(count - 1):
        (error,) = struct.unpack_from(">h", answer, position + 7 * index + 4)
        if error:
            return int(error)
    return 0


def produced_error(answer: memoryview) -> int:
    """The first error code of the one topic in Produce 11 or 12, 0 for none."""
    _topics, position = wire.read_unsigned(answer, _BODY_AT)
    name, position = wire.read_unsigned(answer, position)
    count, position = wire.read_unsigned(answer, position + name - 1)
    for index in range(count - 1):
        # Without an error no partition has more than its numbers, and three bytes that say that there is no more.
        (error,) = struct.unpack_from(">h", answer, position + 33 * index + 4)
        if error:
            return int(error)
    return 0


def described_errors(answer: memoryview) -> set[int]:
    """The error codes in DescribeTransactions 0."""
    errors: set[int] = set()
    count, position = wire.read_unsigned(answer, _BODY_AT + 4)
    for _ in range(count - 1):
        errors.update(struct.unpack_from(">h", answer, position))
        _name, position = wire.read_string(answer, position + 2)
        _state, position = wire.read_string(answer, position)
        topics, position = wire.read_unsigned(answer, position + 4 + 8 + 8 + 2)
        for _topic in range(topics - 1):
            _name, position = wire.read_string(answer, position)
            partitions, position = wire.read_unsigned(answer, position)
            position += 4 * (partitions - 1) + 1
        position += 1
    return errors - {0}


def listed_count(answer: memoryview) -> int:
    """How many transactions ListTransactions 0 named; WireError where it carries an error code."""
    error = coordinator_error(answer)
    if error:
        raise wire.WireError("listing transactions", error)
    unknown, position = wire.read_unsigned(answer, _BODY_AT + 6)
    if unknown > 1:
        raise wire.WireError("listing transactions: a state is unknown to the broker")
    count, _position = wire.read_unsigned(answer, position)
    return count - 1
