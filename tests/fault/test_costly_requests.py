"""What a request costs: the longest turn of the event loop and the memory that any bytes of a client can cause.

Requests are made from Kafka's schemas, each with one of its arrays (or texts) blown up, and batches of records from
shapes that are small on the wire and large behind it; to a node that is alone, and to the broker and the controller of
a cluster. By default they have `DEFAULT_BUDGET_S` together; ODRADEK_FUZZ_SECONDS makes it longer, with another seed
each time, which is printed, and ODRADEK_FUZZ_SEED runs one again.
"""

import gzip
import os
import random
import struct
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.protocol.records.compression import compress
from tests.fault.talk import MEGABYTE, create_topic, produce
from tests.support.cluster import PROTOCOLS
from tests.support.measured_broker import MeasuredBroker
from tests.support.ports import free_ports
from tests.support.waiting import eventually
from tests.support.wire import SCHEMAS, ConnectionClosedError, WireClient, known_versions
from tests.support.wire.client import request_frame
from tests.support.wire.schema import APIS, Type
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord

DEFAULT_BUDGET_S = 8.0
BUDGET_S = float(os.environ.get("ODRADEK_FUZZ_SECONDS", DEFAULT_BUDGET_S))
LONGEST_TURN_S = 0.05 * float(os.environ.get("ODRADEK_FUZZ_SLACK", "2"))
"""What a turn of the loop may take, whatever a client sends: 50 ms, twice as much on a machine that does other things
at the same time (ODRADEK_FUZZ_SLACK says how many times)."""
TIMES_OF_FRAME = 40
"""Memory for the objects and the answer that a request becomes, in times of its frame."""
ALLOWED_BYTES = 24 * MEGABYTE
CHECK_BYTES = 3 * 64 * MEGABYTE
"""Memory of the one batch that is being checked at a time."""
TOPIC = "costly"
TRANSACTION = "costly-transaction"
BROKER_ID = 7
"""Of a broker that is registered and does not exist: the requests of brokers are made in its name."""
FEATURES = (
    "metadata.version",
    "group.version",
    "transaction.version",
    "eligible.leader.replicas.version",
    "kraft.version",
    "share.version",
    "streams.version",
)
NO_FUZZ = {APIS["Produce"].key}
FULL = 0
"""As many elements as a frame of a megabyte has room for, instead of their count: smaller ones are more of them."""
_SAMPLE = 500
"""Elements by which it is told how large one is."""
_FIRST_MADE = 100_000
"""Number of the first name: all names are of a size then."""
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

    def __init__(
        self, source: random.Random, blown: int, count: int, distinct: bool, known: Mapping[str, object] | None = None
    ) -> None:
        """`known` are the values of fields by their names, wherever they stand."""
        self.source = source
        self.known = known or {}
        self.blown = blown
        self.count = count
        self.distinct = distinct
        self.arrays = 0
        self.made = _FIRST_MADE

    def value(self, kind: Type) -> Any:
        """Return a value of the type."""
        if isinstance(kind, list):
            return {
                field[0]: self.known[field[0]] if field[0] in self.known else self.value(field[1])
                for field in kind
                if field[0] != "_tags"
            }
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


class Target(NamedTuple):
    """A listener that requests are sent to."""

    port: int
    keys: frozenset[int]
    """The APIs that are served there."""
    known: Mapping[str, object]
    """What makes a request one that is not refused at first sight, by the names of its fields."""


def blown_up(source: random.Random, target: Target) -> Request:
    """Return a request of any API with one array of many elements."""
    apis = [api for api, info in APIS.items() if info.key in target.keys - NO_FUZZ and known_versions(api)]
    while True:
        api = source.choice(apis)
        version = source.choice(known_versions(api))
        arrays = _array_count(SCHEMAS[f"{api}Request", version])
        if arrays:
            break
    blown, count = source.randrange(arrays), source.choice([300, 3_000, 20_000, 20_000, FULL])
    distinct = source.random() < 0.7
    known = target.known if source.random() < 0.5 else {}
    if count == FULL:
        count = _most_elements(api, version, blown, distinct, known)
    frame = _blown_frame(source, api, version, blown, count, distinct, known)
    told = f"{api} {version}, array {blown} of {count}, {distinct=}, {len(known)} known"
    return Request(told, frame, TIMES_OF_FRAME * len(frame))


