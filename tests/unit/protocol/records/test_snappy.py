"""Snappy: the Java library's framing, and bare blocks."""

import struct

import cramjam
import pytest

from odradek.protocol.records import snappy
from odradek.protocol.records.errors import DecompressionError, TooMuchData

HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
TEXT = b"some text, some more text, " * 50


def block(content: bytes) -> bytes:
    """Return a block with its size before it."""
    data = bytes(cramjam.snappy.compress_raw(content))
    return struct.pack(">i", len(data)) + data


def test_what_is_written_has_the_java_librarys_framing() -> None:
    """A header, then blocks of 32 KB, each with its size."""
    assert snappy.compress(TEXT) == HEADER + block(TEXT)
    long = bytes(70_000)
    assert snappy.compress(long) == HEADER + block(bytes(32_768)) * 2 + block(bytes(70_000 - 65_536))
    assert snappy.compress(b"") == HEADER


@pytest.mark.parametrize(
    "data",
    [
        HEADER + block(TEXT),
        HEADER + block(TEXT[:100]) + block(TEXT[100:]),
        HEADER + block(TEXT[:100]) + HEADER + block(TEXT[100:]),
        HEADER + block(b"") + block(TEXT),
        HEADER + block(TEXT) + b"\0\0",
        HEADER[:8] + struct.pack(">ii", 9, 3) + block(TEXT),
        bytes(cramjam.snappy.compress_raw(TEXT)),
    ],
    ids=["one block", "two blocks", "two streams", "empty block", "rest", "other versions", "bare block"],
)
def test_what_kafka_reads_is_read(data: bytes) -> None:
    """Every form that Apache Kafka 4.3 accepts gives the text."""
    assert snappy.decompress(data, 1 << 20) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEADER[:12],
        HEADER + block(TEXT)[:-1],
        HEADER + b"\0\0\0\0" + block(TEXT),
        HEADER + b"\xff\xff\xff\xff" + block(TEXT),
        HEADER + block(TEXT) + b"\0\0\0\3abc",
        b"\x82SNAPPX\0" + block(TEXT),
        bytes(cramjam.snappy.compress_raw(TEXT)) + b"x",
        bytes(cramjam.snappy.compress_raw(TEXT))[:7],
        bytes(cramjam.snappy.compress(TEXT)),
    ],
    ids=[
        "nothing",
        "part of a header",
        "cut block",
        "block of size 0",
        "negative size",
        "damaged block",
        "other mark",
        "bare block and more",
        "part of a bare block",
        "another framing",
    ],
)
def test_what_kafka_refuses_is_refused(data: bytes) -> None:
    """Every form that Apache Kafka 4.3 refuses is a DecompressionError."""
    with pytest.raises(DecompressionError):
        snappy.decompress(data, 1 << 20)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x07", HEADER + b"\0\0\0\x2d\xff\xff\xff\xff\x07"])
def test_a_block_cannot_claim_more_than_it_can_hold(data: bytes) -> None:
    """A few bytes that announce two gigabytes are refused before any memory is taken."""
    with pytest.raises(DecompressionError):
        snappy.decompress(data + b"a" * 40, 1 << 40)


def test_the_limit_counts_all_blocks() -> None:
    """Blocks that are each below the limit are refused together."""
    data = HEADER + block(bytes(6_000)) + block(bytes(6_000))
    assert len(snappy.decompress(data, 12_000)) == 12_000
    with pytest.raises(TooMuchData):
        snappy.decompress(data, 11_999)
