"""What a request costs: the longest turn of the event loop and the memory that any bytes of a client can cause.

Requests are made from Kafka's schemas, each with one of its arrays (or texts) blown up, and batches of records from
shapes that are small on the wire and large behind it. By default it runs for `DEFAULT_BUDGET_S`; ODRADEK_FUZZ_SECONDS
makes it run longer, with another seed each time, which is printed, and ODRADEK_FUZZ_SEED runs one again.
"""

import gzip
import os
import random
import struct
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.protocol.records.compression import compress
from tests.fault.talk import MEGABYTE, create_topic, produce
from tests.support.measured_broker import MeasuredBroker
from tests.support.waiting import eventually
from tests.support.wire import SCHEMAS, ConnectionClosedError, WireClient, known_versions
from tests.support.wire.client import request_frame
from tests.support.wire.schema import APIS, Type
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord

DEFAULT_BUDGET_S = 20.0
LONGEST_TURN_S = 0.05 * float(os.environ.get("ODRADEK_FUZZ_SLACK", "2"))
"""What a turn of the loop may take, whatever a client sends: 50 ms, twice as much on a machine that does other things
at the same time (ODRADEK_FUZZ_SLACK says how many times)."""
TIMES_OF_FRAME = 40
"""Memory for the objects and the answer that a request becomes, in times of its frame."""
ALLOWED_BYTES = 24 * MEGABYTE
CHECK_BYTES = 3 * 64 * MEGABYTE
"""Memory of the one batch that is being checked at a time."""
TOPIC = "costly"
NO_FUZZ = {"Produce", "ShareFetch"}
FULL = 0
"""As many elements as a frame of a megabyte has room for, instead of their count: smaller ones are more of them."""
_SAMPLE = 1_000
"""Elements by which it is told at first how large one is."""
_ROOM = 16 * 1024
"""What a frame stays below a megabyte, since all are not quite of a size."""
_NUMBERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}


class Request(NamedTuple):
    """A frame, and how to make it again."""

    name: str
    frame: bytes
    allowed_bytes: int


class Shape:
    """Makes values of a schema with one array blown up to `count` elements: the one whose turn it is."""

    def __init__(self, source: random.Random, blown: int, count: int, distinct: bool) -> None:
        self.source = source
        self.blown = blown
        self.count = count
        self.distinct = distinct
        self.arrays = 0
        self.made = 0

    def value(self, kind: Type) -> Any:
        """Return a value of the type."""
        if isinstance(kind, list):
            return {field[0]: self.value(field[1]) for field in kind if field[0] != "_tags"}
        if isinstance(kind, dict):
            if kind["t"] == "nullable struct":
                return self.value(kind["of"])
            number, self.arrays = self.arrays, self.arrays + 1
            count = self.count if number == self.blown else 1
            values = []
            for _ in range(count):
                self.arrays = number + 1  # arrays inside are the same ones each time
                values.append(self.value(kind["of"]))
            return values
        if kind in _NUMBERS:
            self.made += 1
            if self.distinct and kind in ("int32", "int64"):
                return self.made % (1 << 30)
            return self.source.choice([0, 0, 0, 1, -1 if not kind.startswith("u") else 1])
        if kind == "boolean":
            return self.source.random() < 0.5
        if kind == "float64":
            return 1.0
        if kind == "uuid":
            self.made += 1
            return uuid.UUID(int=self.made)
        if "string" in kind:
            self.made += 1
            return f"n{self.made}" if self.distinct else TOPIC
        return b""


def _array_count(kind: Type) -> int:
    shape = Shape(random.Random(0), -1, 0, False)
    shape.value(kind)
    return shape.arrays


def blown_up(source: random.Random) -> Request:
    """Return a request of any API with one array of many elements."""
    apis = [api for api in APIS if api not in NO_FUZZ and known_versions(api)]
    while True:
        api = source.choice(apis)
        version = source.choice(known_versions(api))
        arrays = _array_count(SCHEMAS[f"{api}Request", version])
        if arrays:
            break
    blown, count = source.randrange(arrays), source.choice([300, 3_000, 20_000, FULL, FULL])
    distinct = source.random() < 0.7
    if count == FULL:
        count = _most_elements(api, version, blown, distinct)
    frame = _blown_frame(source, api, version, blown, count, distinct)
    return Request(f"{api} {version}, array {blown} of {count}, {distinct=}", frame, TIMES_OF_FRAME * len(frame))


