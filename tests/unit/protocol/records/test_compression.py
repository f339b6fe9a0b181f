"""The codecs: what others compressed is read, what we compress others read, and nothing grows beyond its limit."""

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import kafka.codec
import lz4.frame
import pytest
import zstandard

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import HEADER_SIZE, Codec
from odradek.protocol.records.compression import compress, decompress
from odradek.protocol.records.errors import DecompressionError, TooMuchData
from odradek.protocol.records.record import iter_records
from tests.unit.protocol.records import golden

CODECS = [codec for codec in Codec if codec]
LEVELS = {Codec.GZIP: [-1, 1, 6, 9], Codec.SNAPPY: [], Codec.LZ4: [1, 2, 9, 10, 12, 17], Codec.ZSTD: [-7, 1, 3, 19]}
CONTENTS = {
    "nothing": b"",
    "one byte": b"x",
    "text": b"a record, a record, another record" * 20,
    "zeros of many blocks": bytes(300_000),
    "noise of many blocks": random.Random(5).randbytes(300_000),
}
SOME = {name: content for name, content in CONTENTS.items() if content}
"""Contents without the empty one, which no batch has, and which kafka-python does not read."""
MIB = 1 << 20


def read_elsewhere(codec: Codec, data: bytes) -> bytes:
    """Decompress with a library that has nothing to do with ours."""
    match codec:
        case Codec.GZIP:
            return gzip.decompress(data)
        case Codec.LZ4:
            return bytes(lz4.frame.decompress(data))
        case Codec.ZSTD:
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        case Codec.SNAPPY:
            return bytes(kafka.codec.snappy_decode(data))
    raise AssertionError(codec)


def write_elsewhere(codec: Codec, data: bytes) -> bytes:
    """Compress with a library that has nothing to do with ours."""
    match codec:
        case Codec.GZIP:
            return gzip.compress(data)
        case Codec.LZ4:
            return bytes(lz4.frame.compress(data, block_linked=False, content_checksum=True, block_checksum=True))
        case Codec.ZSTD:
            stream = zstandard.ZstdCompressor().compressobj()  # like Java's: the frame does not say its size
            return stream.compress(data) + stream.flush()
        case Codec.SNAPPY:
            return bytes(kafka.codec.snappy_encode(data))
    raise AssertionError(codec)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
@pytest.mark.parametrize("codec", list(Codec))
def test_content_comes_back(codec: Codec, content: bytes) -> None:
    """Whatever is compressed decompresses to itself, at every level, from any kind of buffer."""
    for level in (None, *LEVELS.get(codec, [])):
        data = compress(codec, content, level)
        assert decompress(codec, data) == content
        assert decompress(codec, memoryview(b"x" + data)[1:], limit=len(content)) == content


@pytest.mark.parametrize("content", SOME.values(), ids=SOME.keys())
@pytest.mark.parametrize("codec", CODECS)
def test_others_read_what_we_compress(codec: Codec, content: bytes) -> None:
    """Independent implementations get the same content."""
    for level in (None, *LEVELS[codec]):
        assert read_elsewhere(codec, compress(codec, content, level)) == content


@pytest.mark.parametrize("content", SOME.values(), ids=SOME.keys())
@pytest.mark.parametrize("codec", CODECS)
def test_what_others_compressed_is_read(codec: Codec, content: bytes) -> None:
    """The output of independent implementations is understood."""
    assert decompress(codec, write_elsewhere(codec, content)) == content


def test_levels_are_heeded() -> None:
    """A higher level makes less of the same text."""
    text = b"".join(b"user %d of %d, " % (i * 7919 % 1009, i % 13) for i in range(20_000))
    for codec, low, high in ((Codec.GZIP, 1, 9), (Codec.LZ4, 9, 12), (Codec.ZSTD, 1, 19)):
        assert len(compress(codec, text, high)) < len(compress(codec, text, low))


