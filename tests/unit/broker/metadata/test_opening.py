"""Opening the metadata log: new directories, our own, and those of Apache Kafka."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.image import ConfigResource
from odradek.broker.metadata.loading import load_metadata
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.records import Message, make_record
from odradek.broker.metadata.snapshots import BOOTSTRAP_FILE
from odradek.broker.metadata.source import stored_now
from odradek.config.topic import kafka_defaults
from odradek.protocol.messages.metadata_records import (
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from odradek.protocol.records.batch import iter_batches
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DATA, DIRECTORY, kafka_directory, record_of, topic_records

A = UUID(int=0xA)
LOG = f"{DIRECTORY}/{0:020d}.log"


def open_log(
    files: MemoryFiles, node_id: int = 1, clean: bool = False, min_insync: str = "1", leads_others: bool = False
) -> MetadataLog:
    """Open the log in the directory of all tests."""
    options = MetadataOptions(node_id, kafka_defaults(), min_insync, clean, leads_others=leads_others)
    return open_metadata_log(files, "/data", options, ManualClock())


def new_directory() -> MemoryFiles:
    """Return an empty log directory."""
    files = MemoryFiles()
    files.mkdir("/data")
    files.sync_dir("/")
    return files


def propose(log: MetadataLog, *messages: Message) -> None:
    """Propose records."""
    stored_now(log.propose([record_of(message) for message in messages], log.image))


def test_new_directory_begins_with_a_leader_and_feature_levels() -> None:
    """The same batches that Apache Kafka begins with, at epoch 1, and Kafka's id of the metadata topic."""
    files = new_directory()
    log = open_log(files, min_insync="2")
    assert dict(log.image.features) == dict(NEW_CLUSTER)
    assert dict(log.image.configs) == {ConfigResource(4, ""): {"min.insync.replicas": "2"}}
    headers = [header for _, header in iter_batches(memoryview(files.read_bytes(LOG)))]
    assert [(h.base_offset, h.is_control, h.partition_leader_epoch) for h in headers] == [(0, True, 1), (1, False, 1)]
    assert read_topic_id(files, DIRECTORY) == UUID(int=1)
    load_metadata(files, DIRECTORY).quorum.check_owner(1)


def test_leader_change_is_byte_for_byte_kafkas() -> None:
    """But for time and checksum."""
    files = new_directory()
    open_log(files)
    ours, kafkas = files.read_bytes(LOG), (DATA / "kafka-4.3.log").read_bytes()
    assert (ours[:17], ours[61:91]) == (kafkas[:17], kafkas[61:91])


def test_second_start_writes_nothing() -> None:
    """A log that is complete is only read."""
    files = new_directory()
    first = open_log(files)
    propose(first, *topic_records("t", A))
    image, content = first.image, files.read_bytes(LOG)
    first.close()
    second = open_log(files, clean=True)
    assert second.image == image
    assert files.read_bytes(LOG) == content


def test_bootstrap_file_begins_the_metadata() -> None:
    """A directory that kafka-storage.sh formatted has the levels that were asked for there."""
    files = new_directory()
    files.write_bytes(f"/data/{BOOTSTRAP_FILE}", (DATA / BOOTSTRAP_FILE).read_bytes())
    log = open_log(files)
    assert log.image.feature("metadata.version") == 30
    assert log.image.feature("share.version") == 1


def test_directory_of_apache_kafka_is_continued_with_its_partitions_led() -> None:
    """Elections are written behind what Kafka wrote, in Kafka's epoch."""
    files = kafka_directory()
    files.write_bytes(f"{DIRECTORY}/quorum-state", b'{"leaderId":1,"leaderEpoch":4,"votedId":-1,"data_version":0}')
    before = files.read_bytes(LOG)
    log = open_log(files)
    assert {p.leader for t in log.image.topics_by_name.values() for p in t.partitions} == {1}
    assert {p.leader_epoch for t in log.image.topics_by_name.values() for p in t.partitions} == {2}
    after = files.read_bytes(LOG)
    assert after.startswith(before)
    (_, header), *more = iter_batches(memoryview(after)[len(before) :])
    assert (header.base_offset, header.records_count, header.partition_leader_epoch, more) == (68, 8, 4, [])


def test_snapshot_without_log_is_continued_at_its_end() -> None:
    """Kafka may have deleted every segment that the snapshot stands for."""
    files = kafka_directory()
    files.unlink(LOG)
    log = open_log(files)
    assert "ka-plain" in log.image.topics_by_name
    log.close()
    assert load_metadata(files, DIRECTORY).image.topics_by_name == log.image.topics_by_name


