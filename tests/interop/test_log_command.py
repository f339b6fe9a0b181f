"""`odradek log` beside Apache Kafka's own inspector, on the same files: Apache Kafka's, ours, and old formats."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.cli.app import run
from odradek.protocol.records.batch import Codec as RecordCodec
from odradek.protocol.records.legacy_building import build_message, build_wrapper
from odradek.protocol.records.record import Record
from odradek.storage.files import PosixFiles
from tests.integration.clients import Codec, Confluent, Sent
from tests.support.broker import ApacheKafkaProcess, OdradekProcess, run_java
from tests.support.log_samples import make_log_directory
from tests.support.small_batches import produce_in_small_batches

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

INSPECTOR = "org.apache.kafka.tools.DumpLogSegments"
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
RECORDS = [
    Sent(b"k%d" % number, b"line %d " % number * 9, (("h", b"x"),), 1_700_000_000_000 + number) for number in range(400)
]
FEW_PARTITIONS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def by_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A log directory that Apache Kafka wrote: all codecs, transactions of both ends, groups; not to be changed."""
    broker = ApacheKafkaProcess(tmp_path_factory.mktemp("by-kafka"), FEW_PARTITIONS)
    try:
        broker.start()
        _fill(broker)
        _write_transactions(broker)
        _use_groups(broker)
        broker.stop()
        yield broker.data
    finally:
        broker.discard()


