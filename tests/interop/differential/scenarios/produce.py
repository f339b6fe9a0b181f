"""Produce: good batches, damaged ones, sequences, limits, at every version."""

import random
import struct
import uuid
from collections.abc import Sequence
from typing import Any

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import NOW_MS, topic
from tests.support.wire import BatchFields, Record, build_batch, served_versions

ONE = [Record(b"a", b"1")]
SEVERAL = [Record(b"a", b"1"), Record(None, b"2"), Record(b"c", None, [("h", b"x"), ("n", None)])]
MARKER = Record(struct.pack(">hh", 0, 0), struct.pack(">hi", 0, 0))
GZIP, CODEC_5, CONTROL, TRANSACTIONAL = 1, 5, 0x20, 0x10


def _batch(records: Sequence[Record] = ONE, **fields: Any) -> bytes:
    return build_batch(records, BatchFields(**{"timestamp": NOW_MS, **fields}))


GOOD = _batch(SEVERAL)


def produce() -> Steps:
    """Append what can be appended and try everything that cannot."""
    for version in served_versions("Produce", 3):
        name = f"pr{version}"
        topic_id = yield from topic(name, 2)
        yield from _requests(version, name, topic_id)
        yield from _batches(version, name, topic_id)
        yield from _sequences(version, name, topic_id)
        yield from _beside_good_ones(version)
    yield from _topic_rules()


class _Sender:
    """Makes requests with one batch for one partition."""

    def __init__(self, version: int, name: str, topic_id: uuid.UUID) -> None:
        self._version = version
        self._topic = {"name": name, "topic_id": topic_id}

    def __call__(self, label: str, records: bytes, partition: int = 0, acks: int = -1, **where: object) -> Ask:
        data = {**self._topic, **where, "partition_data": [{"index": partition, "records": records}]}
        return Ask(label, "Produce", self._version, {"acks": acks, "timeout_ms": 3000, "topic_data": [data]})


def _requests(version: int, name: str, topic_id: uuid.UUID) -> Steps:
    send = _Sender(version, name, topic_id)
    yield send("good", GOOD)
    yield send("good again", GOOD)
    yield send("acks 1", GOOD, acks=1)
    yield send("acks 2", GOOD, acks=2)
    yield send("acks -2", GOOD, acks=-2)
    yield send("unknown partition", GOOD, partition=9)
    yield send("negative partition", GOOD, partition=-1)
    yield send("unknown topic", GOOD, name="pr-none", topic_id=uuid.UUID(int=5))
    yield Ask("no topics", "Produce", version, {"acks": -1, "timeout_ms": 3000, "topic_data": []})


def _batches(version: int, name: str, topic_id: uuid.UUID) -> Steps:
    send = _Sender(version, name, topic_id)
    # No records at all (null): Apache Kafka 4.3 never answers, so this cannot be asked of it.
    yield send("empty records", b"")
    yield send("short", GOOD[:40])
    yield send("cut in the records", GOOD[:-1])
    yield send("trailing bytes", GOOD + b"xx")
    yield send("two batches", GOOD + GOOD)
    yield send("wrong crc", _batch(crc_flip=1))
    yield send("magic 3", _batch(magic=3))
    yield send("magic 1", _batch(magic=1))
    yield send("count too big", _batch(count=2))
    yield send("count zero", _batch(count=0))
    yield send("count negative", _batch(count=-1))
    yield send("base offset 5", _batch(base_offset=5))
    yield send("leader epoch 3", _batch(leader_epoch=3))
    yield send("in the future", _batch(timestamp=NOW_MS + 9_000_000))
    yield send("long ago", _batch(timestamp=1000))
    yield send("no timestamp", _batch(timestamp=-1))
    yield send("control batch", _batch([MARKER], attributes=CONTROL))
    yield send("unknown codec", _batch(attributes=CODEC_5))
    for codec, label in enumerate(("gzip", "snappy", "lz4", "zstd"), 1):
        yield send(f"not {label}", _batch(attributes=codec))
    yield send("garbage records", _batch(body=b"\x7f" * 40))
    yield send("too large", _batch([Record(b"a", b"x" * 1_100_000)]))


