"""The Produce response (api key 0), versions 0 to 13.

Version notes: log append time comes with v2, log start offset with v5, record errors and a message with v8, flexible
encoding with v9, the current leader with v10, topic ids instead of names with v13.
"""

from struct import Struct
from typing import Final, NamedTuple

from odradek.protocol.hot.wire import (
    EMPTY_TAGS,
    INT32,
    NodeEndpoint,
    TopicRef,
    array_head,
    endpoints_tag,
    leader_tag,
    nullable_string_bytes,
    topic_ref_bytes,
)

FIRST_FLEXIBLE: Final = 9
FIRST_BY_ID: Final = 13

_TAIL_V5: Final = b"\0\0\0\0"
_TAIL_V8: Final = b"\0\0\0\0\xff\xff\0\0\0\0"
TAIL_V9: Final = b"\1\0\0\0\0\0\0\0\0"
"""What follows the numbers of an only partition without errors: record errors, message and its tags, the topic's tags,
throttle time, tags."""

_NOTHING_TO_SAY: Final = ((), None, None)
"""No record errors, no message, no other leader."""

_RESULT_V0: Final = Struct(">ihq")
_RESULT_V2: Final = Struct(">ihqq")
_RESULT_V5: Final = Struct(">ihqqq")


class ProduceResult(NamedTuple):
    """What became of one partition of a Produce request."""

    partition: int
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str | None], ...] = ()
    """(index of the record in its batch, what is wrong with it)"""
    error_message: str | None = None
    leader: tuple[int, int] | None = None
    """(leader id, leader epoch) where the client should turn to instead, from v10 on."""


def encode_produce_response(
    head: bytes,
    version: int,
    topics: list[tuple[TopicRef, list[ProduceResult]]],
    endpoints: tuple[NodeEndpoint, ...] = (),
) -> bytes:
    """Encode a Produce response of `version` behind its header `head`."""
    if len(topics) == 1 and version >= 5 and not endpoints:
        ref, results = topics[0]
        if len(results) == 1 and results[0][5:] == _NOTHING_TO_SAY:
            return _encode_usual(head, version, ref, results[0])
    flexible = version >= FIRST_FLEXIBLE
    out = [head, array_head(len(topics), flexible)]
    for ref, results in topics:
        out.append(topic_ref_bytes(ref, flexible))
        out.append(array_head(len(results), flexible))
        for result in results:
            _encode_result(out, result, version)
        if flexible:
            out.append(EMPTY_TAGS)
    if version >= 1:
        out.append(b"\0\0\0\0")  # throttle time
    if flexible:
        out.append(endpoints_tag(0, endpoints) if endpoints and version >= 10 else EMPTY_TAGS)
    return b"".join(out)


def _encode_usual(head: bytes, version: int, ref: TopicRef, result: ProduceResult) -> bytes:
    """The answer to one batch for one partition that was appended: from v5 on it differs only in how it ends."""
    flexible = version >= FIRST_FLEXIBLE
    one = b"\2" if flexible else b"\0\0\0\1"
    tail = TAIL_V9 if flexible else _TAIL_V8 if version == 8 else _TAIL_V5
    return b"".join((head, one, topic_ref_bytes(ref, flexible), one, _RESULT_V5.pack(*result[:5]), tail))


def _encode_result(out: list[bytes], result: ProduceResult, version: int) -> None:
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
