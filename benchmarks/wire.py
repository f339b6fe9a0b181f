"""Kafka requests as ready-made bytes, and just enough reading of the answers. Independent of the broker's codec.

A load client sends the same bytes again and again, so requests are built whole, size prefix included, and only single
fields are patched in place. Versions are fixed to ones that clients of today use for the hot path (Produce 10,
Fetch 12) and to the last inflexible one elsewhere, because that is the shortest to write by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.records import unsigned_varint

CLIENT_ID = b"bench"
SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")
_PRODUCE, _FETCH, _LIST_OFFSETS, _METADATA = 0, 1, 2, 3
_ALTER_REASSIGNMENTS = 45
_ALTER_CLIENT_QUOTAS = 49
_API_VERSIONS, _CREATE_TOPICS, _DELETE_TOPICS = 18, 19, 20
_NO_TAGS = b"\0"
LATEST, EARLIEST = -1, -2


# Unknown topic, leader not available, not leader, timed out, unknown or inconsistent topic id: a new topic settles.
_RETRIABLE = frozenset((3, 5, 6, 7, 100, 103))


class WireError(Exception):
    """An answer carried an error code, or was not what was asked for (code 0)."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(f"{message}: error code {code}" if code else message)
        self.code = code

    @property
    def retriable(self) -> bool:
        """Whether the same request may well succeed a moment later, as with a topic that was just made."""
        return self.code in _RETRIABLE


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create, with the configs that differ from the default."""

    name: str
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    assignments: Sequence[Sequence[int]] = ()
    """The brokers of each partition, the leader first; empty where the cluster places them."""


class PartitionState(NamedTuple):
    """Where a partition is, as a Metadata answer has it."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class ClusterImage(NamedTuple):
    """A Metadata answer: the addresses of the brokers that are alive, and partitions by topic and index."""

    brokers: Mapping[int, tuple[str, int]]
    partitions: Mapping[str, Mapping[int, PartitionState]]


class Fetched(NamedTuple):
    """The one partition of a Fetch answer; `records` is a view of the buffer that was given."""

    high_watermark: int
    records: memoryview


def _frame(api_key: int, version: int, body: bytes, *, flexible: bool) -> bytes:
    header = _HEADER.pack(api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID + (_NO_TAGS if flexible else b"")
    return SIZE.pack(len(header) + len(body)) + header + body


def compact_string(text: str) -> bytes:
    """A string as flexible versions write it."""
    data = text.encode()
    return unsigned_varint(len(data) + 1) + data


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def request(api_key: int, version: int, body: bytes) -> bytes:
    """A request of an inflexible version whose body is written by the caller."""
    return _frame(api_key, version, body, flexible=False)


def flexible_request(api_key: int, version: int, body: bytes) -> bytes:
    """A request of a flexible version whose body, with its tag sections, is written by the caller."""
    return _frame(api_key, version, body, flexible=True)


def string(text: str) -> bytes:
    """A string as inflexible versions write it."""
    return _string(text)


def api_versions() -> bytes:
    """ApiVersions 0: the first thing a client asks, answered by every broker that is up."""
    return _frame(_API_VERSIONS, 0, b"", flexible=False)


def metadata(topics: Sequence[str] | None) -> bytes:
    """Metadata 12 for the named topics, or for all; never creates one."""
    body = bytearray(_NO_TAGS if topics is None else unsigned_varint(len(topics) + 1))
    for name in topics or ():
        body += bytes(16) + compact_string(name) + _NO_TAGS
    body += b"\0\0" + _NO_TAGS  # allow_auto_topic_creation, include_topic_authorized_operations
    return _frame(_METADATA, 12, bytes(body), flexible=True)


def cluster_image(answer: memoryview) -> ClusterImage:
    """What Metadata 12 answered; `answer` begins with the correlation id. Topics with errors are left out."""
    position = 4 + 1 + 4
    brokers: dict[int, tuple[str, int]] = {}
    partitions: dict[str, dict[int, PartitionState]] = {}
    count, position = read_unsigned(answer, position)
    for _ in range(count - 1):
        (node_id,) = SIZE.unpack_from(answer, position)
        host, position = read_string(answer, position + 4)
        (port,) = SIZE.unpack_from(answer, position)
        _rack, position = read_string(answer, position + 4)
        position += 1
        brokers[node_id] = (host, port)
    _cluster, position = read_string(answer, position)
    count, position = read_unsigned(answer, position + 4)
    for _ in range(count - 1):
        (error,) = struct.unpack_from(">h", answer, position)
        name, position = read_string(answer, position + 2)
        of_topic: dict[int, PartitionState] = {}
        length, position = read_unsigned(answer, position + 16 + 1)
        for _ in range(length - 1):
            _error, index, leader, _epoch = struct.unpack_from(">hiii", answer, position)
            replicas, position = _read_integers(answer, position + 14)
            isr, position = _read_integers(answer, position)
            _offline, position = _read_integers(answer, position)
            position += 1
            of_topic[index] = PartitionState(leader, replicas, isr)
        position += 4 + 1
        if not error:
            partitions[name] = of_topic
    return ClusterImage(brokers, partitions)


def create_topics(topics: Sequence[NewTopic], timeout_ms: int = 30_000) -> bytes:
    """CreateTopics 4."""
    body = bytearray(SIZE.pack(len(topics)))
    for topic in topics:
        counts = (-1, -1) if topic.assignments else (topic.partitions, topic.replicas)
        body += _string(topic.name) + struct.pack(">ihi", *counts, len(topic.assignments))
        for partition, brokers in enumerate(topic.assignments):
            body += struct.pack(f">ii{len(brokers)}i", partition, len(brokers), *brokers)
        body += SIZE.pack(len(topic.configs))
        for key, value in topic.configs.items():
            body += _string(key) + _string(value)
    body += struct.pack(">i?", timeout_ms, False)
    return _frame(_CREATE_TOPICS, 4, bytes(body), flexible=False)


def check_created(answer: memoryview) -> None:
    """Raise WireError unless CreateTopics 4 created every topic; `answer` begins with the correlation id."""
    (count,) = SIZE.unpack_from(answer, 8)
    position = 12
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, position)
        name = bytes(answer[position + 2 : position + 2 + length]).decode()
        error, message_length = struct.unpack_from(">hh", answer, position + 2 + length)
        if error:
            raise WireError(f"creating topic {name}", error)
        position += 6 + length + max(message_length, 0)


