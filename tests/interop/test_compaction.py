"""Compaction with Apache Kafka as the judge: what we leave is in order to its tools and readers, and is what it leaves
of the same log itself."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.reading import iter_entry_records
from tests.conftest import BrokerFactory
from tests.interop.hand_over import inspect
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.compacted import QUICK_CLEANER, await_compacted, create, fill_segment, produce, read_kept
from tests.support.waiting import eventually

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

KEYS = 15
NOT_YET = {"min.cleanable.dirty.ratio": "1.0"}
TOPICS = {"plain": "none", "packed": "zstd", "squeezed": "lz4"}


class Survivor(NamedTuple):
    """A record that compaction has left, read from the file itself."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    is_control: bool


def _records(seed: int) -> list[tuple[bytes | None, bytes | None]]:
    """Overwritten keys, deleted ones, and deleted ones that were written again."""
    chance = random.Random(seed)
    return [
        (b"key-%d" % chance.randrange(KEYS), None if chance.random() < 0.1 else chance.randbytes(4000))
        for _ in range(500)
    ]


def _transactions(bootstrap: str, topic: str) -> None:
    """Committed and aborted transactions of two producers, one of which leaves its last one open for a while."""
    chance = random.Random(5)
    first, second = (
        confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 1})
        for name in ("first", "second")
    )
    for producer in (first, second):
        producer.init_transactions(60)
    for number in range(12):
        for producer in (first, second):
            producer.begin_transaction()
        for step in range(6):
            key = b"key-%d" % chance.randrange(KEYS)
            (first, second)[step % 2].produce(topic, key=key, value=chance.randbytes(3000), partition=0)
            (first, second)[step % 2].flush(60)
        for producer, aborts in ((first, number % 3 == 1), (second, number % 4 == 2)):
            if aborts:
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)


def _survivors(broker: BrokerProcess, topic: str) -> list[Survivor]:
    found = []
    for path in sorted((broker.data / f"{topic}-0").glob("*.log")):
        data = path.read_bytes()
        for position, header in iter_batches(data):
            entry = data[position : position + header.size]
            found += [
                Survivor(record.offset, record.key, record.value, record.timestamp, header.is_control)
                for record in iter_entry_records(entry)
            ]
    return found


def _compact_now(broker: BrokerProcess, topic: str) -> None:
    """Let the topic be compacted, once, and wait until that is written down."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    change = ConfigEntry("min.cleanable.dirty.ratio", "0.01", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[change])
    [changed] = admin.incremental_alter_configs([resource]).values()
    changed.result(60)
    eventually(lambda: _cleaned_upto(broker, topic), f"{topic} is compacted\n{broker.log}", 60)


def _cleaned_upto(broker: BrokerProcess, topic: str) -> int:
    checkpoint = broker.data / "cleaner-offset-checkpoint"
    lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), 0)


def test_apache_kafka_and_odradek_leave_the_same(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """Of one log with overwritten, deleted and transactional records, both leave the same ones; Apache Kafka's tools
    find nothing to complain of in ours, and its broker serves them as we do."""
    maker = ApacheKafkaProcess(tmp_path / "maker", QUICK_CLEANER)
    maker.start()
    for number, (topic, codec) in enumerate(TOPICS.items()):
        create(maker.bootstrap, topic, NOT_YET)
        produce(maker.bootstrap, topic, _records(number), codec)
        fill_segment(maker.bootstrap, topic)
    create(maker.bootstrap, "transactional", NOT_YET)
    produce(maker.bootstrap, "transactional", _records(9))
    _transactions(maker.bootstrap, "transactional")
    fill_segment(maker.bootstrap, "transactional")
    maker.stop()
    topics = [*TOPICS, "transactional"]
    ours = OdradekProcess(tmp_path / "ours", QUICK_CLEANER)
    theirs = ApacheKafkaProcess(tmp_path / "theirs", QUICK_CLEANER)
    try:
        for broker in (ours, theirs):
            shutil.copytree(maker.data, broker.data)
            broker.start()
            for topic in topics:
                _compact_now(broker, topic)
        committed = {topic: read_kept(ours.bootstrap, topic, "read_committed") for topic in topics}
        for broker in (ours, theirs):
            broker.stop()
        for topic in topics:
            left = _survivors(ours, topic)
            assert left == _survivors(theirs, topic), topic
            assert len(left) < 300
            assert _cleaned_upto(ours, topic) == _cleaned_upto(theirs, topic)
            _inspect(ours, topic)
        theirs = ApacheKafkaProcess(tmp_path / "theirs-again", {"log.cleaner.enable": "false"})
        shutil.copytree(ours.data, theirs.data)
        theirs.start()
        for topic in topics:
            assert read_kept(theirs.bootstrap, topic, "read_committed") == committed[topic]
    finally:
        for broker in (maker, ours, theirs):
            broker.discard()


def _inspect(broker: BrokerProcess, topic: str) -> None:
    """Let Apache Kafka's own tool go through every record and index entry."""
    files = sorted((broker.data / f"{topic}-0").glob("*.log"))
    inspect(files, "--deep-iteration")
    indexes = [path for suffix in ("*.index", "*.timeindex") for path in (broker.data / f"{topic}-0").glob(suffix)]
    inspect(sorted(indexes), "--index-sanity-check")
    inspect(sorted(indexes), "--verify-index-only")
    aborted = sorted((broker.data / f"{topic}-0").glob("*.txnindex"))
    if aborted:
        inspect(aborted)


def test_what_odradek_compacts_of_its_own_is_in_order(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """A log that odradek has written and compacted, several rounds, is in order to Apache Kafka's tools."""
    ours = OdradekProcess(tmp_path / "ours", QUICK_CLEANER)
    try:
        ours.start()
        create(ours.bootstrap, "own", {"index.interval.bytes": "100"})
        for number in range(3):
            produce(ours.bootstrap, "own", _records(number), "gzip" if number else "none")
            fill_segment(ours.bootstrap, "own")
            await_compacted(ours.bootstrap, "own", KEYS + 8)
        ours.stop()
        _inspect(ours, "own")
    finally:
        ours.discard()