@pytest.fixture(scope="module")
def by_odradek(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same of ours, without transactions."""
    broker = OdradekProcess(
        tmp_path_factory.mktemp("by-odradek"), {"log.index.interval.bytes": "200", **FEW_PARTITIONS}
    )
    try:
        broker.start()
        _fill(broker)
        _use_groups(broker)
        assert broker.stop() == 0
        yield broker.data
    finally:
        broker.discard()


def _fill(broker: ApacheKafkaProcess | OdradekProcess) -> None:
    Confluent(broker.bootstrap).create_topic("lines")
    for codec in Codec:
        produce_in_small_batches(broker.bootstrap, "lines", RECORDS, codec, idempotent=codec is not Codec.NONE)


def _write_transactions(broker: ApacheKafkaProcess) -> None:
    """Two producers whose transactions overlap; each commits some and aborts some."""
    first, second = (Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name}) for name in "ab")
    for producer in (first, second):
        producer.init_transactions()
    for turn in range(4):
        for producer in (first, second):
            producer.begin_transaction()
            for number in range(10):
                producer.produce("moves", b"turn %d, number %d" % (turn, number))
            producer.flush()
        (first.commit_transaction if turn % 2 else first.abort_transaction)()
        (second.commit_transaction if turn % 3 else second.abort_transaction)()


def _use_groups(broker: ApacheKafkaProcess | OdradekProcess) -> None:
    for protocol in ("classic", "consumer"):
        settings = {"group.id": protocol, "group.protocol": protocol, "auto.offset.reset": "earliest"}
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, **settings})
        try:
            consumer.subscribe(["lines"])
            assert consumer.consume(10, 30)
            consumer.commit(offsets=[TopicPartition("lines", 0, 7, "metadata")], asynchronous=False)
        finally:
            consumer.close()


def _by_theirs(files: Sequence[Path], *options: str) -> list[str]:
    done = run_java(INSPECTOR, "--files", ",".join(map(str, files)), *options)
    complaints = [line for line in done.stderr.decode().splitlines() if not line.startswith("SLF4J")]
    assert complaints == []
    return done.stdout.decode().splitlines()


def _by_ours(capsys: pytest.CaptureFixture[str], files: Sequence[Path], *options: str) -> list[str]:
    capsys.readouterr()
    assert run(["log", "dump", *options, *map(str, files)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()


def _files(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.iterdir()) if path.suffix in SUFFIXES]


def _old_formats(directory: Path) -> Path:
    """Write a segment of messages and wrappers of the two old versions."""
    path = directory / "old-0" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    entries, offset = [], 0
    for magic in (0, 1):
        for codec in (RecordCodec.NONE, RecordCodec.GZIP, RecordCodec.SNAPPY, RecordCodec.LZ4):
            records = [Record(offset + n, 1_700_000_000_000 + n, b"k%d" % n, b"v" * n or None) for n in range(3)]
            if codec is RecordCodec.NONE:
                entries += [build_message(record, magic) for record in records]
            else:
                entries.append(build_wrapper(records, magic, codec))
            offset += 3
    path.write_bytes(b"".join(entries))
    return path


def test_dumps_are_those_of_apache_kafka_line_for_line(
    by_kafka: Path, by_odradek: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batches, records, keys, values, indexes, aborted transactions, snapshots, old messages: every line is equal."""
    files = [*_files(by_kafka / "lines-0"), *_files(by_kafka / "moves-0"), *_files(by_odradek / "lines-0")]
    assert {path.suffix for path in files} == set(SUFFIXES)
    files.append(_old_formats(tmp_path))
    ours = _by_ours(capsys, files, "--print-data")
    assert ours == _by_theirs(files, "--print-data-log")
    assert sum(line.startswith("| offset: ") for line in ours) > 2 * 5 * len(RECORDS)


def test_shallow_dumps_are_equal_too(by_kafka: Path, by_odradek: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without records the lines of the batches are the same; a batch cut at the end is told by both."""
    files = [by_kafka / "moves-0" / f"{0:020d}.log", by_odradek / "lines-0" / f"{0:020d}.log"]
    assert _by_ours(capsys, files) == _by_theirs(files)


def test_metadata_is_decoded_alike(by_kafka: Path, by_odradek: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The metadata logs of both brokers and the bootstrap snapshot, record by record, with all control records."""
    files = [path for data in (by_kafka, by_odradek) for path in sorted(data.glob("__cluster_metadata-0/*.log"))]
    files += [*by_kafka.glob("__cluster_metadata-0/*.checkpoint"), by_kafka / "bootstrap.checkpoint"]
    ours = _by_ours(capsys, files, "--print-data")
    assert ours == _by_theirs(files, "--cluster-metadata-decoder")
    assert any("LeaderChange: " in line for line in ours)
    assert any("TOPIC_RECORD" in line for line in ours)


def test_offsets_and_groups_are_decoded_alike(
    by_kafka: Path, by_odradek: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Committed offsets, classic groups with their members, and groups of the consumer protocol, of both brokers."""
    found = [path for data in (by_kafka, by_odradek) for path in sorted(data.glob("__consumer_offsets-*/*.log"))]
    files = [path for path in found if path.stat().st_size]
    ours = _by_ours(capsys, files, "--print-data")
    assert ours == _by_theirs(files, "--offsets-decoder")
    text = "\n".join(ours)
    assert '"protocolType":"consumer"' in text
    assert "payload: <DELETE>" in text
    assert len(set(re.findall(r'key: {"type":"(\d+)"', text))) > 4


def test_transactions_are_decoded_alike(by_kafka: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the transaction coordinator remembers, in every state that it went through."""
    files = sorted(by_kafka.glob("__transaction_state-*/*.log"))
    ours = _by_ours(capsys, files, "--print-data")
    assert ours == _by_theirs(files, "--transaction-log-decoder")
    text = "\n".join(ours)
    assert {"0", "1", "2", "3", "4", "5"} == set(re.findall(r'"transactionStatus":(\d)', text))


def test_verify_finds_nothing_wrong_in_what_apache_kafka_wrote(
    by_kafka: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Segments, indexes, transactions, snapshots, epochs and checkpoints of Apache Kafka are as they must be."""
    assert run(["log", "verify", str(by_kafka), "--deep"]) == 0
    assert capsys.readouterr().out.endswith("nothing is wrong\n")


def test_verify_and_the_sanity_check_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Indexes that we find nothing wrong with pass Apache Kafka's own check, rebuilt ones too; what fails, we name."""
    log = Path(make_log_directory(PosixFiles(), str(tmp_path)).directory)
    good = [path for path in _files(log) if path.suffix in (".index", ".timeindex") and path.stat().st_size]
    checked = _by_theirs(good, "--index-sanity-check")
    assert [line for line in checked if line.endswith("passed sanity check.")] == [
        f"{path} passed sanity check." for path in good
    ]
    for path in good:
        path.write_bytes(path.read_bytes()[:-3])
    assert run(["log", "verify", str(log)]) == 1
    printed = capsys.readouterr().out
    assert all(f"error: {path}" in printed for path in good)
    with pytest.raises(AssertionError, match="CorruptIndexException"):
        run_java(INSPECTOR, "--files", str(good[0]), "--index-sanity-check")
    assert run(["log", "verify", str(log), "--repair", "--index-interval-bytes", "200"]) == 0
    assert _by_theirs(good, "--index-sanity-check") == checked
    assert _by_theirs(good, "--verify-index-only") == [line for line in checked if line.startswith("Dumping")]