def _sequences(version: int, name: str, topic_id: uuid.UUID) -> Steps:
    send = _Sender(version, name, topic_id)

    def numbered(producer_id: int, epoch: int, sequence: int, **fields: Any) -> bytes:
        return _batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **fields)

    stranger, known = 4000 + version, 5000 + version
    yield send("unknown producer starts at 5", numbered(stranger, 0, 5), partition=1)
    yield send("sequence 0", numbered(known, 0, 0), partition=1)
    yield send("sequence 0 again", numbered(known, 0, 0), partition=1)
    yield send("sequence gap", numbered(known, 0, 7), partition=1)
    for sequence in range(1, 7):
        yield send(f"sequence {sequence}", numbered(known, 0, sequence), partition=1)
    yield send("fifth last again", numbered(known, 0, 2), partition=1)
    yield send("sixth last again", numbered(known, 0, 1), partition=1)
    yield send("new epoch not from 0", numbered(known, 1, 3), partition=1)
    yield send("new epoch from 0", numbered(known, 1, 0), partition=1)
    yield send("old epoch", numbered(known, 0, 7), partition=1)
    yield send("negative sequence", numbered(known, 1, -1), partition=1)
    yield send("transactional without a transaction", numbered(known, 1, 1, attributes=TRANSACTIONAL), partition=1)


def _beside_good_ones(version: int) -> Steps:
    """One partition's records are bad: are the others written?"""
    name = f"pr{version}-beside"
    topic_id = yield from topic(name, 4)
    bad = {
        "magic 3": _batch(magic=3),
        "magic -1": _batch(magic=-1),
        "magic 1": _batch(magic=1),
        "codec 5": _batch(attributes=CODEC_5),
        "codec 7": _batch(attributes=7),
        "codec 5 and no body": _batch(attributes=CODEC_5)[:61],
        "wrong crc": _batch(crc_flip=1),
        "no records": b"",
        "two batches": GOOD + GOOD,
        "trailing magic 1": GOOD + _batch(magic=1),
        "trailing damage": GOOD + b"\xff" * 20,
        "size 0": bytes(80),
        "size 13": _entry(13, 2),
        "size 14, magic 0": _entry(14, 0),
        "size 48": _entry(48, 2),
        "largest size": _entry(0x7FFFFFFF, 2),
        "11 bytes": bytes(11),
        "12 bytes": bytes(12),
        **{f"random {seed}": _random_batch(seed) for seed in range(8)},
    }
    for label, records in bad.items():
        data = [{"index": index, "records": each} for index, each in enumerate((GOOD, records, GOOD))]
        fields = {"name": name, "topic_id": topic_id, "partition_data": data}
        yield Ask(f"beside {label}", "Produce", version, {"acks": -1, "timeout_ms": 3000, "topic_data": [fields]})
    last = [{"partition_index": index, "timestamp": -1, "current_leader_epoch": -1} for index in range(4)]
    fields = {"replica_id": -1, "topics": [{"name": name, "partitions": last}]}
    yield Ask(f"ends beside {version}", "ListOffsets", 5, fields)


def _entry(size: int, magic: int) -> bytes:
    return bytes(8) + struct.pack(">iib", size, 0, magic) + bytes(60)


def _random_batch(seed: int) -> bytes:
    """Return bytes that are a batch of today by their size and magic, and neither control nor transactional."""
    noise = random.Random(seed).randbytes(61 + 10 * seed)
    return noise[:8] + struct.pack(">iib", len(noise) - 12, 0, 2) + noise[17:21] + bytes(2) + noise[23:]


def _topic_rules() -> Steps:
    def send(label: str, records: bytes, *names: str, version: int = 11) -> Ask:
        data = [{"name": name, "partition_data": [{"index": 0, "records": records}]} for name in names]
        return Ask(label, "Produce", version, {"acks": -1, "timeout_ms": 3000, "topic_data": data})

    yield from topic("pr-compact", cleanup_policy="compact")
    no_keys = _batch([Record(b"a", b"1"), Record(None, b"2"), Record(None, b"3")])
    for version in (7, 9, 11):
        yield send("compacted topic, no key", no_keys, "pr-compact", version=version)
    yield send("compacted topic, key", _batch(), "pr-compact")
    yield from topic("pr-append-time", message_timestamp_type="LogAppendTime")
    yield send("append time", _batch(), "pr-append-time")
    yield from topic("pr-small", max_message_bytes=200)
    yield send("over the topic's limit", _batch([Record(b"a", b"1" * 300)]), "pr-small")
    yield from topic("pr-strict", message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=1000)
    yield send("older than the topic allows", _batch(), "pr-strict")
    yield send("newer than the topic allows", _batch(timestamp=NOW_MS + 9_000_000), "pr-strict")
    yield from topic("pr-zstd", compression_type="zstd")
    yield send("compressed by the broker", GOOD, "pr-zstd")
    yield from topic("pr-segment", segment_bytes=1_048_576, max_message_bytes=2_000_000)
    yield send("larger than a segment", _batch([Record(b"a", b"x" * 1_500_000)]), "pr-segment")
    yield send("one topic good, one unknown", _batch(), "pr-small", "pr-none")
