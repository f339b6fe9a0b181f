"""Batches that producers may send, and what Apache Kafka 4.3 answers to each: the answers were taken from a running
broker.

Where we answer otherwise on purpose, the case says so, and why. Each case can be built for any present time, so that
the same table can be put to a running broker.
"""

import gzip
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cramjam

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import Codec
from odradek.storage.validation import ValidationRules
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord, records, zigzag

HOUR_MS = 3_600_000

TOPICS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "limits": {"message.timestamp.before.max.ms": "100000", "message.timestamp.after.max.ms": "50000"},
    "small": {"max.message.bytes": "200"},
    "small-uncompressed": {"max.message.bytes": "300", "compression.type": "uncompressed"},
    "gzip": {"compression.type": "gzip"},
    "snappy": {"compression.type": "snappy"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed"},
    "append-time-gzip": {"compression.type": "gzip", "message.timestamp.type": "LogAppendTime"},
}
"""Kinds of topic, with their configuration."""

RULES: Mapping[str, ValidationRules] = {
    "plain": ValidationRules(),
    "compacted": ValidationRules(compacted=True, partition="compacted-0"),
    "append-time": ValidationRules(log_append_time=True),
    "limits": ValidationRules(timestamp_before_max_ms=100_000, timestamp_after_max_ms=50_000),
    "small": ValidationRules(max_message_bytes=200),
    "small-uncompressed": ValidationRules(max_message_bytes=300, codec=Codec.NONE),
    "gzip": ValidationRules(codec=Codec.GZIP),
    "snappy": ValidationRules(codec=Codec.SNAPPY),
    "lz4": ValidationRules(codec=Codec.LZ4),
    "zstd": ValidationRules(codec=Codec.ZSTD),
    "uncompressed": ValidationRules(codec=Codec.NONE),
    "append-time-gzip": ValidationRules(codec=Codec.GZIP, log_append_time=True),
}
"""The same, as validation sees them."""


@dataclass(frozen=True)
class Case:
    """One batch for one kind of topic."""

    name: str
    build: Callable[[int], bytes]
    """Makes the records field of a produce request, at a present time."""
    kafka: ErrorCode = ErrorCode.NONE
    """What Apache Kafka answers."""
    topic: str = "plain"
    ours: ErrorCode | None = None
    """What we answer, where that is something else."""
    why: str = ""
    rewritten: bool = False
    """Whether we store something else than Apache Kafka does, by intention or by the freedom of a compressor."""

    @property
    def expected(self) -> ErrorCode:
        """What we answer."""
        return self.kafka if self.ours is None else self.ours


CASES: list[Case] = []


def add(name: str, body: bytes | None, kafka: ErrorCode = ErrorCode.NONE, **fields: Any) -> None:
    """Add a case of one batch around `body`; names of `Case` go there, others to the batch; times are relative."""
    case = {key: fields.pop(key) for key in ("topic", "ours", "why", "rewritten") if key in fields}
    base, greatest = fields.pop("base", 0), fields.pop("greatest", None)
    finish: Callable[[bytes], bytes] = fields.pop("finish", lambda batch: batch)

    def build(now: int) -> bytes:
        times = {"base_timestamp": now + base if base is not None else -1}
        if greatest is not None:
            times["max_timestamp"] = now + greatest
        made = HandmadeBatch(records(1) if body is None else body, **{**times, **fields})
        return finish(bytes(made.encode()))

    CASES.append(Case(name, build, kafka, **case))


INVALID, CORRUPT = ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE
TIMESTAMP, TOO_LARGE = ErrorCode.INVALID_TIMESTAMP, ErrorCode.MESSAGE_TOO_LARGE
UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR

# --- as a whole
add("one record", None)
add("three records", records(3), count=3)
add("no records at all", None, INVALID, finish=lambda _: b"")
add("part of a batch", None, INVALID, finish=lambda batch: batch[:40])
add("bytes after the batch", None, finish=lambda batch: batch + b"xx")
add("eleven zeros after the batch", None, finish=lambda batch: batch + bytes(11))
add("twelve zeros after the batch", None, CORRUPT, finish=lambda batch: batch + bytes(12))
add("part of a batch after the batch", None, finish=lambda batch: batch + batch[:50])
add("two batches", None, INVALID, finish=lambda batch: batch * 2)
add("magic 0", None, INVALID, magic=0)
add("magic 1", None, INVALID, magic=1)
add("magic 3", None, CORRUPT, magic=3)
add("magic -1", None, CORRUPT, magic=-1)
add("wrong checksum", None, CORRUPT, checksum=5)
add("length 13", None, CORRUPT, length=13)
add("length 14", None, CORRUPT, length=14)
add("length 48", None, CORRUPT, length=48)
add("length -1", None, CORRUPT, length=-1)
add("length one too many", None, INVALID, length=59)
add("a length beyond all", None, UNKNOWN, length=2**31 - 1, ours=INVALID, why="an overflow inside Kafka")

