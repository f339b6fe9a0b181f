"""Fetch (api key 1), versions 0 to 18: request in, response pieces out, record bytes never touched.

Version notes: sessions come with v7, the client's leader epoch with v9, flexible encoding and the last fetched epoch
with v12, topic ids instead of names with v13, the replica state as a tag with v15, leaders' endpoints with v16.

A response is a list of pieces: bytes, and in between whatever object stands for a partition's records (a file region
for the network layer), whose length was written before it.
"""

from struct import Struct, error
from typing import NamedTuple, Protocol

from protocol.codec.errors import DecodeError
from protocol.hot.produce import Endpoint, endpoints_tag, leader_tag
from protocol.hot.wire import (
    EMPTY_TAGS,
    INT32,
    array_head,
    read_count,
    read_string,
    read_tags,
    read_topic_key,
    skip_tags,
    topic_key_bytes,
    uvarint,
)

FIRST_FLEXIBLE = 12
FIRST_BY_ID = 13
FIRST_SESSION = 7

_HEAD_V3 = Struct(">iiib")
_SESSION = Struct(">ii")
_REPLICA_STATE = Struct(">iq")
_PARTITION = {
    0: Struct(">iqi"),
    5: Struct(">iqqi"),
    9: Struct(">iiqqi"),
    12: Struct(">iiqiqi"),
}
_RESULT_V0 = Struct(">ihq")
_RESULT_V4 = Struct(">ihqq")
_RESULT_V5 = Struct(">ihqqq")
_ABORTED = Struct(">qq")
_DIVERGING = Struct(">BBBiqB")


class Region(Protocol):
    """A stretch of record bytes somewhere else."""

    @property
    def length(self) -> int:
        """How many bytes it holds."""


class FetchPartition(NamedTuple):
    """What a client asks of one partition."""

    index: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


class FetchRequestView(NamedTuple):
    """A Fetch request."""

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[tuple[bytes, list[FetchPartition]]]
    forgotten: list[tuple[bytes, list[int]]]


class FetchResult(NamedTuple):
    """What a client is told of one partition."""

    index: int
    error_code: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: Region | None = None
    aborted: list[tuple[int, int]] | None = None
    """(producer id, first offset) of aborted transactions, None unless the client reads committed data only."""
    leader: tuple[int, int] | None = None
    diverging: tuple[int, int] | None = None
    preferred_read_replica: int = -1


def decode_fetch_request(data: memoryview, pos: int, version: int) -> FetchRequestView:
    """Decode the body of a Fetch request that begins at `pos`.

    Raises:
        DecodeError: the bytes are not such a request.
    """
    try:
        return _decode(data, pos, version)
    except (IndexError, error) as short:
        raise DecodeError(f"the request ends early ({len(data)} bytes)") from short


def _decode(data: memoryview, pos: int, version: int) -> FetchRequestView:
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_ID
    replica_id = -1
    if version <= 14:
        (replica_id,) = INT32.unpack_from(data, pos)
        pos += 4
    max_bytes, isolation_level = 0x7FFFFFFF, 0
    if version >= 4:
        max_wait_ms, min_bytes, max_bytes, isolation_level = _HEAD_V3.unpack_from(data, pos)
        pos += 13
    else:
        max_wait_ms, min_bytes = _SESSION.unpack_from(data, pos)
        pos += 8
        if version == 3:
            (max_bytes,) = INT32.unpack_from(data, pos)
            pos += 4
    session_id, session_epoch = 0, -1
    if version >= FIRST_SESSION:
        session_id, session_epoch = _SESSION.unpack_from(data, pos)
        pos += 8
    topics, pos = _decode_topics(data, pos, version)
    forgotten: list[tuple[bytes, list[int]]] = []
    if version >= FIRST_SESSION:
        count, pos = read_count(data, pos, flexible, 2)
        for _ in range(count):
            key, pos = read_topic_key(data, pos, flexible, by_id)
            partition_count, pos = read_count(data, pos, flexible, 4)
            forgotten.append((key, list(memoryview_ints(data, pos, partition_count))))
            pos += 4 * partition_count
            if flexible:
                pos = skip_tags(data, pos)
    if version >= 11:
        _, pos = read_string(data, pos, flexible)
    if flexible:
        tags, pos = read_tags(data, pos)
        if version >= 15 and 1 in tags:
            replica_id, _ = _REPLICA_STATE.unpack_from(tags[1])
    return FetchRequestView(
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten
    )


