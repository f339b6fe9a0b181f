"""Produce (api key 0), versions 0 to 13: request in, response out, without an object per field.

Version notes: the transactional id comes with v3, log append time with v2, log start offset with v5, record errors and
a message with v8, flexible encoding with v9, the current leader with v10, topic ids instead of names with v13.
"""

from struct import Struct, error
from typing import NamedTuple

from protocol.codec.errors import DecodeError
from protocol.hot.wire import (
    EMPTY_TAGS,
    INT32,
    array_head,
    checked_end,
    nullable_string_bytes,
    read_count,
    read_string,
    read_topic_key,
    read_uvarint,
    skip_tags,
    topic_key_bytes,
    uvarint,
)

FIRST_FLEXIBLE = 9
FIRST_BY_ID = 13

_ACKS_TIMEOUT = Struct(">hi")
_LEADER_TAG = Struct(">BBBiiB")
_RESULT_V0 = Struct(">ihq")
_RESULT_V2 = Struct(">ihqq")
_RESULT_V5 = Struct(">ihqqq")
_NODE_ID = Struct(">i")


class ProduceRequestView(NamedTuple):
    """A Produce request; records are views of the frame, valid only while the frame is."""

    transactional_id: bytes | None
    acks: int
    timeout_ms: int
    topics: list[tuple[bytes, list[tuple[int, memoryview | None]]]]
    """(topic key, [(partition index, records)])"""


class PartitionResult(NamedTuple):
    """What became of one partition of a Produce request."""

    index: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str | None], ...] = ()
    error_message: str | None = None
    leader: tuple[int, int] | None = None
    """(leader id, leader epoch) where the client should turn to instead, from v10 on."""


class Endpoint(NamedTuple):
    """Where a leader named in a response is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None


def decode_produce_request(data: memoryview, pos: int, version: int) -> ProduceRequestView:
    """Decode the body of a Produce request that begins at `pos`.

    Raises:
        DecodeError: the bytes are not such a request.
    """
    try:
        return _decode(data, pos, version)
    except (IndexError, error) as short:
        raise DecodeError(f"the request ends early ({len(data)} bytes)") from short


def _decode(data: memoryview, pos: int, version: int) -> ProduceRequestView:
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_ID
    transactional_id = None
    if version >= 3:
        transactional_id, pos = read_string(data, pos, flexible)
    acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(data, pos)
    topic_count, pos = read_count(data, pos + 6, flexible, 2)
    topics = []
    for _ in range(topic_count):
        key, pos = read_topic_key(data, pos, flexible, by_id)
        partition_count, pos = read_count(data, pos, flexible, 5)
        partitions: list[tuple[int, memoryview | None]] = []
        for _ in range(partition_count):
            (index,) = INT32.unpack_from(data, pos)
            pos += 4
            if flexible:
                size, pos = read_uvarint(data, pos)
                size -= 1
            else:
                (size,) = INT32.unpack_from(data, pos)
                pos += 4
            if size < 0:
                partitions.append((index, None))
            else:
                end = checked_end(data, pos, size)
                partitions.append((index, data[pos:end]))
                pos = end
            if flexible:
                pos = pos + 1 if data[pos] == 0 else skip_tags(data, pos)
        if flexible:
            pos = pos + 1 if data[pos] == 0 else skip_tags(data, pos)
        topics.append((key, partitions))
    if flexible:
        skip_tags(data, pos)
    return ProduceRequestView(transactional_id, acks, timeout_ms, topics)


def encode_produce_response(
    version: int,
    topics: list[tuple[bytes, list[PartitionResult]]],
    throttle_time_ms: int = 0,
    endpoints: tuple[Endpoint, ...] = (),
) -> bytes:
    """Encode the body of a Produce response for `version`."""
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_ID
    out = [array_head(len(topics), flexible)]
    for key, results in topics:
        out.append(topic_key_bytes(key, flexible, by_id))
        out.append(array_head(len(results), flexible))
        for result in results:
            _encode_result(out, result, version)
        if flexible:
            out.append(EMPTY_TAGS)
    if version >= 1:
        out.append(INT32.pack(throttle_time_ms))
    if flexible:
        out.append(_endpoints_tag(endpoints) if endpoints and version >= 10 else EMPTY_TAGS)
    return b"".join(out)


def _encode_result(out: list[bytes], result: PartitionResult, version: int) -> None:
    if version >= 5:
        out.append(_RESULT_V5.pack(*result[:5]))
    elif version >= 2:
        out.append(_RESULT_V2.pack(*result[:4]))
    else:
        out.append(_RESULT_V0.pack(*result[:3]))
    if version < 8:
        return
    flexible = version >= FIRST_FLEXIBLE
    if flexible and not result.record_errors and result.error_message is None and result.leader is None:
        out.append(b"\1\0\0")  # no record errors, no message, no tags
        return
    out.append(array_head(len(result.record_errors), flexible))
    for batch_index, message in result.record_errors:
        out.append(INT32.pack(batch_index))
        out.append(nullable_string_bytes(message, flexible))
        if flexible:
            out.append(EMPTY_TAGS)
    out.append(nullable_string_bytes(result.error_message, flexible))
    if flexible:
        out.append(leader_tag(0, result.leader) if result.leader is not None and version >= 10 else EMPTY_TAGS)


def leader_tag(tag: int, leader: tuple[int, int]) -> bytes:
    """A tag buffer with the current leader (id, epoch) as its only field."""
    return _LEADER_TAG.pack(1, tag, 9, leader[0], leader[1], 0)


def _endpoints_tag(endpoints: tuple[Endpoint, ...]) -> bytes:
    return endpoints_tag(0, endpoints)


def endpoints_tag(tag: int, endpoints: tuple[Endpoint, ...]) -> bytes:
    """A tag buffer with the leaders' endpoints as its only field."""
    body = [uvarint(len(endpoints) + 1)]
    for endpoint in endpoints:
        body.append(_NODE_ID.pack(endpoint.node_id))
        body.append(nullable_string_bytes(endpoint.host, True))
        body.append(INT32.pack(endpoint.port))
        body.append(nullable_string_bytes(endpoint.rack, True))
        body.append(EMPTY_TAGS)
    raw = b"".join(body)
    return b"\1" + uvarint(tag) + uvarint(len(raw)) + raw
