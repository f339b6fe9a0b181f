"""Killed over and over in the middle of everything: what was acknowledged is there, once, and in order."""

import contextlib
import itertools
import random
import threading
from functools import partial

import pytest

from tests.conftest import BrokerFactory
from tests.fault.talk import (
    assert_quiet,
    create_topic,
    delete_topic,
    fetch,
    produce,
    read_all,
    set_config,
    topics,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import BatchFields, ConnectionClosedError, WireClient

KILLS = 4
PARTITIONS = 3
ENOUGH = 40
"""Batches that every producer must have got through before each kill."""


class Producer:
    """Sends numbered batches of two records to one partition, until the broker dies; goes on where it was after that.

    An idempotent one sends a batch again whose answer it did not get, as clients do; another one does not know.
    """

    def __init__(self, topic: str, partition: int, idempotent: bool, seed: int) -> None:
        self.topic = topic
        self.partition = partition
        self.idempotent = idempotent
        self.acknowledged: dict[int, int] = {}
        """Base offset by number of the batch."""
        self.failure: BaseException | None = None
        self._number = 0
        self._producer_id = -1
        self._random = random.Random(seed)
        self._thread: threading.Thread | None = None

    def start(self, port: int) -> None:
        """Send until the connection breaks."""
        self._thread = threading.Thread(target=self._run, args=(port,), daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the end."""
        assert self._thread is not None
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure

    def values(self, number: int) -> list[bytes]:
        """The two records of a batch."""
        size = 50 + number * 7919 % 5_000
        return [b"%d.%d.%d:" % (self.partition, number, place) + b"x" * size for place in range(2)]

    def _run(self, port: int) -> None:
        try:
            with WireClient(port) as wire:
                if self.idempotent and self._producer_id < 0:
                    self._producer_id = eventually(lambda: _producer_id(wire), "a producer id")
                while True:
                    self._send(wire)
        except (ConnectionClosedError, OSError):
            if not self.idempotent:
                self._number += 1  # nobody knows whether it was written
        except BaseException as failed:  # noqa: BLE001 - raised again by `join`
            self.failure = failed

    def _send(self, wire: WireClient) -> None:
        fields = BatchFields()
        if self.idempotent:
            fields = BatchFields(producer_id=self._producer_id, producer_epoch=0, base_sequence=2 * self._number)
        code, offset = produce(wire, self.topic, *self.values(self._number), partition=self.partition, fields=fields)
        assert code == 0, code
        self.acknowledged[self._number] = offset
        self._number += 1


def _producer_id(wire: WireClient) -> int:
    answer = wire.ask("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=60_000)
    return 0 if answer["error_code"] else int(answer["producer_id"])


def _check(wire: WireClient, producer: Producer) -> None:
    """Every acknowledged batch must be at its offset, and no batch of an idempotent producer twice."""
    values = values_of(read_all(wire, producer.topic, producer.partition))
    for number, offset in producer.acknowledged.items():
        assert values[offset : offset + 2] == producer.values(number)
    numbers = [value.split(b":")[0] for value in values]
    if producer.idempotent:
        assert len(set(numbers)) == len(numbers)
        assert numbers == [b"%d.%d.%d" % (producer.partition, index // 2, index % 2) for index in range(len(numbers))]
        assert len(numbers) // 2 - len(producer.acknowledged) in (0, 1)


def _have_written(producers: list[Producer], least: list[int]) -> bool:
    return all(len(each.acknowledged) >= count or each.failure for each, count in zip(producers, least, strict=True))


@pytest.mark.parametrize("flush", ["1", "9223372036854775807"], ids=["flush each", "default flush"])
def test_killed_while_everybody_writes(new_broker: BrokerFactory, topic: str, flush: str) -> None:
    """Idempotent and other producers, on several partitions with small segments, through several kills."""
    broker = new_broker({"log.flush.offset.checkpoint.interval.ms": "100"})
    configs = {"flush.messages": flush, "segment.bytes": "1048576", "index.interval.bytes": "300", "segment.ms": "1000"}
    producers = [Producer(topic, number, number != 0, number) for number in range(PARTITIONS)]
    broker.start()
    with WireClient(broker.port) as wire:
        assert create_topic(wire, topic, PARTITIONS, configs) == 0
    for _ in range(KILLS):
        reached = [len(producer.acknowledged) + ENOUGH for producer in producers]
        for producer in producers:
            producer.start(broker.port)
        eventually(partial(_have_written, producers, reached), "everybody has written")
        broker.kill()
        for producer in producers:
            producer.join()
        broker.start()
        with WireClient(broker.port) as wire:
            for producer in producers:
                _check(wire, producer)
    assert broker.stop() == 0
    said = broker.log.count("found at start")
    broker.start()
    assert broker.log.count("found at start") == said, "the second start has nothing to make good"
    assert_quiet(broker)


def test_killed_while_topics_come_and_go(running: BrokerProcess, topic: str) -> None:
    """Topics whose creation, change or deletion was answered are so after every kill; those in between are whole or
    not there."""
    expected: dict[str, str | None] = {}
    doubtful: set[str] = set()
    counter = itertools.count()

    def work(port: int, done: threading.Event) -> None:
        with WireClient(port) as wire:
            for number in counter:
                name = f"{topic}-{number}"
                doubtful.clear()
                doubtful.add(name)
                assert create_topic(wire, name, 2) == 0
                expected[name] = None
                assert set_config(wire, name, "retention.ms", str(1000 + number)) == 0
                expected[name] = str(1000 + number)
                if number % 3 == 2:
                    old = f"{topic}-{number - 1}"
                    doubtful.add(old)
                    assert delete_topic(wire, old) == 0
                    expected.pop(old)
                if number % 12 == 11:
                    done.set()

    for _ in range(KILLS):
        done = threading.Event()

        def run(port: int = running.port, done: threading.Event = done) -> None:
            with contextlib.suppress(ConnectionClosedError, OSError):
                work(port, done)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert done.wait(60)
        running.kill()
        thread.join(60)
        running.start()
        with WireClient(running.port) as wire:
            known = topics(wire)
            assert known - doubtful == set(expected) - doubtful
            for name in known - doubtful:
                for partition in range(2):
                    assert fetch(wire, name, 0, partition)["error_code"] == 0
                asked = {"resource_type": 2, "resource_name": name, "configuration_keys": ["retention.ms"]}
                [answer] = wire.ask("DescribeConfigs", 1, resources=[asked])["results"]
                assert answer["configs"][0]["value"] == expected[name] or expected[name] is None
            expected.update(dict.fromkeys(doubtful & known))
            for name in doubtful - known:
                expected.pop(name, None)
    assert_quiet(running)