def delete_topics(names: Sequence[str], timeout_ms: int = 30_000) -> bytes:
    """DeleteTopics 3."""
    body = SIZE.pack(len(names)) + b"".join(map(_string, names)) + SIZE.pack(timeout_ms)
    return _frame(_DELETE_TOPICS, 3, body, flexible=False)


def reassign(topic: str, partition: int, replicas: Sequence[int], timeout_ms: int = 30_000) -> bytes:
    """AlterPartitionReassignments 0 of one partition."""
    body = SIZE.pack(timeout_ms) + b"\2" + compact_string(topic) + b"\2" + SIZE.pack(partition)
    body += unsigned_varint(len(replicas) + 1) + struct.pack(f">{len(replicas)}i", *replicas) + _NO_TAGS * 3
    return _frame(_ALTER_REASSIGNMENTS, 0, body, flexible=True)


def check_reassigned(answer: memoryview) -> None:
    """Raise WireError unless AlterPartitionReassignments 0 took the one partition; `answer` begins with the id."""
    (error,) = struct.unpack_from(">h", answer, 4 + 1 + 4)
    if error:
        raise WireError("reassigning", error)
    _message, position = read_string(answer, 11)
    _topics, position = read_unsigned(answer, position)
    _name, position = read_string(answer, position)
    _partitions, position = read_unsigned(answer, position)
    (error,) = struct.unpack_from(">h", answer, position + 4)
    if error:
        raise WireError("reassigning the partition", error)


def set_quotas(user: str, values: Mapping[str, float | None]) -> bytes:
    """AlterClientQuotas 0 for one user; None removes a quota."""
    body = struct.pack(">ii", 1, 1) + _string("user") + _string(user) + SIZE.pack(len(values))
    for key, value in values.items():
        body += _string(key) + struct.pack(">d?", value or 0.0, value is None)
    return _frame(_ALTER_CLIENT_QUOTAS, 0, body + b"\0", flexible=False)


def check_quotas(answer: memoryview) -> None:
    """Raise WireError unless AlterClientQuotas 0 set the quotas of one user; `answer` begins with the id."""
    (error,) = struct.unpack_from(">h", answer, 4 + 4 + 4)
    if error:
        raise WireError("setting quotas", error)


def list_offsets(topic: str, partitions: Sequence[int], timestamp: int, *, committed: bool = False) -> bytes:
    """ListOffsets 2 of partitions of one topic for `timestamp`, or LATEST or EARLIEST; `committed`: LATEST is where the
    first open transaction begins."""
    body = bytearray(struct.pack(">ibi", -1, committed, 1) + _string(topic) + SIZE.pack(len(partitions)))
    for partition in partitions:
        body += struct.pack(">iq", partition, timestamp)
    return _frame(_LIST_OFFSETS, 2, bytes(body), flexible=False)


