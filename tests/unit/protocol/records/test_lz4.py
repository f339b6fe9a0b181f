"""LZ4 frames: the flags that Kafka knows, and those it refuses."""

import random
import struct
import tracemalloc

import cramjam
import pytest

from odradek.protocol.records import lz4
from odradek.protocol.records.errors import DecompressionError, TooMuchData

TEXT = b"some text, some more text, " * 50
MASK = 0xFFFFFFFF
LIMIT = 1 << 20


def xxh32(data: bytes) -> int:
    """Return xxHash32 with seed 0, written down from its description."""
    primes = (2654435761, 2246822519, 3266489917, 668265263, 374761393)

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> 32 - bits) & MASK

    position = 0
    if len(data) >= 16:
        lanes = [primes[0] + primes[1] & MASK, primes[1], 0, -primes[0] & MASK]
        while position <= len(data) - 16:
            for i, word in enumerate(struct.unpack_from("<4I", data, position)):
                lanes[i] = rotate(lanes[i] + word * primes[1] & MASK, 13) * primes[0] & MASK
            position += 16
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
    else:
        value = primes[4]
    value = value + len(data) & MASK
    while position <= len(data) - 4:
        value = rotate(value + struct.unpack_from("<I", data, position)[0] * primes[2] & MASK, 17) * primes[3] & MASK
        position += 4
    for byte in data[position:]:
        value = rotate(value + byte * primes[4] & MASK, 11) * primes[0] & MASK
    value = (value ^ value >> 15) * primes[1] & MASK
    value = (value ^ value >> 13) * primes[2] & MASK
    return value ^ value >> 16


def frame(
    *parts: bytes,
    flags: int = 0x60,
    descriptor: int = 0x40,
    content_size: int | None = None,
    stored: bool = False,
    end: bytes = bytes(4),
) -> bytes:
    """Return a frame of one block for each part; the flags decide which checksums it has."""
    fields = bytes([flags, descriptor])
    if flags & 0x08:
        fields += struct.pack("<Q", sum(map(len, parts)) if content_size is None else content_size)
    if flags & 0x01:
        fields += bytes(4)
    out = b"\x04\x22\x4d\x18" + fields + bytes([xxh32(fields) >> 8 & 0xFF])
    for part in parts:
        block = part if stored else bytes(cramjam.lz4.compress_block(part, store_size=False))
        out += struct.pack("<I", len(block) | stored << 31) + block
        if flags & 0x10:
            out += struct.pack("<I", xxh32(block))
    return out + end + (struct.pack("<I", xxh32(b"".join(parts))) if flags & 0x04 else b"")


def test_the_checksum_of_headers_is_xxhash() -> None:
    """The short form in the codec agrees with the whole function, at every length a header has."""
    noise = random.Random(3)
    for size in range(2, 15):
        for _ in range(20):
            data = noise.randbytes(size)
            assert lz4._header_checksum(data) == xxh32(data) >> 8 & 0xFF


def test_what_is_written_is_what_kafka_writes() -> None:
    """Version 1, independent blocks of 64 KB, no sizes, no checksums, and an end mark."""
    assert lz4.compress(TEXT) == frame(TEXT)
    assert lz4.compress(bytes(100_000)) == frame(bytes(65_536), bytes(100_000 - 65_536))
    noise = random.Random(1).randbytes(100)
    assert lz4.compress(noise) == frame(noise, stored=True)
    assert lz4.compress(b"") == frame()


@pytest.mark.parametrize("descriptor", [0x40, 0x50, 0x60, 0x70])
@pytest.mark.parametrize("flags", [0x60 | extra for extra in (0, 4, 8, 12, 16, 20, 24, 28)])
def test_all_flags_that_kafka_knows(flags: int, descriptor: int) -> None:
    """Content size, content checksum and block checksums may be there, with blocks of any size."""
    assert lz4.decompress(frame(TEXT, flags=flags, descriptor=descriptor), LIMIT) == TEXT
    assert lz4.decompress(frame(TEXT[:9], TEXT[9:], flags=flags, descriptor=descriptor), LIMIT) == TEXT
    assert lz4.decompress(frame(TEXT, flags=flags, descriptor=descriptor, stored=True), LIMIT) == TEXT
    assert lz4.decompress(frame(flags=flags, descriptor=descriptor), LIMIT) == b""


def test_what_kafka_does_not_verify() -> None:
    """A wrong content checksum and a wrong content size go unnoticed, as in Kafka."""
    assert lz4.decompress(frame(TEXT, flags=0x64)[:-4] + b"\1\2\3\4", LIMIT) == TEXT
    assert lz4.decompress(frame(TEXT, flags=0x68, content_size=1), LIMIT) == TEXT


DAMAGED = {
    "dependent blocks": frame(TEXT, flags=0x40),
    "dictionary": frame(TEXT, flags=0x61),
    "reserved flag": frame(TEXT, flags=0x62),
    "version 0": frame(TEXT, flags=0x20),
    "unknown block size": frame(TEXT, descriptor=0x30),
    "reserved bit of the descriptor": frame(TEXT, descriptor=0x41),
    "header checksum": frame(TEXT)[:6] + b"\0" + frame(TEXT)[7:],
    "no end mark": frame(TEXT, end=b""),
    "part of an end mark": frame(TEXT, end=b"\0\0"),
    "block beyond the frame": frame(TEXT)[:-8],
    "block larger than allowed": frame(TEXT, random.Random(1).randbytes(65_537), stored=True),
    "content larger than allowed": frame(bytes(65_537)),
    "skippable frame first": b"\x50\x2a\x4d\x18\3\0\0\0abc" + frame(TEXT),
    "a block without a frame": bytes(cramjam.lz4.compress_block(TEXT, store_size=False)),
    "block checksum": frame(TEXT, flags=0x70)[:-8] + b"\1\2\3\4" + bytes(4),
    "header alone": frame(TEXT)[:7],
    "the library's dependent blocks": bytes(cramjam.lz4.compress(TEXT)),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_kafka_refuses_is_refused(case: str) -> None:
    """Every form that Apache Kafka 4.3 refuses is a DecompressionError."""
    with pytest.raises(DecompressionError):
        lz4.decompress(DAMAGED[case], LIMIT)


def test_the_limit_counts_all_blocks() -> None:
    """Blocks that are each below the limit are refused together."""
    data = frame(bytes(6_000), bytes(6_000))
    assert len(lz4.decompress(data, 12_000)) == 12_000
    with pytest.raises(TooMuchData):
        lz4.decompress(data, 11_999)


def test_a_block_takes_no_more_memory_than_it_holds() -> None:
    """Blocks that a frame calls large, and that hold little, do not keep the space that they could have needed."""
    data = frame(*[random.Random(1).randbytes(17_000)] * 60, descriptor=0x70)
    tracemalloc.start()
    try:
        assert len(lz4.decompress(data, LIMIT)) == 60 * 17_000
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
