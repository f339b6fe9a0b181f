"""Whatever a stranger sends, decoding gives a message or a DecodeError, and takes memory in proportion to the bytes."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.headers import decode_request_header
from tests.property.protocol_messages import examples, messages
from tests.unit.protocol.declared import declared_messages, version_id, versions_of

every_message = pytest.mark.parametrize("cls", declared_messages().values(), ids=version_id)

HUGE = [
    bytes.fromhex("7fffffff"),
    bytes.fromhex("00ffffff"),
    bytes.fromhex("0000ffff"),
    bytes.fromhex("ffffffff0f"),
    bytes.fromhex("ffffff7f"),
    bytes.fromhex("ffff03"),
]
"""Counts and lengths far beyond any frame, plain and as varints."""

FIXED_COST = 100_000
"""Bytes of memory that decoding may take whatever the frame: frames of functions, the first error's traceback."""

COST_PER_BYTE = 300
"""Bytes of memory that a byte of the frame may cost: the smallest structs have two bytes, and an object each."""


def decodes_or_refuses(cls: type[Message], frame: bytes | memoryview, version: int) -> None:
    """Decode, and check what comes out: a message that ends within the frame, or the one error there is."""
    try:
        message, end = decode(cls, frame, version)
    except DecodeError:
        return
    assert type(message) is cls
    assert 0 <= end <= len(frame)


@every_message
@given(data=st.data(), frame=st.binary(max_size=200))
@examples(12)
def test_arbitrary_bytes_are_decoded_or_refused(cls: type[Message], data: st.DataObject, frame: bytes) -> None:
    """Bytes without any sense never raise anything but DecodeError."""
    version = data.draw(st.sampled_from(versions_of(cls)))
    decodes_or_refuses(cls, frame, version)
    decodes_or_refuses(cls, memoryview(frame), version)


@every_message
@given(data=st.data())
@examples(12)
def test_mutated_messages_are_decoded_or_refused(cls: type[Message], data: st.DataObject) -> None:
    """A valid message with some bytes replaced, by others or by a huge count, never raises anything but DecodeError."""
    version = data.draw(st.sampled_from(versions_of(cls)))
    frame = encode(data.draw(messages(cls, version)), version)
    where = data.draw(st.integers(0, len(frame)))
    what = data.draw(st.binary(max_size=4) | st.sampled_from(HUGE))
    gone = data.draw(st.integers(0, 4))
    decodes_or_refuses(cls, frame[:where] + what + frame[where + gone :], version)


def hostile_frames(frame: bytes) -> Iterator[bytes]:
    """A valid frame with a huge count or length at every place, followed by enough bytes to go on with."""
    for where in range(0, len(frame), 1 + len(frame) // 40):
        for huge in HUGE:
            yield frame[:where] + huge + bytes(500)
            yield frame[:where] + huge * 100


@every_message
def test_memory_is_bounded_by_the_frame(cls: type[Message]) -> None:
    """A count or length that a frame declares takes no memory that its bytes do not justify, at every version."""
    frames = {version: encode(cls(), version) + bytes(64) for version in versions_of(cls)}
    for version, frame in frames.items():
        decodes_or_refuses(cls, frame, version)
    tracemalloc.start()
    try:
        for version, frame in frames.items():
            for hostile in hostile_frames(frame):
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                decodes_or_refuses(cls, hostile, version)
                _, peak = tracemalloc.get_traced_memory()
                assert peak - before < FIXED_COST + COST_PER_BYTE * len(hostile), f"v{version} {hostile.hex()}"
    finally:
        tracemalloc.stop()


@given(frame=st.binary(max_size=60))
@examples(500)
def test_arbitrary_headers_are_decoded_or_refused(frame: bytes) -> None:
    """The header of a request is read from the same strangers."""
    try:
        header, end = decode_request_header(frame)
    except DecodeError:
        return
    assert 10 <= end <= len(frame)
    assert header.client_id is None or len(header.client_id.encode()) <= len(frame)


@given(head=st.sampled_from([bytes.fromhex("0003000c 00000001"), bytes.fromhex("00120003 00000001")]), rest=st.binary())
@examples(500)
def test_arbitrary_flexible_headers_are_decoded_or_refused(head: bytes, rest: bytes) -> None:
    """So are its client id and tags."""
    try:
        _, end = decode_request_header(head + rest)
    except DecodeError:
        return
    assert end <= len(head + rest)