def listed_offsets(answer: memoryview, topic: str) -> list[int]:
    """The offsets that ListOffsets 2 answered; WireError when it answered an error code for any of them."""
    position = 4 + 4 + 4 + 2 + len(topic.encode())
    (count,) = SIZE.unpack_from(answer, position)
    offsets = []
    for index in range(count):
        error, _timestamp, offset = struct.unpack_from(">hqq", answer, position + 8 + 22 * index)
        if error:
            raise WireError(f"listing offsets of {topic}", error)
        offsets.append(offset)
    return offsets


def produce(topic: str, partition: int, batch: bytes | bytearray, acks: int = -1) -> bytearray:
    """Produce 10 of one batch for one partition; the batch lies at `produce_batch_at` in the frame."""
    body = b"".join(
        (
            b"\0",  # no transactional id
            struct.pack(">hi", acks, 30_000),
            b"\2",
            compact_string(topic),
            b"\2",
            SIZE.pack(partition),
            unsigned_varint(len(batch) + 1),
            batch,
            _NO_TAGS * 3,
        )
    )
    return bytearray(_frame(_PRODUCE, 10, body, flexible=True))


def produce_batch_at(request: bytes | bytearray, batch: bytes | bytearray) -> int:
    """Where in the frame the batch begins: it is the last thing before three empty tag sections."""
    return len(request) - 3 - len(batch)


def acknowledged(answer: bytes | memoryview, topic: str) -> int:
    """The base offset in a Produce 10 answer of one partition, WireError when it carries an error code.

    `answer` begins with the correlation id.
    """
    error, base_offset = struct.unpack_from(">hq", answer, 4 + 1 + 1 + len(compact_string(topic)) + 1 + 4)
    if error:
        raise WireError(f"producing to {topic}", error)
    return int(base_offset)


_FETCH_PARTITION = struct.Struct(">iiqiqi")


def fetch(topic: str, partition: int, *, max_wait_ms: int, min_bytes: int, max_bytes: int) -> bytearray:
    """Fetch 12 of one partition from offset 0, without a fetch session; `set_fetch_offset` moves it on."""
    body = b"".join(
        (
            struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, max_bytes, 0, 0, -1),
            b"\2",
            compact_string(topic),
            b"\2",
            _FETCH_PARTITION.pack(partition, -1, 0, -1, -1, max_bytes),
            _NO_TAGS * 2,
            b"\1\1",  # nothing forgotten, no rack
            _NO_TAGS,
        )
    )
    return bytearray(_frame(_FETCH, 12, body, flexible=True))


def set_fetch_offset(request: bytearray, offset: int) -> None:
    """Patch the offset that `fetch` asks from."""
    struct.pack_into(">q", request, len(request) - 5 - _FETCH_PARTITION.size + 8, offset)


def fetched(answer: memoryview) -> Fetched:
    """What a Fetch 12 answer of one partition holds; WireError when it carries an error code."""
    error, _session = struct.unpack_from(">hi", answer, 9)
    position = 15
    topics, position = read_unsigned(answer, position)
    if error or topics != 2:
        raise WireError(f"fetch answered {topics - 1} topics where one was asked for", error)
    name, position = read_unsigned(answer, position)
    _partitions, position = read_unsigned(answer, position + name - 1)
    _index, error, high_watermark, _stable, _start = struct.unpack_from(">ihqqq", answer, position)
    if error:
        raise WireError("fetch of the partition", error)
    aborted, position = read_unsigned(answer, position + 30)
    if aborted > 1:
        raise WireError("fetch answered aborted transactions where there were none")
    size, position = read_unsigned(answer, position + 4)
    return Fetched(high_watermark, answer[position : position + max(size - 1, 0)])


def read_unsigned(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned varint, and where what follows begins."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def read_string(data: memoryview, position: int) -> tuple[str, int]:
    """A compact string, empty where it is null, and where what follows begins."""
    length, position = read_unsigned(data, position)
    end = position + max(length - 1, 0)
    return bytes(data[position:end]).decode(), end


def _read_integers(data: memoryview, position: int) -> tuple[tuple[int, ...], int]:
    """A compact array of 32-bit integers, and where what follows begins."""
    count, position = read_unsigned(data, position)
    return struct.unpack_from(f">{count - 1}i", data, position), position + 4 * (count - 1)