@cache
def _most_elements(api: str, version: int, blown: int, distinct: bool) -> int:
    """Return how many elements of the array make a frame of not quite a megabyte."""
    count = _SAMPLE
    for _ in range(3):  # with more of them their names grow longer
        size = len(_blown_frame(random.Random(0), api, version, blown, count, distinct))
        count = max(count * (MEGABYTE - _ROOM) // size, 1)
    return count


def _blown_frame(source: random.Random, api: str, version: int, blown: int, count: int, distinct: bool) -> bytes:
    fields = Shape(source, blown, count, distinct).value(SCHEMAS[f"{api}Request", version])
    # no long polls; and what a topic that is made takes is not what its request takes
    for name, number in (
        ("max_wait_ms", 1),
        ("timeout_ms", 100),
        ("session_epoch", -1),
        ("min_bytes", 0),
        ("validate_only", True),
    ):
        if name in fields:
            fields[name] = number
    return request_frame(api, version, 1, fields)


@cache
def _body(codec: int, piece: bytes, times: int) -> bytes:
    """Compressed records."""
    return compress(codec, piece * times)


def dense(source: random.Random) -> Request:
    """Return a produce request of batches that stand for more than they are."""
    codec = source.choice([0, 1, 2, 3, 4, 4])
    plain = HandmadeRecord(key=None, value=None).encode()
    pieces = {
        "smallest": plain,
        "two sizes": plain + HandmadeRecord(key=None, value=b"x").encode(),
        "keys": HandmadeRecord(key=b"k", value=None).encode(),
        "headers": HandmadeRecord(headers=[(b"", None)] * 50).encode(),
        "long": HandmadeRecord(value=bytes(100_000)).encode(),
    }
    name = source.choice(sorted(pieces))
    piece = pieces[name]
    per_piece = 2 if name == "two sizes" else 1
    size = source.choice([100_000, 1_000_000, 6_000_000, 60_000_000, 130_000_000])
    batches = source.choice([1, 1, 3, 30])
    if not codec or batches > 1:
        size = min(size, 1_000_000)
    times = max(size // len(piece), 1)
    batch = HandmadeBatch(
        _body(codec, piece, times),
        attributes=codec,
        count=times * per_piece + source.choice([0, 0, 0, 0, 1, -1]),
        base_timestamp=int(time.time() * 1000) + source.choice([0, 0, 10**10, -(10**12)]),
    ).encode()
    data = [{"index": number % 4, "records": batch} for number in range(batches)]
    topic = source.choice([TOPIC, TOPIC + "-compacted", TOPIC + "-gzip"])
    fields = {"acks": -1, "timeout_ms": 1_000, "topic_data": [{"name": topic, "partition_data": data}]}
    frame = request_frame("Produce", 9, 1, fields)
    told = f"Produce to {topic}, {batches} of {len(batch)} bytes, codec {codec}, {times} times {name}"
    return Request(told, frame, 4 * len(frame) + CHECK_BYTES)


def old_messages(source: random.Random) -> Request:
    """Return a produce request of an old version with wrappers of many messages."""
    magic = source.choice([0, 1])
    head = struct.pack(">bb", magic, 0) + (struct.pack(">q", -1) if magic else b"") + struct.pack(">ii", -1, 0)
    inner = struct.pack(">qiI", 0, len(head) + 4, zlib.crc32(head)) + head
    count = source.choice([100, 5_000, 150_000, 1_000_000])
    packed = gzip.compress(inner * count, 6)
    body = struct.pack(">bb", magic, 1) + (struct.pack(">q", -1) if magic else b"")
    body += struct.pack(">ii", -1, len(packed)) + packed
    wrapper = struct.pack(">qiI", count - 1, len(body) + 4, zlib.crc32(body)) + body
    fields = {
        "acks": -1,
        "timeout_ms": 1_000,
        "topic_data": [{"name": TOPIC, "partition_data": [{"index": 0, "records": wrapper}]}],
    }
    frame = request_frame("Produce", source.choice([0, 1, 2]), 1, fields)
    return Request(f"Produce of {count} old messages of version {magic}", frame, 4 * len(frame) + CHECK_BYTES)


KINDS: list[Callable[[random.Random], Request]] = [blown_up, blown_up, blown_up, dense, dense, old_messages]


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[MeasuredBroker]:
    """A broker that measures itself, with some topics."""
    broker = MeasuredBroker(
        tmp_path / "broker", {"group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false"}
    )
    try:
        broker.start()
        with WireClient(broker.port) as wire:
            assert create_topic(wire, TOPIC, 4) == 0
            assert create_topic(wire, TOPIC + "-compacted", 4, {"cleanup.policy": "compact"}) == 0
            assert create_topic(wire, TOPIC + "-gzip", 4, {"compression.type": "gzip"}) == 0
            wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["g"])
            eventually(lambda: produce(wire, TOPIC, b"x").error_code == 0, "it serves")
        yield broker
    finally:
        broker.discard()


def _exchange(broker: MeasuredBroker, frame: bytes) -> str:
    """Send a request, and wait until it is answered or its connection is closed; returns why, or nothing."""
    with WireClient(broker.port, timeout=60) as wire:
        try:
            wire.send_frame(frame)
            wire.receive_frame()
        except ConnectionClosedError as closed:
            return str(closed)
    return ""


def test_no_request_costs_more_than_its_share(measured: MeasuredBroker) -> None:
    """No turn of the loop is long, and memory follows from the size of a request, or from what it decompresses to."""
    budget = float(os.environ.get("ODRADEK_FUZZ_SECONDS", DEFAULT_BUDGET_S))
    seed = os.environ.get("ODRADEK_FUZZ_SEED") or ("1" if budget == DEFAULT_BUDGET_S else str(time.time_ns()))
    sys.stdout.write(f"ODRADEK_FUZZ_SEED={seed}\n")
    source = random.Random(int(seed))
    until = time.monotonic() + budget
    seen: list[tuple[float, int, str]] = []
    too_much: list[str] = []
    while time.monotonic() < until:
        request = source.choice(KINDS)(source)
        before = measured.start_measuring()
        ended = _exchange(measured, request.frame)
        took, grown = measured.longest_turn_s, measured.peak_bytes - before
        seen.append((took, grown, request.name))
        told = f"{took * 1000:.0f} ms, {grown >> 20} MiB: {request.name}, {len(request.frame)} bytes {ended}"
        if took > LONGEST_TURN_S or grown > ALLOWED_BYTES + request.allowed_bytes or "timed out" in ended.lower():
            too_much.append(told)
            sys.stdout.write(told + "\n")
    longest, most = max(seen), max(seen, key=lambda each: each[1])
    sys.stdout.write(f"{len(seen)} requests; longest turn {longest[0] * 1000:.0f} ms: {longest[2]}\n")
    sys.stdout.write(f"most memory {most[1] >> 20} MiB: {most[2]}\n")
    assert not too_much, (seed, too_much)