def _most_elements(api: str, version: int, blown: int, distinct: bool, known: Mapping[str, object]) -> int:
    """Return how many elements of the array make a frame of not quite a megabyte."""
    few, more = (
        len(_blown_frame(random.Random(0), api, version, blown, count, distinct, known))
        for count in (_SAMPLE, 2 * _SAMPLE)
    )
    return max((MEGABYTE - _ROOM - few) * _SAMPLE // max(more - few, 1) + _SAMPLE, 1)


def _blown_frame(
    source: random.Random,
    api: str,
    version: int,
    blown: int,
    count: int,
    distinct: bool,
    known: Mapping[str, object],
) -> bytes:
    fields = Shape(source, blown, count, distinct, known).value(SCHEMAS[f"{api}Request", version])
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


def dense(source: random.Random, _target: Target) -> Request:
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


def old_messages(source: random.Random, _target: Target) -> Request:
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


KINDS: list[Callable[[random.Random, Target], Request]] = [blown_up, blown_up, blown_up, dense, dense, old_messages]


def _served(port: int) -> frozenset[int]:
    with WireClient(port) as wire:
        return frozenset(one["api_key"] for one in wire.ask("ApiVersions", 0)["api_keys"])


def _prepare(broker: MeasuredBroker) -> dict[str, object]:
    """Make the topics; returns what names them."""
    with WireClient(broker.port) as wire:
        eventually(lambda: create_topic(wire, TOPIC, 4) == 0, "the topic is made")
        assert create_topic(wire, TOPIC + "-compacted", 4, {"cleanup.policy": "compact"}) == 0
        assert create_topic(wire, TOPIC + "-gzip", 4, {"compression.type": "gzip"}) == 0
        wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["g"])
        wire.ask("FindCoordinator", 4, key_type=1, coordinator_keys=[TRANSACTION])
        eventually(lambda: produce(wire, TOPIC, b"x").error_code == 0, "it serves")
        [topic] = wire.ask("Metadata", 12, topics=[{"topic_id": uuid.UUID(int=0), "name": TOPIC}])["topics"]
        cluster_id = wire.ask("DescribeCluster", 0)["cluster_id"]
        producer = eventually(lambda: _transactional(wire), "transactions are served")
    return {"topic_id": topic["topic_id"], "cluster_id": cluster_id, **producer}


def _transactional(wire: WireClient) -> dict[str, object]:
    """Begin as a producer of transactions; returns how requests name it, nothing where that is not possible yet."""
    who = {"producer_id": -1, "producer_epoch": -1}
    told = wire.ask("InitProducerId", 4, transactional_id=TRANSACTION, transaction_timeout_ms=900_000, **who)
    if told["error_code"]:
        return {}
    found = {"transactional_id": TRANSACTION, **{name: told[name] for name in who}}
    return found | {f"v3_and_below_{name}": value for name, value in found.items()}


def _register(port: int, cluster_id: object) -> dict[str, object]:
    """Register a broker with the controller; returns who it is."""
    incarnation_id = uuid.UUID(int=0xBEEF)
    with WireClient(port) as wire:
        answer = wire.ask(
            "BrokerRegistration",
            3,
            broker_id=BROKER_ID,
            cluster_id=cluster_id,
            incarnation_id=incarnation_id,
            listeners=[{"name": "PLAINTEXT", "host": "127.0.0.1", "port": 9, "security_protocol": 0}],
            features=[{"name": one, "min_supported_version": 0, "max_supported_version": 100} for one in FEATURES],
            rack=None,
            is_migrating_zk_broker=False,
            log_dirs=[uuid.UUID(int=0xD000)],
            previous_broker_epoch=-1,
        )
    assert answer["error_code"] == 0
    return {"broker_id": BROKER_ID, "broker_epoch": answer["broker_epoch"], "incarnation_id": incarnation_id}


AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
ACLS = 20_000
"""That a guarded node has, beside those that refuse."""


