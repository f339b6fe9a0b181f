"""One directory, one server.properties, and Apache Kafka and odradek in turn, with transactions open at each change."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.integration.test_transactions import QUIET, new_consumer, new_producer, send, values
from tests.interop import hand_over
from tests.interop.copiers import Copiers, java_copier
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

TIMEOUT_S = 60
NUMBERS = 4000
"""Copied over each change."""
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.cleaner.enable": "false",
}
FILES = ("*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex")
GOES_ON, LEFT = 0, 1
"""Partitions: of a producer that lives on over all changes, and of those that are gone."""


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[tuple[ApacheKafkaProcess, OdradekProcess]]:
    """Apache Kafka and odradek, with one directory and one address."""
    kafka, odradek = (
        ApacheKafkaProcess(tmp_path, {**SETTINGS, "log.dirs": f"{tmp_path}/data"}),
        OdradekProcess(tmp_path),
    )
    yield kafka, odradek
    for broker in (kafka, odradek):
        broker.discard()


def _open(broker: BrokerProcess, name: str) -> Producer:
    """Return a producer that has left a transaction open.

    Its time is soon over here; Apache Kafka 4.3 finds no leaders for its markers if it is while Kafka starts, and notes
    the end without them.
    """
    timeout_ms = 300_000 if isinstance(broker, OdradekProcess) else 8000
    producer = new_producer(broker.bootstrap, name, **{"transaction.timeout.ms": timeout_ms})
    producer.begin_transaction()
    send(producer, "t", name.encode(), partition=LEFT)
    return producer


def _add(producer: Producer, broker: BrokerProcess, value: bytes, offset: int) -> None:
    """Send a record, and an offset of the group, as part of the transaction that is open."""
    send(producer, "t", value, partition=GOES_ON)
    member = new_consumer(broker.bootstrap, "group")
    places = [TopicPartition("source", 0, offset)]
    producer.send_offsets_to_transaction(places, member.consumer_group_metadata(), TIMEOUT_S)
    member.close()


def _committed(broker: BrokerProcess) -> dict[tuple[str, int], int]:
    return {place: offset for place, offset in hand_over.committed(broker, "group").items() if offset >= 0}


def _kill(odradek: OdradekProcess, copying: Copiers) -> None:
    """Kill it where no end of a transaction is decided and still without its markers.

    Apache Kafka 4.3 finds no leaders for such markers while it starts, notes that they are written, and lets readers
    wait for ever.
    """
    copying.pause()

    def is_decided() -> bool:
        [told] = hand_over.ask(odradek, "DescribeTransactions", 0, transactional_ids=["copier"])["transaction_states"]
        return bool(told["transaction_state"].startswith("Prepare"))

    eventually(lambda: not is_decided(), "the markers are written", TIMEOUT_S)
    odradek.kill()
    copying.go_on()


def _inspect(root: Path) -> None:
    """Let Apache Kafka's inspector read all files of topics."""
    files = [path for kind in FILES for path in sorted(root.glob(f"data/*-[0-9]*/{kind}"))]
    hand_over.inspect([path for path in files if "__cluster_metadata" not in str(path)], "--deep-iteration")


def test_transactions_go_on_where_brokers_are_exchanged(
    kinds: tuple[ApacheKafkaProcess, OdradekProcess], tmp_path: Path
) -> None:
    """From Apache Kafka to odradek and back, each killed with transactions open: a producer that lives on adds to its
    own and ends it, and what others left is aborted when its time is over, or by a successor. Meanwhile Apache
    Kafka's copier copies everything once."""
    kafka, odradek = kinds
    kafka.start()
    odradek.properties, odradek.port = kafka.properties, kafka.port
    for name, partitions in (("source", 1), ("target", 1), ("t", 2)):
        hand_over.create(kafka, name, partitions)
    plain = Producer({**QUIET, "bootstrap.servers": kafka.bootstrap})
    copying = Copiers(java_copier(kafka.bootstrap, 120_000), tmp_path / "copier.txt")
    # librdkafka 2.16 hangs in send_offsets_to_transaction() where it has once begun anew with its bootstrap servers
    kept = {"transaction.timeout.ms": 300_000, "metadata.recovery.strategy": "none"}
    living = new_producer(kafka.bootstrap, "living", **kept)
    gone = []
    try:
        living.begin_transaction()
        for number, (old, new, ends) in enumerate(
            (
                (kafka, odradek, living.commit_transaction),
                (odradek, kafka, living.abort_transaction),
            )
        ):
            send(plain, "source", *(b"%d" % each for each in range(number * NUMBERS, (number + 1) * NUMBERS)))
            copying.start()
            copying.await_copied(100)
            _add(living, old, b"%d before" % number, 10 * number + 1)
            gone.append(_open(old, f"left-{number}"))
            send(plain, "t", b"behind %d" % number, partition=LEFT)
            before = _committed(old)
            if old is odradek:
                _kill(odradek, copying)
            else:
                old.kill()
            new.start()
            assert _committed(new) == before
            _add(living, new, b"%d after" % number, 10 * number + 2)
            ends(TIMEOUT_S)
            living.begin_transaction()
            copying.finish()
            if new is kafka:
                gone.append(new_producer(kafka.bootstrap, f"left-{number}"))
            behind = [b"behind %d" % each for each in range(number + 1)]
            eventually(lambda behind=behind, new=new: values(new.bootstrap, "t", LEFT) == behind, "it is aborted", 60)  # type: ignore[misc]  # a lambda with defaults
        assert values(kafka.bootstrap, "t", GOES_ON) == [b"0 before", b"0 after"]
        eventually(lambda: _committed(kafka) == {("source", 0): 2}, "the offset is that of the commit", 60)
        assert values(kafka.bootstrap, "target") == [b"%d" % number for number in range(2 * NUMBERS)]
        left = values(kafka.bootstrap, "t", LEFT, isolation="read_uncommitted")
        assert left == [b"left-0", b"behind 0", b"left-1", b"behind 1"]
        kafka.stop()
        _inspect(tmp_path)
    finally:
        copying.kill()
