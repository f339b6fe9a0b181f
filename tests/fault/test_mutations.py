"""Requests that are almost right: valid ones of every API and version, with bytes changed, cut out or put in."""

import random
import socket
import struct
import uuid
from typing import Any

import pytest

from tests.fault.talk import (
    MEGABYTE,
    assert_quiet,
    create_topic,
    fetch,
    produce,
    produce_batch,
    read_all,
    when_served,
)
from tests.support.broker import BrokerProcess
from tests.support.process import open_descriptors, resident_bytes
from tests.support.waiting import eventually
from tests.support.wire import (
    SCHEMAS,
    BatchFields,
    ConnectionClosedError,
    Record,
    WireClient,
    build_batch,
    known_versions,
)
from tests.support.wire.client import request_frame
from tests.support.wire.schema import APIS, Type

MUTANTS_PER_VERSION = 12
"""Of each API and version: some 3,000 frames together."""
ODD_BATCHES = 2_000
GROWTH_LIMIT = 48 * MEGABYTE
_NUMBERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}


def _value(kind: Type, source: random.Random, topic: str) -> Any:
    """A value of any type of a schema, small numbers and the topic's name more often than chance would have it."""
    if isinstance(kind, list):
        return {field[0]: _value(field[1], source, topic) for field in kind if field[0] != "_tags"}
    if isinstance(kind, dict):
        if kind["t"] == "nullable struct":
            return None if source.random() < 0.3 else _value(kind["of"], source, topic)
        if kind["t"].startswith("nullable") and source.random() < 0.2:
            return None
        return [_value(kind["of"], source, topic) for _ in range(source.choice([0, 1, 1, 2]))]
    if kind in _NUMBERS:
        top = (1 << (_NUMBERS[kind] - 1)) - 1
        lowest = 0 if kind.startswith("u") else -1
        return source.choice([0, 0, 1, 1, 2, lowest, top, 100])
    if kind == "boolean":
        return source.random() < 0.5
    if kind == "float64":
        return source.choice([0.0, 1.5, -1.0])
    if kind == "uuid":
        return uuid.UUID(int=source.choice([0, 1, source.getrandbits(128)]))
    if "nullable" in kind and source.random() < 0.2:
        return None
    if "string" in kind:
        return source.choice([topic, topic, "", "retention.ms", "1000", "x" * 300])
    return build_batch([Record(None, b"mutant")]) if source.random() < 0.7 else source.randbytes(80)


def _mutate(frame: bytes, source: random.Random) -> bytes:
    """The frame with one to three changes, behind the header more often than in it."""
    changed = bytearray(frame)
    for _ in range(source.choice([0, 1, 1, 1, 2, 3])):
        if len(changed) < 9:
            break
        at = source.randrange(4, len(changed))
        how = source.randrange(6)
        if how == 0:
            changed[at] ^= 1 << source.randrange(8)
        elif how == 1:
            changed[at] = source.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif how == 2:
            del changed[at : at + source.choice([1, 2, 4, 20])]
        elif how == 3:
            changed[at:at] = source.randbytes(source.choice([1, 2, 4, 20]))
        elif how == 4:
            changed[at : at + 4] = source.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"])
        else:
            del changed[at:]
    return bytes(changed)


def _frames(api: str, source: random.Random, topic: str) -> list[bytes]:
    frames = []
    for version in known_versions(api):
        for _ in range(MUTANTS_PER_VERSION):
            fields = _value(SCHEMAS[f"{api}Request", version], source, topic)
            if api == "Fetch":
                fields["max_wait_ms"] = source.choice([0, 1])  # a long poll may be long, so it must not be here
            if api == "Produce":
                fields["timeout_ms"] = 100
            frames.append(_mutate(request_frame(api, version, 1, fields), source))
    return frames


def _odd_batch(source: random.Random) -> bytes:
    """A batch with a true checksum and size, and up to two fields of any value."""
    extremes = [0, 1, -1, -2, 2**31 - 1, -(2**31)]
    times = [*extremes, 2**63 - 1, 2**63 - 2, -(2**63), 1_700_000_000_000]
    records = [Record(b"k", b"v" * source.randrange(100), [("h", b"x")]) for _ in range(source.randrange(1, 4))]
    body = build_batch(records)[61:]
    odd: dict[str, list[Any]] = {
        "base_offset": times,
        "leader_epoch": extremes,
        "magic": [0, 1, 3, -1],
        "attributes": [1, 2, 3, 4, 5, 7, 8, 0x10, 0x20, 0x40, 0x7FFF, -1],
        "timestamp": times,
        "producer_id": times,
        "producer_epoch": [0, 1, 2**15 - 1],
        "base_sequence": [0, 1, 2**31 - 1, -5],
        "count": extremes,
        "body": [_mutate(body, source) for _ in range(3)],
    }
    chosen = {name: source.choice(odd[name]) for name in source.sample(sorted(odd), source.choice([0, 1, 1, 2]))}
    if "producer_id" in chosen:
        chosen |= {"producer_epoch": 0, "base_sequence": 0} | chosen
    return build_batch(records, BatchFields(**{"body": body, "count": len(records), **chosen}))