def _guard(broker: MeasuredBroker, *, refuses: bool) -> None:
    """Make ACLs: many, and where the node `refuses`, some that deny everything that has a name."""
    rule = {"resource_pattern_type": 3, "principal": "User:ANONYMOUS", "host": "*", "operation": 2}
    many = [
        {**rule, "resource_type": 2, "resource_name": f"acl-{number}", "permission_type": 3} for number in range(ACLS)
    ]
    denials = [{**rule, "resource_type": kind, "resource_name": "*", "permission_type": 2} for kind in (2, 3, 5)]
    with WireClient(broker.port, timeout=60) as wire:
        for some in (many[: ACLS // 2], many[ACLS // 2 :], denials if refuses else []):
            results = wire.ask("CreateAcls", 3, creations=some)["results"]
            assert all(one["error_code"] == 0 for one in results)


@pytest.fixture(params=["alone", "cluster", "guarded", "refusing"])
def measured(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[MeasuredBroker, list[Target]]]:
    """A node that measures itself, with some topics, and its listeners: one that is alone, or of a cluster; alone with
    an authorizer that lets everybody through, or nobody."""
    broker = MeasuredBroker(
        tmp_path / "broker",
        {
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
        },
    )
    if request.param == "cluster":
        broker.port, controller_port = free_ports(2)
        broker.overrides |= {
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listener.security.protocol.map": PROTOCOLS,
        }
    is_guarded = request.param in ("guarded", "refusing")
    if is_guarded:
        broker.overrides |= AUTHORIZER
    try:
        broker.start()
        known = _prepare(broker)
        if is_guarded:
            _guard(broker, refuses=request.param == "refusing")
        targets = [Target(broker.port, _served(broker.port), known)]
        if request.param == "cluster":
            known = known | _register(controller_port, known["cluster_id"])
            targets.append(Target(controller_port, _served(controller_port), known))
        yield broker, targets
    finally:
        broker.discard()


def _exchange(port: int, frame: bytes) -> str:
    """Send a request, and wait until it is answered or its connection is closed; returns why, or nothing."""
    with WireClient(port, timeout=60) as wire:
        try:
            wire.send_frame(frame)
            wire.receive_frame()
        except ConnectionClosedError as closed:
            return str(closed)
    return ""


@pytest.mark.timeout(BUDGET_S + 120)
def test_no_request_costs_more_than_its_share(measured: tuple[MeasuredBroker, list[Target]]) -> None:
    """No turn of the loop is long, and memory follows from the size of a request, or from what it decompresses to."""
    broker, targets = measured
    seed = os.environ.get("ODRADEK_FUZZ_SEED") or ("1" if BUDGET_S == DEFAULT_BUDGET_S else str(time.time_ns()))
    sys.stdout.write(f"ODRADEK_FUZZ_SEED={seed}\n")
    source = random.Random(int(seed))
    until = time.monotonic() + BUDGET_S / 2
    seen: list[tuple[float, int, str]] = []
    too_much: list[str] = []
    while time.monotonic() < until:
        target = source.choice(targets)
        kind = source.choice(KINDS) if target is targets[0] else blown_up
        request = kind(source, target)
        before = broker.start_measuring()
        ended = _exchange(target.port, request.frame)
        took, grown = broker.longest_turn_s, broker.peak_bytes - before
        seen.append((took, grown, request.name))
        told = f"{took * 1000:.0f} ms, {grown >> 20} MiB: {request.name}, {len(request.frame)} bytes {ended}"
        if took > LONGEST_TURN_S or grown > ALLOWED_BYTES + request.allowed_bytes or "timed out" in ended.lower():
            too_much.append(told)
            sys.stdout.write(told + "\n")
    longest, most = max(seen), max(seen, key=lambda each: each[1])
    sys.stdout.write(f"{len(seen)} requests; longest turn {longest[0] * 1000:.0f} ms: {longest[2]}\n")
    sys.stdout.write(f"most memory {most[1] >> 20} MiB: {most[2]}\n")
    assert not too_much, (seed, too_much)


def test_a_request_that_names_too_many_users_is_refused_for_little(
    measured: tuple[MeasuredBroker, list[Target]],
) -> None:
    """As many as there is room for in a frame: each is told, and none of the turns that this takes is long."""
    broker, (target, *_) = measured
    api = "AlterUserScramCredentials"
    for blown in range(_array_count(SCHEMAS[f"{api}Request", 0])):
        count = _most_elements(api, 0, blown, True, {})
        frame = _blown_frame(random.Random(0), api, 0, blown, count, True, {})
        broker.start_measuring()
        with WireClient(target.port, timeout=60) as wire:
            wire.send_frame(frame)
            assert len(wire.receive_frame()) > 8 * count
        assert broker.longest_turn_s < LONGEST_TURN_S, f"{count} in array {blown}"
