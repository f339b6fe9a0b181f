"""The Fetch response (api key 1), versions 0 to 18, as pieces whose record bytes are never touched.

Version notes: sessions come with v7, flexible encoding with v12, topic ids instead of names with v13, leaders'
endpoints with v16.

A response is a list of pieces: bytes, and in between whatever object stands for a partition's records (a file region
for the network layer), whose length was written before it.
"""

from struct import Struct
from typing import Final, NamedTuple, Protocol

from odradek.protocol.codec.runtime import uvarint
from odradek.protocol.hot.wire import (
    EMPTY_TAGS,
    INT32,
    NodeEndpoint,
    TopicRef,
    array_head,
    endpoints_tag,
    leader_tag,
    topic_ref_bytes,
)

FIRST_SESSION: Final = 7
FIRST_FLEXIBLE: Final = 12
FIRST_BY_ID: Final = 13

_RESULT_V0: Final = Struct(">ihq")
_RESULT_V4: Final = Struct(">ihqq")
_RESULT_V5: Final = Struct(">ihqqq")
_RESULT_V12: Final = Struct(">ihqqqxi")
"""From v12 on, with the null in place of aborted transactions and with the replica to be preferred."""
_SESSION: Final = Struct(">4xhi")
"""No throttle time, error, session."""
_ABORTED: Final = Struct(">qq")
_DIVERGING: Final = Struct(">BBBiqB")


class Region(Protocol):
    """A stretch of record bytes somewhere else."""

    @property
    def length(self) -> int:
        """How many bytes it holds."""


class FetchResult(NamedTuple):
    """What a client is told of one partition."""

    partition: int
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


def encode_fetch_response(
    head: bytes,
    version: int,
    topics: list[tuple[TopicRef, list[FetchResult]]],
    session_id: int = 0,
    error_code: int = 0,
    endpoints: tuple[NodeEndpoint, ...] = (),
) -> list[bytes | Region]:
    """Encode a Fetch response of `version` behind its header `head` as pieces, each run of plain bytes joined into
    one."""
    flexible = version >= FIRST_FLEXIBLE
    pieces: list[bytes | Region] = []
    out = [head]
    if version >= FIRST_SESSION:
        out.append(_SESSION.pack(error_code, session_id))
    elif version >= 1:
        out.append(b"\0\0\0\0")  # throttle time
    out.append(array_head(len(topics), flexible))
    for ref, results in topics:
        out.append(topic_ref_bytes(ref, flexible))
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
    records = result.records
    length = 0 if records is None else records.length
    if flexible and result.aborted is None:
        out.append(_RESULT_V12.pack(*result[:5], result.preferred_read_replica))
        out.append(uvarint(length + 1))
        return
    if version >= 5:
        out.append(_RESULT_V5.pack(*result[:5]))
    elif version >= 4:
        out.append(_RESULT_V4.pack(*result[:4]))
    else:
        out.append(_RESULT_V0.pack(*result[:3]))
    if version >= 4:
        aborted = result.aborted
        if aborted is None:
            out.append(b"\xff\xff\xff\xff")
        else:
            out.append(array_head(len(aborted), flexible))
            out.extend(_ABORTED.pack(*transaction) + (EMPTY_TAGS if flexible else b"") for transaction in aborted)
    if version >= 11:
        out.append(INT32.pack(result.preferred_read_replica))
    out.append(uvarint(length + 1) if flexible else INT32.pack(length))


def _result_tags(result: FetchResult) -> bytes:
    if result.diverging is not None:
        return _DIVERGING.pack(1, 0, 13, *result.diverging, 0)
    if result.leader is not None:
        return leader_tag(1, result.leader)
    return EMPTY_TAGS