# --- header
add("base offset 5", None, INVALID, base_offset=5)
add("base offset -1", None, INVALID, base_offset=-1)
add("leader epoch of the producer's", None, leader_epoch=9)
add("last offset delta -1", None, INVALID, last_offset_delta=-1)
add("last offset delta 5", None, INVALID, last_offset_delta=5)
add("no records", b"", INVALID, count=0)
add("no records, offset delta 0", b"", INVALID, count=0, last_offset_delta=0)
add("count -1", None, INVALID, count=-1)
add("count -1, offset delta 0", None, INVALID, count=-1, last_offset_delta=0)
add("count too high", None, INVALID, count=2)
add("count too high, offset delta 0", None, INVALID, count=2, last_offset_delta=0)
add("count too low", records(2), INVALID, count=1)
add("a byte after the records", records(1) + b"\0", INVALID)
add("no body", b"", INVALID)
add("control batch", HandmadeRecord(key=bytes(4), value=bytes(6)).encode(), INVALID, attributes=0x20)
add("producer without sequence", None, INVALID, producer_id=77, producer_epoch=0)
add("producer with sequence -2", None, INVALID, producer_id=77, producer_epoch=0, base_sequence=-2)
add("producer -2", None, producer_id=-2, producer_epoch=0, base_sequence=0)
add("sequence without producer", None, base_sequence=4)
add("epoch without producer", None, producer_epoch=4)
add("unused attribute bits", None, attributes=0x7F80)
add("delete horizon", None, attributes=0x40)
add("larger than the topic allows", HandmadeRecord(value=b"1" * 300).encode(), TOO_LARGE, topic="small")
add("too large and damaged", HandmadeRecord(value=b"1" * 300).encode(), TOO_LARGE, topic="small", checksum=5)
add("base offset 5 and too large", HandmadeRecord(value=b"1" * 300).encode(), INVALID, topic="small", base_offset=5)

# --- records
add("offset delta 7", HandmadeRecord(7).encode(), rewritten=True, why="Kafka stores the wrong delta")
add("offset deltas swapped", HandmadeRecord(1).encode() + HandmadeRecord(0).encode(), count=2, rewritten=True)
add("offset delta -1", HandmadeRecord(-1).encode(), rewritten=True)
add("length beyond the batch", HandmadeRecord(length=100).encode(), INVALID)
add("length too short", HandmadeRecord(length=3).encode(), INVALID)
add("negative length", HandmadeRecord(length=-1).encode(), INVALID)
add("length zero", zigzag(0), INVALID)
add("length in five bytes", b"\x90\x80\x80\x80\x00" + records(1)[1:])
add(
    "length in six bytes",
    b"\x90\x80\x80\x80\x80\x80\x00" + records(1)[1:],
    UNKNOWN,
    ours=INVALID,
    why="not foreseen by Kafka",
)
add("key length -2", zigzag(7) + b"\0\0\0" + zigzag(-2) + zigzag(1) + b"v\0")
add("value length -2", zigzag(6) + b"\0\0\0" + zigzag(-2) + zigzag(-2) + b"\0")
add("key beyond the record", zigzag(7) + b"\0\0\0" + zigzag(50) + zigzag(1) + b"v\0", INVALID)
add("header count -1", zigzag(7) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(-1), INVALID)
add("header count too high", zigzag(7) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(9), INVALID)
add("header without name", zigzag(9) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(1) + zigzag(-1) * 2, INVALID)
add("header without value", HandmadeRecord(headers=[(b"h", None)]).encode())
add("header name that is no text", HandmadeRecord(headers=[(b"\xff\xfe", b"x")]).encode())
add("bytes after the fields", HandmadeRecord(tail=b"zz").encode(), INVALID)
add("record attributes", HandmadeRecord(attributes=255).encode())

# --- timestamps
LATE = HandmadeRecord(1, timestamp_delta=50).encode()
add("in the future", None, TIMESTAMP, base=9_000_000)
add("just within the hour", None, base=HOUR_MS - 60_000)
add("long ago", None, base=-(10**12))
add("no timestamp", None, base=None)
add("greatest timestamp too low", records(1) + LATE, count=2)
add("greatest timestamp too high", None, greatest=70)
add("greatest timestamp in the far future", None, greatest=10**10)
add("greatest timestamp long ago", None, greatest=-(10**12))
add(
    "one record in the future",
    records(2) + HandmadeRecord(2, 10**9).encode() + HandmadeRecord(3).encode(),
    TIMESTAMP,
    count=4,
)
add("beyond the limit in the past", None, TIMESTAMP, topic="limits", base=-200_000)
add("beyond the limit in the future", None, TIMESTAMP, topic="limits", base=120_000)
add("one record beyond the limit", HandmadeRecord(timestamp_delta=-200_000).encode(), TIMESTAMP, topic="limits")
add("no timestamp where there are limits", None, topic="limits", base=None)
add("append time set by the producer", None, attributes=8)
add("append time set by the producer, none given", None, TIMESTAMP, attributes=8, base=None)
add("append time set by the producer for such a topic", None, TIMESTAMP, attributes=8, topic="append-time")
add("append time", None, topic="append-time")
add("append time, none given", None, topic="append-time", base=None)
add("append time, in the future", None, topic="append-time", base=10**9)

