"""Unmodified clients with their default settings: what was read equals what was written, byte for byte."""

import itertools
import os
import random
import threading
import time

import pytest

from tests.integration.clients import (
    BEGINNING,
    CLIENTS,
    END,
    Client,
    Codec,
    FromOffset,
    FromTimestamp,
    ProduceSettings,
    ReadRecord,
    Sent,
)
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

EARLIER_MS = int(time.time() * 1000) - 3_600_000
EVERY_SETTING = [
    ProduceSettings(acks, codec, idempotent)
    for codec, (acks, idempotent) in itertools.product(Codec, [(0, False), (1, False), (-1, False), (-1, True)])
]


def _sample() -> list[Sent]:
    """Records of every shape that a client can send, each a second later than the one before."""
    noise = random.Random(7).randbytes(2_000)
    shapes: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]] = [
        (b"key", b"value", ()),
        (None, b"no key", ()),
        (b"", b"empty key", ()),
        (b"tombstone", None, ()),
        (b"empty value", b"", ()),
        (None, b"", (("only", b"headers"),)),
        (b"\x00\xff\xfe", bytes(range(256)), (("h", b""), ("h", b"twice"), ("ünïcode", b"\x00\xff"))),
        (b"compressible", b"la " * 10_000, ()),
        (b"incompressible", noise, (("x", noise[:500]),)),
    ]
    shapes += [(b"%d" % number, b"record %d" % number, ()) for number in range(100)]
    return [Sent(*shape, timestamp=EARLIER_MS + 1_000 * index) for index, shape in enumerate(shapes)]


SAMPLE = _sample()


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.name)
def client(request: pytest.FixtureRequest, broker: BrokerProcess) -> Client:
    """Each client in turn, connected to the shared broker."""
    made: Client = request.param(broker.bootstrap)
    return made


def _read_all(client: Client, topic: str, count: int, partition: int = 0) -> list[Sent]:
    read = client.read(topic, partition, BEGINNING, count)
    assert [item.offset for item in read] == list(range(count))
    return [item.record for item in read]


@pytest.mark.parametrize("settings", EVERY_SETTING, ids=str)
def test_what_was_read_equals_what_was_written(client: Client, topic: str, settings: ProduceSettings) -> None:
    """Keys, values, headers and timestamps come back as they were sent, with every codec, acks and with idempotence."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE, settings)
    assert _read_all(client, topic, len(SAMPLE)) == SAMPLE


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("reader", CLIENTS, ids=lambda kind: kind.name)
def test_every_client_reads_what_every_other_wrote(
    client: Client, reader: type[Client], codec: Codec, topic: str
) -> None:
    """What one client compressed and sent, each of the others reads."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE, ProduceSettings(codec=codec))
    assert _read_all(reader(client.bootstrap), topic, len(SAMPLE)) == SAMPLE


def test_reading_from_an_offset(client: Client, topic: str) -> None:
    """A consumer that seeks to an offset in the middle of a batch gets that record first."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE, ProduceSettings(codec=Codec.LZ4))
    assert client.read(topic, 0, FromOffset(42), 3) == [ReadRecord(offset, SAMPLE[offset]) for offset in (42, 43, 44)]


def test_reading_from_a_timestamp(client: Client, topic: str) -> None:
    """A consumer that seeks to a time gets the first record that is not older."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE, ProduceSettings())
    wanted = SAMPLE[17].timestamp - 500
    assert client.read(topic, 0, FromTimestamp(wanted), 1) == [ReadRecord(17, SAMPLE[17])]
    assert client.offset_for(topic, 0, SAMPLE[-1].timestamp + 1) is None


def test_reading_from_the_end_sees_only_what_comes_later(client: Client, topic: str) -> None:
    """The end is the offset of the next record, known at once after the acknowledgement."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE, ProduceSettings())
    assert client.end_offset(topic, 0) == len(SAMPLE)
    late = Sent(b"late", b"record", (), EARLIER_MS)
    client.produce(topic, 0, [late], ProduceSettings())
    assert client.read(topic, 0, FromOffset(len(SAMPLE)), 1) == [ReadRecord(len(SAMPLE), late)]


def test_a_consumer_waiting_at_the_end_is_woken(client: Client, topic: str) -> None:
    """A consumer that waits at the end gets a record produced later by somebody else."""
    client.create_topic(topic)
    client.produce(topic, 0, SAMPLE[:5], ProduceSettings())
    late = Sent(None, b"late", (), EARLIER_MS)
    got: list[ReadRecord] = []
    reader = threading.Thread(target=lambda: got.extend(client.read(topic, 0, END, 1)))
    reader.start()

    def woken() -> bool:
        # The reader says nothing when it has found the end, so records are sent until it has one.
        client.produce(topic, 0, [late], ProduceSettings())
        reader.join(0.1)
        return not reader.is_alive()

    eventually(woken, "the waiting consumer got a record", 60)
    assert got
    assert got[0].record == late
    assert got[0].offset >= 5


def test_partitions_are_independent_logs(client: Client, topic: str) -> None:
    """Each partition counts its offsets from zero and keeps its own records."""
    client.create_topic(topic, partitions=4)
    for partition in range(4):
        client.produce(topic, partition, SAMPLE[partition * 10 : partition * 20 + 3], ProduceSettings())
    for partition in range(4):
        expected = SAMPLE[partition * 10 : partition * 20 + 3]
        assert client.end_offset(topic, partition) == len(expected)
        assert _read_all(client, topic, len(expected), partition) == expected


def test_large_messages(client: Client, topic: str) -> None:
    """A message just under the default limit of one megabyte goes through whole."""
    client.create_topic(topic)
    large = [Sent(b"large", os.urandom(990_000), (), EARLIER_MS) for _ in range(3)]
    client.produce(topic, 0, large, ProduceSettings())
    assert _read_all(client, topic, 3) == large


def test_producing_to_an_unknown_topic_creates_it(client: Client, topic: str) -> None:
    """Topics are created on first use, as auto.create.topics.enable is on by default."""
    client.produce(topic, 0, SAMPLE[:3], ProduceSettings())
    assert _read_all(client, topic, 3) == SAMPLE[:3]
