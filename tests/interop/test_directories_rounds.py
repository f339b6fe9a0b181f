"""One directory, one server.properties, and Apache Kafka and odradek in turn, with changes in every round."""

from pathlib import Path

import pytest

from tests.interop.hand_over import (
    Producer,
    add_partitions,
    alter,
    begin,
    commit,
    committed,
    create,
    delete,
    end,
    fetch,
    inspect,
    leader_epoch,
    new_producer,
    partition,
    produce,
    served,
    start_of,
)
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually
from tests.support.wire import error_code

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

DUPLICATE = 0  # answered as if it had been written just now
OUT_OF_ORDER = error_code("OUT_OF_ORDER_SEQUENCE_NUMBER")
BATCH = 3
LONG_AGO = 1_500_000_000_000
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "log.cleaner.enable": "false",  # compaction would change what is compared
    "metadata.log.max.record.bytes.between.snapshots": "500",
    "metadata.max.idle.interval.ms": "100",
}
FILES = ("*.log", "*.index", "*.timeindex", "*.snapshot", "*.txnindex")


class Rounds:
    """What was done so far, and must still be there."""

    def __init__(self) -> None:
        self.number = 0
        self.sequence = 0
        self.end = 0
        self.epoch = -1

    def work(self, broker: BrokerProcess, producer: Producer) -> None:
        """Change something of every kind."""
        self.number += 1
        number = self.number
        values = [b"%d" % (self.sequence + each) for each in range(BATCH)]
        if self.sequence:  # the last batch of the round before is still known to have been written
            again = [b"%d" % (self.sequence - BATCH + each) for each in range(BATCH)]
            repeated = produce(broker, "sequence", again, producer, self.sequence - BATCH)
            assert repeated == (DUPLICATE, self.end - BATCH)
            assert produce(broker, "sequence", values, producer, self.sequence + 7)[0] == OUT_OF_ORDER
        assert produce(broker, "sequence", values, producer, self.sequence) == (0, self.end)
        self.sequence += BATCH
        self.end += BATCH
        commit(broker, "group", "sequence", number)
        commit(broker, f"group-{number}", "sequence", number)
        create(broker, f"round-{number}", 2, segment_ms=str(1_000_000 + number), cleanup_policy="compact,delete")
        for each in range(3):
            produce(broker, f"round-{number}", [b"%d" % each * 100])
        if number > 2:
            delete(broker, f"round-{number - 2}")
        alter(broker, "grown", "max.message.bytes", str(500_000 + number))
        add_partitions(broker, "grown", 1 + number)
        epoch = leader_epoch(broker, "sequence")
        assert epoch >= self.epoch
        self.epoch = epoch

    def check(self, broker: BrokerProcess) -> None:
        """See that all of it is there."""
        number = self.number
        assert committed(broker, "group") == {("sequence", 0): number}
        for each in range(1, number + 1):
            assert committed(broker, f"group-{each}") == {("sequence", 0): each}
        found = served(broker)
        assert {name for name in found.ids if name.startswith("round-")} == {
            f"round-{each}" for each in range(max(1, number - 1), number + 1)
        }
        assert found.configs[f"round-{number}"] == {
            "segment.ms": str(1_000_000 + number),
            "cleanup.policy": "compact,delete",
        }
        assert found.configs["grown"] == {"max.message.bytes": str(500_000 + number)}
        assert len([1 for name, _ in found.partitions if name == "grown"]) == number + 1
        assert found.partitions["sequence", 0].end == self.end


def _transactions(kafka: BrokerProcess) -> None:
    """Leave a committed, an aborted and an open transaction, each followed by a record of nobody."""
    create(kafka, "transactions")
    for name, outcome in (("committed", True), ("aborted", False), ("open", None)):
        producer = new_producer(kafka, name)
        begin(kafka, name, producer, "transactions")
        assert produce(kafka, "transactions", [name.encode()], producer, 0, name)[0] == 0
        if outcome is not None:
            end(kafka, name, producer, outcome)
            eventually(lambda: partition(kafka, "transactions", 0).stable_end % 3 == 2, "the marker is written")
        assert produce(kafka, "transactions", [b"plain"])[0] == 0