@pytest.mark.parametrize("clean", [True, False])
def test_log_that_begins_at_its_snapshot_is_continued(clean: bool) -> None:
    """After Kafka has deleted the segments before it; also when the stop was not clean."""
    files = kafka_directory()
    log = files.read_bytes(LOG)
    cut, base = next((at, h.base_offset) for at, h in iter_batches(memoryview(log)) if h.base_offset >= 30)
    files.unlink(LOG)
    files.write_bytes(f"{DIRECTORY}/{base:020d}.log", log[cut:])
    first = open_log(files, clean=clean)
    propose(first, *topic_records("t", A))
    assert open_log(files).image == first.image


def test_torn_end_is_cut_off_and_written_over() -> None:
    """The next change follows the last whole one."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    end = len(files.read_bytes(LOG))
    propose(log, *topic_records("u", UUID(int=0xB)))
    files.open(LOG).truncate(end + 40)
    again = open_log(files)
    assert list(again.image.topics_by_name) == ["t"]
    propose(again, *topic_records("v", UUID(int=0xC)))
    assert list(load_metadata(files, DIRECTORY).image.topics_by_name) == ["t", "v"]


@pytest.mark.parametrize("what", ["other node", "newer level", "other brokers"])
def test_what_cannot_be_served_is_refused_with_nothing_changed(what: str) -> None:
    """Another quorum, a newer metadata.version, partitions on other brokers."""
    files = kafka_directory() if what != "newer level" else new_directory()
    node = 1
    if what == "other node":
        node = 2
    elif what == "newer level":
        log = open_log(files)
        value = make_record(FeatureLevelRecord(name="metadata.version", feature_level=30)).value
        propose(log, FeatureLevelRecord(name="metadata.version", feature_level=30))
        content = files.read_bytes(LOG)
        patched = content.replace(value, value[:-2] + b"\x63\x00")
        files.write_bytes(LOG, _with_checksums(patched))
    else:
        log = open_log(files)
        plain = log.image.topics_by_name["ka-plain"].topic_id
        propose(log, PartitionChangeRecord(partition_id=0, topic_id=plain, replicas=[2], isr=[2], leader=2))
    operations = files.operations
    with pytest.raises(UnsupportedMetadataError):
        open_log(files, node_id=node)
    assert files.operations == operations


def test_log_that_was_cut_after_a_clean_stop_is_refused() -> None:
    """The marker says that every byte is right; then a damaged end is not a torn write."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    log.close()
    content = files.read_bytes(LOG)
    files.write_bytes(LOG, content[:-5] + b"\xff\xff\xff\xff\xff")
    with pytest.raises(CorruptMetadataError, match="damaged"):
        open_log(files, clean=True)


def test_torn_end_after_a_clean_stop_is_refused_with_nothing_changed() -> None:
    """Nothing was being written when the marker was: somebody cut the file, and acknowledged changes are gone."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    log.close()
    files.write_bytes(LOG, files.read_bytes(LOG)[:-5])
    operations = files.operations
    with pytest.raises(CorruptMetadataError, match=r"damaged at byte \d+ .*remove /data/\.kafka_cleanshutdown"):
        open_log(files, clean=True)
    assert files.operations == operations
    assert not open_log(files).image.topics_by_name


def _with_checksums(log: bytes) -> bytes:
    """Return the log with the checksums of its batches made right."""
    from odradek.protocol.records.checksum import crc32c

    out = bytearray(log)
    for at, header in iter_batches(memoryview(log)):
        out[at + 17 : at + 21] = crc32c(log[at + 21 : at + header.size], 0).to_bytes(4, "big")
    return bytes(out)


def test_node_that_becomes_a_controller_begins_new_epochs_until_it_registers() -> None:
    """What it leads goes on under it, what others lead is theirs; a registration does it from then on."""
    files = new_directory()
    alone = open_log(files)
    propose(alone, *topic_records("t", A))
    alone.close()
    first = open_log(files, leads_others=True)
    partition = first.image.topics_by_name["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 1)
    assert first.epoch == 2
    change = PartitionChangeRecord(topic_id=A, partition_id=0, replicas=[1, 2], isr=[2, 1], leader=2)
    propose(first, change, RegisterBrokerRecord(broker_id=1, broker_epoch=9))
    first.close()
    second = open_log(files, leads_others=True)
    partition = second.image.topics_by_name["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (2, (2, 1), 2)


def test_node_that_begins_new_epochs_leaves_partitions_of_others() -> None:
    """Though it is in sync with them: their leader may have more."""
    files = new_directory()
    alone = open_log(files)
    propose(alone, *topic_records("t", A))
    propose(alone, PartitionChangeRecord(topic_id=A, partition_id=0, replicas=[1, 2], isr=[2, 1], leader=2))
    alone.close()
    partition = open_log(files, leads_others=True).image.topics_by_name["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (2, (2, 1), 1)