@pytest.mark.parametrize("producer", ["JAVA", "LIBRDKAFKA"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_payloads_of_producers_hold_the_same_records(producer: str, codec: Codec) -> None:
    """The bytes after the header of a producer's batch decompress to what it sends uncompressed, but for times."""
    data = getattr(golden, f"{producer}_{codec.name}")
    plain = getattr(golden, f"{producer}_NONE")
    assert len(decompress(codec, data[HEADER_SIZE:])) == len(plain) - HEADER_SIZE
    keys = [r.key for r in iter_records(data)]
    assert keys == [r.key for r in iter_records(plain)]


def test_unknown_codecs_cannot_be_used() -> None:
    """The attributes have room for codecs 5, 6 and 7, which do not exist; Kafka answers with an unknown error."""
    for codec in (5, 6, 7, -1):
        with pytest.raises(DecompressionError) as refused:
            decompress(codec, b"")
        assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        with pytest.raises(DecompressionError):
            compress(codec, b"")


@pytest.mark.parametrize("codec", CODECS)
def test_cut_data_is_refused(codec: Codec) -> None:
    """Wherever compressed data ends early, it is an error or, for Snappy between two blocks, a shorter content."""
    content = CONTENTS["text"]
    data = compress(codec, content)
    for size in range(1, len(data)):
        try:
            shorter = decompress(codec, data[:size])
        except DecompressionError:
            continue
        assert codec is Codec.SNAPPY
        assert content.startswith(shorter)
        assert len(shorter) < len(content)


@pytest.mark.parametrize("codec", CODECS)
def test_garbage_is_refused(codec: Codec) -> None:
    """Noise is no compressed data, and gives no other error than that."""
    noise = random.Random(11)
    for size in (1, 2, 7, 20, 100, 1000):
        with pytest.raises(DecompressionError):
            decompress(codec, noise.randbytes(size))


@pytest.mark.parametrize("codec", CODECS)
def test_flipped_bits_give_no_other_errors(codec: Codec) -> None:
    """Damage inside compressed data is refused, or it goes unnoticed; nothing else comes of it."""
    data = bytearray(compress(codec, CONTENTS["text"]))
    for place in range(len(data)):
        for bit in (0x01, 0x80):
            data[place] ^= bit
            with suppress(DecompressionError, TooMuchData):
                decompress(codec, data, limit=MIB)
            data[place] ^= bit


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_before_it_fills_the_memory(codec: Codec) -> None:
    """Data that holds 64 MiB is refused at a limit of 1 MiB, and never takes many times the limit."""
    bomb = compress(codec, bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(TooMuchData) as refused:
            decompress(codec, bomb, limit=MIB)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: Codec) -> None:
    """Content of just the limit's size is given, one byte more is not."""
    for size in (1, 1000, 65_536, 200_000):
        data = compress(codec, bytes(size))
        assert len(decompress(codec, data, limit=size)) == size
        with pytest.raises(TooMuchData):
            decompress(codec, data, limit=size - 1)


EMPTY_BLOCKS = {
    Codec.GZIP: (b"", gzip.compress(b""), b""),
    Codec.SNAPPY: (b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", b"\0\0\0\1\0", b""),
    Codec.LZ4: (compress(Codec.LZ4, b"")[:7], b"\1\0\0\0\0", bytes(4)),
}
"""How data begins, a part of it that holds nothing, and how it ends."""


@pytest.mark.parametrize("codec", EMPTY_BLOCKS)
def test_blocks_of_nothing_count_against_the_limit(codec: Codec) -> None:
    """A megabyte of empty blocks would take most of a second; after 256 of them a limit of 1 MiB is passed."""
    start, block, end = EMPTY_BLOCKS[codec]
    assert decompress(codec, start + block * 256 + end, limit=MIB) == b""
    with pytest.raises(TooMuchData):
        decompress(codec, start + block * 300 + end, limit=MIB)


HALVES = (b"first half, ", b"second half")


def joined(codec: Codec, join: Callable[[bytes, bytes], bytes] = bytes.__add__) -> bytes:
    """Decompress two compressed halves that follow each other."""
    return decompress(codec, join(compress(codec, HALVES[0]), compress(codec, HALVES[1])))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_streams_in_a_row_are_one(codec: Codec) -> None:
    """Members, frames and framed streams that follow each other are read on, as Kafka's readers do."""
    assert joined(codec) == b"".join(HALVES)


def test_of_lz4_only_the_first_frame_is_read() -> None:
    """Kafka's LZ4 reader stops at the end mark."""
    assert joined(Codec.LZ4) == HALVES[0]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
@pytest.mark.parametrize("rest", [b"\0\0", b"junk that is no header", b"\0" * 20])
def test_rest_after_the_end_is_ignored(codec: Codec, rest: bytes) -> None:
    """Java's gzip reader and Kafka's LZ4 reader do not mind what follows the last byte that they need."""
    assert decompress(codec, compress(codec, b"content") + rest) == b"content"


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.ZSTD])
def test_rest_after_the_end_is_refused(codec: Codec) -> None:
    """Snappy's and zstd's readers want another block or frame."""
    with pytest.raises(DecompressionError):
        decompress(codec, compress(codec, b"content") + b"junk that is no header")


def test_a_damaged_second_gzip_member_is_refused() -> None:
    """What begins like a member must be one."""
    with pytest.raises(DecompressionError):
        joined(Codec.GZIP, lambda first, second: first + second[:-3])


def test_gzip_of_many_members() -> None:
    """Any number of members is read, in time that grows with the data only."""
    assert decompress(Codec.GZIP, compress(Codec.GZIP, b"x") * 5000) == b"x" * 5000


def test_a_gzip_member_longer_than_a_window_may_come_second() -> None:
    """The second member is fed in windows, which shows nowhere."""
    noise = CONTENTS["noise of many blocks"]
    assert decompress(Codec.GZIP, compress(Codec.GZIP, b"x") + compress(Codec.GZIP, noise)) == b"x" + noise


def test_zlib_streams_are_no_gzip() -> None:
    """The container matters, not only the compression."""
    with pytest.raises(DecompressionError):
        decompress(Codec.GZIP, zlib.compress(b"content"))


def test_zstd_without_any_frame_is_empty() -> None:
    """Java's reader takes no bytes for no content; other codecs need at least a header."""
    assert decompress(Codec.ZSTD, b"") == b""
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        with pytest.raises(DecompressionError):
            decompress(codec, b"")


def test_zstd_skippable_frames_are_skipped() -> None:
    """Frames that are there to be skipped hold nothing."""
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    assert decompress(Codec.ZSTD, skippable + compress(Codec.ZSTD, b"content") + skippable) == b"content"