def test_batches_that_are_right_only_in_their_checksum(running: BrokerProcess, topic: str) -> None:
    """Every one of them is answered; what was appended can be read, searched by time, and recovered after a kill."""
    source = random.Random(11)
    lax = {"message.timestamp.after.max.ms": str(2**63 - 1), "segment.bytes": "1048576", "index.interval.bytes": "0"}
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, configs=lax) == 0
        appended = 0
        for _ in range(ODD_BATCHES):
            appended += produce_batch(wire, topic, _odd_batch(source)).error_code == 0
        assert ODD_BATCHES // 10 < appended < ODD_BATCHES
        end = fetch(wire, topic, 0)["high_watermark"]
        found = _search(wire, topic)
        assert found[-1] == (-1, end)
    running.kill()
    running.start()
    with WireClient(running.port) as wire:
        assert fetch(wire, topic, 0)["high_watermark"] == end
        assert _search(wire, topic) == found
    assert running.stop() == 0
    assert "cut " not in running.log, running.log
    assert_quiet(running)


LONG_NAME = "n" * 32_767
_CONFIG = {"name": "retention.ms", "config_operation": 0, "value": "1"}
_TOPIC = {"name": "x", "num_partitions": 1, "replication_factor": 1}


UNQUOTABLE: list[tuple[str, int, dict[str, Any]]] = [
    ("CreateTopics", 4, {"topics": [{**_TOPIC, "name": LONG_NAME}]}),
    ("CreateTopics", 4, {"topics": [{**_TOPIC, "configs": [{"name": LONG_NAME, "value": "1"}]}]}),
    ("CreateTopics", 4, {"topics": [{**_TOPIC, "configs": [{"name": "retention.ms", "value": LONG_NAME}]}]}),
    ("DescribeConfigs", 1, {"resources": [{"resource_type": 2, "resource_name": LONG_NAME}]}),
    ("DescribeConfigs", 1, {"resources": [{"resource_type": 4, "resource_name": LONG_NAME}]}),
    (
        "IncrementalAlterConfigs",
        0,
        {"resources": [{"resource_type": 2, "resource_name": LONG_NAME, "configs": [_CONFIG]}]},
    ),
    ("Metadata", 4, {"topics": [{"name": LONG_NAME}], "allow_auto_topic_creation": True}),
    ("DeleteTopics", 5, {"topic_names": [LONG_NAME]}),
]


@pytest.mark.parametrize(
    "number", range(len(UNQUOTABLE)), ids=[f"{api} {at}" for at, (api, *_) in enumerate(UNQUOTABLE)]
)
def test_names_too_long_to_be_quoted(broker: BrokerProcess, number: int) -> None:
    """An answer that cannot be written, since it quotes what is as long as a text can be, ends the connection."""
    api, version, fields = UNQUOTABLE[number]
    with WireClient(broker.port) as wire:
        wire.send(api, version, timeout_ms=1_000, **fields)
        try:
            wire.answer(api, version)
        except ConnectionClosedError as closed:
            reason = str(closed)
        else:
            reason = "answered"
    assert "TimeoutError" not in reason
    assert_quiet(broker)


def _search(wire: WireClient, topic: str) -> list[tuple[int, int]]:
    """Timestamp and offset that several searches by time give."""
    found = []
    for timestamp in (-3, -2, 0, 1, 2**31, 1_700_000_000_000, 2**63 - 1, -(2**63), -1):
        wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
        asked = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [wanted]}]}
        [answer] = wire.ask("ListOffsets", 7, **asked)["topics"][0]["partitions"]
        found.append((answer["timestamp"], answer["offset"]))
    return found


def _exchange(port: int, frame: bytes) -> None:
    """Send a frame; the connection must then end, after an answer or without one."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        try:
            sock.sendall(struct.pack(">i", len(frame)) + frame)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 16):
                pass
        except ConnectionError:
            pass


@pytest.mark.parametrize("part", range(4))
def test_requests_that_are_almost_right(running: BrokerProcess, topic: str, part: int) -> None:
    """Every one of them is answered or its connection closed; no other client, no record and no memory is lost."""
    source = random.Random(part)
    apis = sorted(api for api in APIS if f"{api}Request" in {name for name, _ in SCHEMAS})[part::4]
    victim = topic + "-victim"
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic) == 0
        assert create_topic(wire, victim) == 0
        when_served(wire, topic)
        connected = wire.socket
        descriptors, memory = open_descriptors(running.pid), 0
        for number, api in enumerate(apis):
            for frame in _frames(api, source, victim):
                _exchange(running.port, frame)
            assert produce(wire, topic, b"%d" % number) == (0, number), api
            memory = memory or resident_bytes(running.pid)
        assert [value for _, value in read_all(wire, topic)] == [b"%d" % number for number in range(len(apis))]
        assert wire.socket is connected
        eventually(lambda: open_descriptors(running.pid) <= descriptors + 40, "the descriptors come back")
        assert resident_bytes(running.pid) - memory < GROWTH_LIMIT
    assert running.stop() == 0
    assert_quiet(running)
