"""The usual Produce request and its answer (api key 0, versions 9 to 13): one batch for one partition, no transaction.

That is what a producer sends which does not wait for more, and it is read here in one pass, without a message object:
a fifth of the time of the compiled codec. Whatever has any other form is left to that, errors among them.
"""

from struct import Struct, error
from typing import Final, NamedTuple

from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.codec.runtime import read_uvarint, to_uuid
from odradek.protocol.hot.produce import FIRST_BY_ID, FIRST_FLEXIBLE, TAIL_V9
from odradek.protocol.hot.wire import TopicRef

FIRST_USUAL: Final = FIRST_FLEXIBLE

_unpack_begin: Final = Struct(">BhiBB").unpack_from
"""No transactional id, acks, timeout, number of topics, and of a topic's name the length."""
_BEGIN: Final = 8
"""Bytes up to the topic."""
_ID: Final = 16
_unpack_partition: Final = Struct(">BiB").unpack_from
"""Number of partitions, index, first byte of the length of the records."""
_PARTITION: Final = 6
_TAGS: Final[bytes] = b"\0\0\0"
"""What follows the records: no tags of the partition, of the topic, of the request."""
_ONE: Final = 2
"""The length of an array of one, and of nothing else."""

_pack_result: Final = Struct(">Bihqqq9s").pack


class UsualProduce(NamedTuple):
    """The only batch of a request, for a partition of a topic."""

    acks: int
    timeout_ms: int
    topic: TopicRef
    partition: int
    records: "memoryview"
    """A view of the frame."""
    named: bytes
    """The topic as the request names it, and the answer will."""


def read_usual_produce(frame: memoryview, version: int, position: int) -> UsualProduce | None:
    """Read the request that begins at `position` behind its header and ends with the frame; None where it is not a
    usual one."""
    try:
        no_transaction, acks, timeout_ms, topics, length = _unpack_begin(frame, position)
        if no_transaction or topics != _ONE:
            return None
        topic: TopicRef
        start = position + _BEGIN
        if version >= FIRST_BY_ID:
            end = start + _ID
            named = frame[start:end].tobytes()
            topic = to_uuid(named)
        else:
            if not 1 < length < 0x80:
                return None
            end = start + length
            named = frame[start:end].tobytes()
            topic = named[1:].decode()
        partitions, index, size = _unpack_partition(frame, end)
        at = end + _PARTITION
        if size > 0x7F:
            size, at = read_uvarint(frame, at, size)
        stop = at + size - 1
        if partitions != _ONE or size == 0 or stop + 3 != len(frame) or frame[stop:] != _TAGS:
            return None
    except (error, IndexError, DecodeError, UnicodeDecodeError):
        return None
    return UsualProduce._make((acks, timeout_ms, topic, index, frame[at:stop], named))


def encode_usual_answer(
    head: bytes, named: bytes, index: int, base_offset: int, log_append_time_ms: int, log_start_offset: int
) -> bytes:
    """Encode the answer to a usual request whose batch was appended, behind its header `head`."""
    return b"".join(
        (head, b"\2", named, _pack_result(_ONE, index, 0, base_offset, log_append_time_ms, log_start_offset, TAIL_V9))
    )