def memoryview_ints(data: memoryview, pos: int, count: int) -> tuple[int, ...]:
    """`count` big-endian int32 values at `pos`."""
    return Struct(f">{count}i").unpack_from(data, pos)


def _decode_topics(data: memoryview, pos: int, version: int) -> tuple[list[tuple[bytes, list[FetchPartition]]], int]:
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_ID
    if version >= 12:
        layout = _PARTITION[12]
    elif version >= 9:
        layout = _PARTITION[9]
    elif version >= 5:
        layout = _PARTITION[5]
    else:
        layout = _PARTITION[0]
    size = layout.size
    count, pos = read_count(data, pos, flexible, 2)
    topics = []
    for _ in range(count):
        key, pos = read_topic_key(data, pos, flexible, by_id)
        partition_count, pos = read_count(data, pos, flexible, size)
        partitions = []
        for _ in range(partition_count):
            fields = layout.unpack_from(data, pos)
            pos += size
            if version >= 12:
                partitions.append(FetchPartition(*fields))
                pos = pos + 1 if data[pos] == 0 else skip_tags(data, pos)
            elif version >= 9:
                index, epoch, offset, start, limit = fields
                partitions.append(FetchPartition(index, epoch, offset, -1, start, limit))
            elif version >= 5:
                index, offset, start, limit = fields
                partitions.append(FetchPartition(index, -1, offset, -1, start, limit))
            else:
                index, offset, limit = fields
                partitions.append(FetchPartition(index, -1, offset, -1, -1, limit))
        if flexible:
            pos = skip_tags(data, pos)
        topics.append((key, partitions))
    return topics, pos


def encode_fetch_response(
    version: int,
    topics: list[tuple[bytes, list[FetchResult]]],
    session_id: int = 0,
    error_code: int = 0,
    endpoints: tuple[Endpoint, ...] = (),
) -> list[bytes | Region]:
    """Encode the body of a Fetch response as pieces, each run of plain bytes joined into one."""
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_ID
    pieces: list[bytes | Region] = []
    out: list[bytes] = []
    if version >= 1:
        out.append(b"\0\0\0\0")  # throttle time
    if version >= FIRST_SESSION:
        out.append(error_code.to_bytes(2, "big", signed=True) + INT32.pack(session_id))
    out.append(array_head(len(topics), flexible))
    for key, results in topics:
        out.append(topic_key_bytes(key, flexible, by_id))
        out.append(array_head(len(results), flexible))
        for result in results:
            records = result.records
            _encode_result_head(out, result, version)
            if records is not None:
                pieces.append(b"".join(out))
                pieces.append(records)
                out.clear()
            if flexible:
                out.append(_result_tags(result))
        if flexible:
            out.append(EMPTY_TAGS)
    if flexible:
        out.append(endpoints_tag(0, endpoints) if endpoints and version >= 16 else EMPTY_TAGS)
    pieces.append(b"".join(out))
    return pieces


def _encode_result_head(out: list[bytes], result: FetchResult, version: int) -> None:
    """Everything of a partition that comes before its records, their length included."""
    flexible = version >= FIRST_FLEXIBLE
    if version >= 5:
        out.append(_RESULT_V5.pack(*result[:5]))
    elif version >= 4:
        out.append(_RESULT_V4.pack(*result[:4]))
    else:
        out.append(_RESULT_V0.pack(*result[:3]))
    if version >= 4:
        aborted = result.aborted
        if aborted is None:
            out.append(b"\0" if flexible else b"\xff\xff\xff\xff")
        else:
            out.append(array_head(len(aborted), flexible))
            out.extend(_ABORTED.pack(*transaction) + (EMPTY_TAGS if flexible else b"") for transaction in aborted)
    if version >= 11:
        out.append(INT32.pack(result.preferred_read_replica))
    length = result.records.length if result.records is not None else 0
    out.append(uvarint(length + 1) if flexible else INT32.pack(length))


def _result_tags(result: FetchResult) -> bytes:
    if result.diverging is not None:
        return _DIVERGING.pack(1, 0, 13, *result.diverging, 0)
    if result.leader is not None:
        return leader_tag(1, result.leader)
    return EMPTY_TAGS