# --- compacted topics
NO_KEY = b"".join(HandmadeRecord(i, key=None).encode() for i in (1, 2, 3, 4))
add("records without keys", records(1) + NO_KEY, INVALID, topic="compacted", count=5)
add("keys, and tombstones", records(2, value=None), topic="compacted", count=2)
add(
    "a record without key among records in the future",
    HandmadeRecord(0, 10**9).encode() + HandmadeRecord(1, key=None).encode() + HandmadeRecord(2, 10**9, None).encode(),
    TIMESTAMP,
    topic="compacted",
    count=3,
)

# --- compression
BODY = records(2, value=b"1" * 200)


def xerial(data: bytes) -> bytes:
    """Return the data as one block in the Java library's framing of Snappy."""
    block = bytes(cramjam.snappy.compress_raw(data))
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


def packed(data: bytes) -> bytes:
    """Return the data as gzip."""
    return gzip.compress(data, mtime=0)


ZSTD = bytes(cramjam.zstd.compress(BODY))
add("gzip", packed(BODY), count=2, attributes=1)
add("gzip, damaged", packed(BODY)[:-8] + bytes(8), UNKNOWN, count=2, attributes=1)
add("gzip, cut", packed(BODY)[:-9], UNKNOWN, count=2, attributes=1)
add("gzip, none", b"", UNKNOWN, count=2, attributes=1)
add("gzip of nothing", packed(b""), INVALID, count=2, attributes=1)
add("gzip, bytes after the records", packed(BODY + b"\0"), INVALID, count=2, attributes=1)
add("gzip, count too low", packed(BODY), INVALID, count=1, attributes=1)
add("gzip, count too high", packed(BODY), INVALID, count=3, attributes=1)
add("gzip, no compressed data", records(1), UNKNOWN, attributes=1)
add(
    "gzip, key beyond the record",
    packed(zigzag(7) + b"\0\0\0" + zigzag(50) + zigzag(1) + b"v\0"),
    INVALID,
    attributes=1,
)
add("gzip, bytes after the fields", packed(HandmadeRecord(tail=b"zz").encode()), INVALID, attributes=1)
add("gzip, records without keys", packed(records(1) + NO_KEY), INVALID, count=5, attributes=1, topic="compacted")
add("gzip, in the future", packed(BODY), TIMESTAMP, count=2, attributes=1, base=9_000_000)
add("gzip, append time", packed(BODY), count=2, attributes=1, topic="append-time")
add(
    "gzip, length of a record lies",
    packed(HandmadeRecord(0, length=99).encode() + HandmadeRecord(1, length=1).encode()),
    count=2,
    attributes=1,
    ours=INVALID,
    why="Kafka does not look at it, and consumers stumble",
)
add(
    "gzip, offset deltas wrong",
    packed(HandmadeRecord(5).encode() + HandmadeRecord(9).encode()),
    UNKNOWN,
    count=2,
    attributes=1,
    ours=ErrorCode.NONE,
    why="Kafka means to rewrite such batches, and fails",
    rewritten=True,
)
add("snappy", xerial(BODY), count=2, attributes=2)
add("snappy, bare block", bytes(cramjam.snappy.compress_raw(BODY)), count=2, attributes=2)
add("snappy, another framing", bytes(cramjam.snappy.compress(BODY)), UNKNOWN, count=2, attributes=2)
add("lz4 of dependent blocks", bytes(cramjam.lz4.compress(BODY)), UNKNOWN, count=2, attributes=3)
add("zstd", ZSTD, count=2, attributes=4)
add("zstd, more after it", ZSTD + b"xyz", UNKNOWN, count=2, attributes=4)
add("codec 5", None, UNKNOWN, attributes=5)
add("codec 7", None, UNKNOWN, attributes=7)

# --- another codec than the topic's
PRODUCER: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
MIXED = (
    HandmadeRecord(0, 0, b"a", b"x" * 300, [(b"h", b"v"), (b"n", None)]).encode()
    + HandmadeRecord(1, 7, None, b"y" * 300).encode()
    + HandmadeRecord(2, -3, b"a", None).encode()
)
FREE = ("gzip", "zstd", "append-time-gzip")  # compressors that may do it in another way than Java's
for codec in ("gzip", "snappy", "lz4", "zstd", "uncompressed", "append-time-gzip"):
    add(f"{codec} from none", MIXED, count=3, topic=codec, greatest=99, rewritten=codec in FREE)
    add(f"{codec} from gzip", packed(MIXED), count=3, attributes=1, topic=codec, rewritten=codec == "zstd", **PRODUCER)
    add(f"{codec} from snappy", xerial(MIXED), count=3, attributes=2, topic=codec, rewritten=codec in FREE)
    add(f"{codec} without timestamp", None, topic=codec, base=None, rewritten=codec in FREE)
add("too large once unpacked", packed(MIXED), TOO_LARGE, count=3, attributes=1, topic="small-uncompressed")
add(
    "wrong offsets to another codec",
    HandmadeRecord(4).encode() + HandmadeRecord(9).encode(),
    count=2,
    topic="zstd",
    rewritten=True,
)