def test_a_directory_goes_to_and_fro(tmp_path: Path) -> None:
    """Killed or stopped, over five rounds: ids, configs, records, producers, committed offsets, leader epochs, open and
    ended transactions, snapshots of the metadata by both."""
    overrides = {**SETTINGS, "log.dirs": f"{tmp_path}/data,{tmp_path}/more"}
    kafka, odradek = ApacheKafkaProcess(tmp_path, overrides), OdradekProcess(tmp_path)
    rounds = Rounds()
    try:
        kafka.start()
        odradek.properties, odradek.port = kafka.properties, kafka.port
        create(kafka, "sequence")
        create(kafka, "grown")
        producer = new_producer(kafka)
        rounds.work(kafka, producer)
        _transactions(kafka)
        before = served(kafka)
        kafka.kill()

        odradek.start()
        assert served(odradek) == before
        rounds.check(odradek)
        assert leader_epoch(odradek, "sequence") > rounds.epoch  # as Kafka's controller would have it after a crash
        seen = fetch(odradek, "transactions", 0, 0, isolation=1)
        assert (seen["last_stable_offset"], seen["high_watermark"]) == (6, 8)
        assert [each["first_offset"] for each in seen["aborted_transactions"]] == [3]
        assert new_producer(odradek).producer_id > producer.producer_id
        rounds.work(odradek, producer)
        assert produce(odradek, "transactions", [b"later"]) == (0, 8)
        state = _bytes_of(tmp_path, "__transaction_state-*")
        before = served(odradek)
        assert odradek.stop() == 0
        assert _bytes_of(tmp_path, "__transaction_state-*") == state
        _inspect_all(tmp_path)

        kafka.start()
        assert served(kafka) == before
        rounds.check(kafka)
        new_producer(kafka, "open")  # its coordinator ends what was left open
        eventually(lambda: partition(kafka, "transactions", 0).stable_end == 10, "the transaction was ended", 60)
        seen = fetch(kafka, "transactions", 0, 0, isolation=1)
        assert sorted(each["first_offset"] for each in seen["aborted_transactions"]) == [3, 6]
        rounds.work(kafka, producer)
        before = served(kafka)
        kafka.stop()
        by_kafka = set((tmp_path / "data" / "__cluster_metadata-0").glob("*.checkpoint"))
        assert by_kafka

        odradek.start()
        assert served(odradek) == before
        rounds.check(odradek)
        rounds.work(odradek, producer)
        before = served(odradek)
        assert set((tmp_path / "data" / "__cluster_metadata-0").glob("*.checkpoint")) - by_kafka
        odradek.kill()
        _inspect_all(tmp_path)

        kafka.start()
        assert served(kafka) == before
        rounds.check(kafka)
        rounds.work(kafka, producer)
        assert not list(tmp_path.glob("*/*-stray"))
    finally:
        for broker in (odradek, kafka):
            broker.discard()


def test_retention_and_compaction_follow_the_configs_that_kafka_recorded(tmp_path: Path) -> None:
    """What Apache Kafka was told to keep an hour is deleted here; what it was told to compact is compacted, and not
    deleted for its age. Apache Kafka then serves the same."""
    overrides = {"log.retention.check.interval.ms": "100", "log.initial.task.delay.ms": "0"}
    cleaner = {"log.cleaner.backoff.ms": "100"}
    kafka, odradek = ApacheKafkaProcess(tmp_path, {"log.cleaner.enable": "false"}), OdradekProcess(tmp_path)
    retention = {"retention_ms": "3600000", "file_delete_delay_ms": "0"}
    try:
        kafka.start()
        create(kafka, "aged", 1, **retention)
        create(kafka, "compacted", 1, **retention, cleanup_policy="compact", min_cleanable_dirty_ratio="0.001")
        create(kafka, "kept", retention_ms="-1")
        for topic in ("aged", "compacted", "kept"):
            for value in (b"first", b"second"):
                assert produce(kafka, topic, [value], timestamp=LONG_AGO)[0] == 0
            assert produce(kafka, topic, [b"now"])[0] == 0  # so much later that it begins a segment
        kept = served(kafka).partitions["kept", 0]
        kafka.stop()

        odradek.properties, odradek.port, odradek.overrides = kafka.properties, kafka.port, {**overrides, **cleaner}
        odradek.overrides["log.cleaner.enable"] = "true"
        odradek.start()
        eventually(lambda: start_of(odradek, "aged", 0) == 2, f"old records are deleted\n{odradek.log}", 60)
        eventually(lambda: b"first" not in partition(odradek, "compacted", 0).records, "a key is kept once", 60)
        compacted = partition(odradek, "compacted", 0)
        assert (compacted.start, compacted.end) == (0, 3)
        assert b"second" in compacted.records
        assert served(odradek).partitions["kept", 0] == kept
        assert (tmp_path / "data" / "cleaner-offset-checkpoint").read_text() == "0\n1\ncompacted 0 2\n"
        before = served(odradek)
        odradek.kill()

        kafka.start()
        assert served(kafka) == before
    finally:
        for broker in (odradek, kafka):
            broker.discard()


def _bytes_of(root: Path, pattern: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.glob(f"*/{pattern}/*.log")}


def _inspect_all(root: Path) -> None:
    """Let Apache Kafka's inspector read every file of every partition."""
    files = [path for kind in FILES for path in sorted(root.glob(f"*/*-[0-9]*/{kind}"))]
    metadata = [path for path in files if "__cluster_metadata" in str(path)]
    metadata += sorted(root.glob("*/__cluster_metadata-0/*.checkpoint"))
    others = [path for path in files if path not in metadata and "-delete" not in str(path)]
    inspect(others, "--deep-iteration")
    inspect([path for path in metadata if path.suffix in (".log", ".checkpoint")], "--cluster-metadata-decoder")
