"""Files that are not what the broker wrote: it says so, makes good what can be made good, and serves the rest."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.talk import assert_quiet, create_topic, fetch, produce, read_all, values_of
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import BatchFields, WireClient

RECORDS = 60
DERIVED = ("*.index", "*.timeindex", "*.snapshot", "leader-epoch-checkpoint", "*-offset-checkpoint")

Damage = Callable[[bytes], bytes | None]

DAMAGES: dict[str, Damage] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "zeroed": lambda content: bytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "garbage": lambda content: random.Random(7).randbytes(len(content)),
    "more": lambda content: content + random.Random(8).randbytes(37),
    "a flipped bit": lambda content: _flip(content, len(content) // 2),
}


def _flip(content: bytes, position: int) -> bytes:
    changed = bytearray(content)
    if changed:
        changed[position] ^= 0x10
    return bytes(changed)


class Filled:
    """A broker with a topic of three segments, written by one idempotent producer."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self.broker = broker
        self.topic = topic
        self.values = [b"%d:" % number + b"v" * 40_000 for number in range(RECORDS)]
        with WireClient(broker.port) as wire:
            assert create_topic(wire, topic, configs={"segment.bytes": "1048576", "index.interval.bytes": "100"}) == 0
            asked = {"transactional_id": None, "transaction_timeout_ms": 60_000}
            given = eventually(
                lambda: [answer for answer in [wire.ask("InitProducerId", 0, **asked)] if not answer["error_code"]],
                "a producer id",
            )
            self._producer_id = given[0]["producer_id"]
            for number, value in enumerate(self.values):
                assert produce(wire, topic, value, fields=self._sequence(number)) == (0, number)

    @property
    def directory(self) -> Path:
        """Where the partition is."""
        return self.broker.data / f"{self.topic}-0"

    def end(self, how: str) -> None:
        """Stop the broker, or kill it."""
        if how == "stopped":
            assert self.broker.stop() == 0
        else:
            self.broker.kill()

    def is_whole(self) -> None:
        """Everything must be there, what was sent before be known, and the next batch be taken."""
        with WireClient(self.broker.port) as wire:
            assert values_of(read_all(wire, self.topic)) == self.values
            again = produce(wire, self.topic, self.values[-1], fields=self._sequence(len(self.values) - 1))
            assert again == (0, len(self.values) - 1)
            self.values.append(b"one more")
            appended = produce(wire, self.topic, b"one more", fields=self._sequence(len(self.values) - 1))
            assert appended == (0, len(self.values) - 1)

    def _sequence(self, number: int) -> BatchFields:
        return BatchFields(producer_id=self._producer_id, producer_epoch=0, base_sequence=number)


@pytest.fixture
def filled(running: BrokerProcess, topic: str) -> Filled:
    """See the class."""
    return Filled(running, topic)


def _harm(root: Path, damage: Damage, *patterns: str) -> None:
    for pattern in patterns:
        for path in sorted(root.rglob(pattern)):
            content = damage(path.read_bytes())
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_everything_that_is_derived_can_be_derived_again(filled: Filled, how: str) -> None:
    """With every index, snapshot and checkpoint file damaged, in whatever way, no record and no producer is lost."""
    for name, damage in DAMAGES.items():
        filled.end(how)
        # as in Kafka, a log without any snapshot that was closed in order is one of before there were producers
        kept = "*.snapshot" if (how, name) == ("stopped", "missing") else ""
        _harm(filled.broker.data, damage, *(pattern for pattern in DERIVED if pattern != kept))
        filled.broker.start()
        filled.is_whole()
    assert filled.broker.stop() == 0
    assert_quiet(filled.broker)


@pytest.mark.parametrize("name", ["zeroed", "half", "garbage"])
def test_a_partition_that_does_not_say_whose_it_is(filled: Filled, name: str) -> None:
    """A damaged partition.metadata is written anew, with a line that says so."""
    filled.end("killed")
    _harm(filled.directory, DAMAGES[name], "partition.metadata")
    filled.broker.start()
    filled.is_whole()
    assert "the topic id is written anew" in filled.broker.log
    assert_quiet(filled.broker)


@pytest.mark.parametrize("name", ["missing", "empty", "zeroed"])
def test_a_directory_that_does_not_say_whose_it_is(filled: Filled, name: str) -> None:
    """A directory with partitions and nothing in meta.properties is served, with a line that says so."""
    filled.end("stopped")
    _harm(filled.broker.data, DAMAGES[name], "meta.properties")
    filled.broker.start()
    filled.is_whole()
    assert "meta.properties did not say of which cluster" in filled.broker.log
    assert_quiet(filled.broker)


def test_a_flipped_byte_at_the_end_after_a_kill(filled: Filled) -> None:
    """A damaged last batch is cut off with a line that says where; the second start has nothing to say any more."""
    filled.end("killed")
    last = max(filled.directory.glob("*.log"))
    last.write_bytes(_flip(last.read_bytes(), last.stat().st_size - 100))
    filled.broker.start()
    with WireClient(filled.broker.port) as wire:
        assert values_of(read_all(wire, filled.topic)) == filled.values[:-1]
    assert re.search(rf"cut \d+ bytes off .*{last.name}; the log ends at offset {RECORDS - 1}", filled.broker.log)
    assert filled.broker.stop() == 0
    said = filled.broker.log.count("found at start")
    filled.broker.start()
    assert filled.broker.log.count("found at start") == said
    assert_quiet(filled.broker)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_old_segments_that_were_damaged(filled: Filled, how: str) -> None:
    """Whatever became of an old segment, the broker starts, answers reads from anywhere, and takes new records."""
    first = min(filled.directory.glob("*.log"))
    before = first.read_bytes()
    for damage in [*DAMAGES.values(), lambda content: content[:12] + b"\xff" * 4 + content[16:]]:
        filled.end(how)
        _harm(filled.directory, damage, first.name)
        filled.broker.start()
        with WireClient(filled.broker.port) as wire:
            for offset in range(0, RECORDS, 7):
                fetch(wire, filled.topic, offset)
            ask = {"replica_id": -1, "isolation_level": 0}
            for timestamp in (-2, -1, 0, 1 << 40):
                wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
                wire.ask("ListOffsets", 4, **ask, topics=[{"name": filled.topic, "partitions": [wanted]}])
            assert produce(wire, filled.topic, b"new").error_code == 0
        if how == "stopped" or not first.exists():
            first.write_bytes(before)
    assert filled.broker.stop() == 0
    assert_quiet(filled.broker)
