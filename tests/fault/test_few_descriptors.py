"""A node with more partitions in use than it may open files."""

import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.fault.talk import assert_quiet, create_topic, produce, read_all
from tests.support.broker import OdradekProcess
from tests.support.process import open_descriptors
from tests.support.wire import WireClient

DESCRIPTORS = 200
PARTITIONS = 400


class LimitedProcess(OdradekProcess):
    """A broker that may open few files."""

    def _command(self) -> Sequence[str]:
        return ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *super()._command()]


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[LimitedProcess]:
    """Such a broker, started."""
    broker = LimitedProcess(tmp_path / "broker")
    broker.start()
    yield broker
    broker.discard()


def test_more_partitions_than_descriptors(limited: LimitedProcess, topic: str) -> None:
    """All of them are written to in transactions and read, connections have their share, and the stop is in order."""
    _, hard = resource.prlimit(limited.pid, resource.RLIMIT_NOFILE)
    assert hard == DESCRIPTORS
    with WireClient(limited.port) as wire:
        assert create_topic(wire, topic, PARTITIONS) == 0
    settings = {"bootstrap.servers": limited.bootstrap, "transactional.id": topic}
    producer = Producer(settings)
    producer.init_transactions(30)
    for turn in range(2):
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d in %d" % (partition, turn), partition=partition)
        producer.commit_transaction(60)
    assert open_descriptors(limited.pid) < DESCRIPTORS
    assert limited.stop() == 0
    assert_quiet(limited)
    limited.start()
    with WireClient(limited.port) as wire:
        for partition in range(PARTITIONS):
            values = [value for _, value in read_all(wire, topic, partition) if b" in " in value]
            assert values == [b"%d in %d" % (partition, turn) for turn in range(2)]
        assert produce(wire, topic, b"more").error_code == 0
