"""Reading metadata from disk: what Apache Kafka wrote, what a crash left, and what is damage."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import ConfigResource
from odradek.broker.metadata.loading import LoadedMetadata, load_metadata
from odradek.broker.metadata.records import Message, make_record
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.storage.files import FileSystem
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DATA, DIRECTORY, SNAPSHOT, kafka_directory, topic_records

LOG = f"{DIRECTORY}/{0:020d}.log"
A, B = UUID(int=0xA), UUID(int=0xB)
NO_OP = bytes.fromhex("01 14 00 00")


def values_of(*messages: Message) -> list[bytes]:
    """Return the records' bytes."""
    return [make_record(message).value for message in messages]


def batch(offset: int, *values: bytes, epoch: int = 1) -> bytes:
    """Return a batch of records at an offset."""
    records = make_records([(None, value) for value in values], 1000, offset)
    return bytes(build_batch(records, BatchFields(leader_epoch=epoch)))


def log_of(*batches: bytes, base: int = 0) -> MemoryFiles:
    """Return a directory whose log has these batches."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    files.write_bytes(f"{DIRECTORY}/{base:020d}.log", b"".join(batches))
    return files


def load(files: FileSystem) -> LoadedMetadata:
    """Load from the directory that all tests use."""
    return load_metadata(files, DIRECTORY)


def test_missing_directory_is_empty_metadata() -> None:
    """Nothing is made by looking."""
    files = MemoryFiles()
    loaded = load(files)
    assert (loaded.image.offset, loaded.epoch, loaded.log_end_offset) == (0, 0, None)
    assert files.operations == 0


def test_log_of_apache_kafka_is_read() -> None:
    """Topics, configs of every kind, features, producer ids, and what is kept for Kafka itself."""
    files = kafka_directory(snapshot=False)
    operations = files.operations
    image = load(files).image
    assert files.operations == operations
    assert {name: len(t.partitions) for name, t in image.topics_by_name.items()} == {
        "ka-plain": 3,
        "ka-compact": 2,
        "ka-grown": 3,
    }
    assert image.topics_by_name["ka-plain"].topic_id == UUID("b88631b9-8ebd-47b3-ae74-766442202d38")
    assert dict(image.configs) == {
        ConfigResource(2, "ka-plain"): {"retention.ms": "777000"},
        ConfigResource(2, "ka-compact"): {"cleanup.policy": "compact", "retention.ms": "123456"},
        ConfigResource(4, ""): {"min.insync.replicas": "1", "log.retention.ms": "99999999"},
        ConfigResource(4, "1"): {"log.cleaner.threads": "2"},
        ConfigResource(32, "grp"): {"consumer.session.timeout.ms": "50000"},
        ConfigResource(16, "cm"): {"interval.ms": "5000"},
    }
    assert image.feature("metadata.version") == 30
    assert image.next_producer_id == 1000
    assert sorted(str(about[0]) for about in image.kept) == ["controller"]
    assert list(image.scram_credentials) == [("alice", 1)]
    assert image.brokers[1].epoch == 11
    stopped = image.topics_by_name["ka-plain"].partitions[0]
    assert (stopped.leader, stopped.isr, stopped.eligible_leader_replicas) == (-1, (), (1,))


def test_snapshot_and_log_behind_it_give_the_same_image_as_the_log_alone() -> None:
    """A snapshot stands for the log up to its end offset."""
    whole, from_snapshot = load(kafka_directory(snapshot=False)), load(kafka_directory())
    assert from_snapshot.image == whole.image
    assert (from_snapshot.epoch, from_snapshot.log_end_offset) == (1, 68)
    from_snapshot.quorum.check_owner(1)
    with pytest.raises(UnsupportedMetadataError, match=r"node\(s\) 1, and this is node 2"):
        from_snapshot.quorum.check_owner(2)


def test_log_below_a_snapshot_may_be_gone() -> None:
    """Kafka deletes segments that a snapshot stands for."""
    files = kafka_directory()
    log = files.read_bytes(LOG)
    cut = next(at for at, header in iter_batches(memoryview(log)) if header.base_offset >= 30)
    base = next(header.base_offset for at, header in iter_batches(memoryview(log)) if at == cut)
    files.unlink(LOG)
    files.write_bytes(f"{DIRECTORY}/{base:020d}.log", log[cut:])
    assert load(files).image == load(kafka_directory()).image


def test_damaged_snapshot_is_passed_over_while_the_log_is_there() -> None:
    """Cut short, or with a flipped byte."""
    whole = kafka_directory().read_bytes(f"{DIRECTORY}/{SNAPSHOT}")
    for damaged in (whole[:-20], whole[:900] + b"\xff" + whole[901:]):
        files = kafka_directory()
        files.write_bytes(f"{DIRECTORY}/{SNAPSHOT}", damaged)
        assert load(files).image == load(kafka_directory(snapshot=False)).image


def test_damaged_snapshot_that_was_passed_over_is_told() -> None:
    """Which file, from which byte on."""
    files = kafka_directory()
    whole = files.read_bytes(f"{DIRECTORY}/{SNAPSHOT}")
    files.write_bytes(f"{DIRECTORY}/{SNAPSHOT}", whole[:-20])
    (finding,) = load(files).findings
    assert finding.startswith(f"{DIRECTORY}/{SNAPSHOT} is damaged at byte ")


def test_damaged_newest_snapshot_falls_back_to_an_older_one_and_the_log_behind_it() -> None:
    """The older one, and the log from there on, have all that the newer one stood for."""
    whole = kafka_directory()
    files = kafka_directory()
    files.write_bytes(f"{DIRECTORY}/{50:020d}-{1:010d}.checkpoint", b"junk")
    log = files.read_bytes(LOG)
    cut, base = next((at, h.base_offset) for at, h in iter_batches(memoryview(log)) if h.base_offset >= 30)
    files.unlink(LOG)
    files.write_bytes(f"{DIRECTORY}/{base:020d}.log", log[cut:])
    loaded = load(files)
    assert loaded.image == load(whole).image
    assert len(loaded.findings) == 1


@pytest.mark.parametrize("older", [True, False])
def test_damaged_newest_snapshot_that_stands_alone_for_the_log_is_refused(older: bool) -> None:
    """Topics would be forgotten: the sentence names the file, the place in it, and what helps."""
    files = kafka_directory(snapshot=older)
    files.unlink(LOG)
    newest = f"{90:020d}-{1:010d}.checkpoint"
    files.write_bytes(f"{DIRECTORY}/{newest}", (DATA / SNAPSHOT).read_bytes()[:-9])
    reason = rf"{newest} is damaged at byte \d+.*Restore the file from a copy"
    with pytest.raises(CorruptMetadataError, match=reason):
        load(files)
    files.write_bytes(f"{DIRECTORY}/{95:020d}.log", batch(95, NO_OP))
    with pytest.raises(CorruptMetadataError, match=reason):
        load(files)


def test_snapshot_that_contradicts_itself_is_damaged() -> None:
    """Its checksums are right; what it says cannot be."""
    files = kafka_directory()
    records = values_of(*topic_records("t", A), *topic_records("t", A))
    files.write_bytes(f"{DIRECTORY}/{50:020d}-{1:010d}.checkpoint", batch(0, *records))
    loaded = load(files)
    assert loaded.image == load(kafka_directory()).image
    assert "byte 0" in loaded.findings[0]


def test_record_that_cannot_be_read_is_told_with_its_place() -> None:
    """File, byte, offset, and what helps; also where the record is of a newer Kafka."""
    first = batch(0, NO_OP)
    files = log_of(first, batch(1, *values_of(RemoveTopicRecord(topic_id=A))))
    with pytest.raises(CorruptMetadataError, match=rf"{LOG} cannot be read at byte {len(first)}: .*Restore the file"):
        load(files)
    files = log_of(first, batch(1, bytes.fromhex("01 63 00 00")))
    with pytest.raises(UnsupportedMetadataError, match=rf"{LOG}, byte {len(first)}: .*offset 1 has type 99"):
        load(files)


def test_gap_between_snapshot_and_log_is_corrupt() -> None:
    """What stood in the gap cannot be known."""
    with pytest.raises(CorruptMetadataError, match="begins at offset 40"):
        load(log_of(batch(40, NO_OP), base=40))


def test_snapshot_that_is_still_being_written_is_ignored() -> None:
    """Kafka writes under `.part` and renames."""
    files = log_of(batch(0, *values_of(*topic_records("t", A))))
    files.write_bytes(f"{DIRECTORY}/{9:020d}-{1:010d}.checkpoint.part", b"half")
    files.write_bytes(f"{DIRECTORY}/{9:020d}-{1:010d}.checkpoint.deleted", b"old")
    assert list(load(files).image.topics_by_name) == ["t"]


def test_empty_records_are_stepped_over() -> None:
    """A day of an idle Kafka is 172,800 of them; offset and epoch count all the same."""
    files = log_of(
        batch(0, NO_OP), batch(1, NO_OP, epoch=5), batch(2, NO_OP, *values_of(*topic_records("t", A)), epoch=6)
    )
    loaded = load(files)
    assert (loaded.image.offset, loaded.epoch, list(loaded.image.topics_by_name)) == (5, 6, ["t"])


def test_segments_follow_each_other() -> None:
    """The next begins where the last ended; otherwise a file is missing."""
    files = log_of(batch(0, *values_of(*topic_records("t", A))))
    files.write_bytes(f"{DIRECTORY}/{2:020d}.log", batch(2, *values_of(*topic_records("u", B))))
    assert len(load(files).image.topics_by_name) == 2
    files.rename(f"{DIRECTORY}/{2:020d}.log", f"{DIRECTORY}/{4:020d}.log")
    with pytest.raises(CorruptMetadataError, match="begins at offset 4, the one before it ends at 2"):
        load(files)


@pytest.mark.parametrize("second", [batch(3, NO_OP), batch(3, *values_of(*topic_records("t", A)))])
def test_batches_follow_each_other(second: bytes) -> None:
    """An offset is not covered by a checksum, so a wrong one shows only by its neighbours."""
    with pytest.raises(CorruptMetadataError, match="at offset 3 where 1 is expected"):
        load(log_of(batch(0, NO_OP), second))


def test_transaction_spans_batches() -> None:
    """It takes effect at its end; one that was aborted or is still open has not happened."""
    first, second = (
        values_of(BeginTransactionRecord(), TopicRecord(name="t", topic_id=A)),
        values_of(EndTransactionRecord()),
    )
    files = log_of(batch(0, *first), batch(2, *second))
    assert list(load(files).image.topics_by_name) == ["t"]
    assert not load(log_of(batch(0, *first))).image.topics_by_name
    assert not load(log_of(batch(0, *first), batch(2, *values_of(AbortTransactionRecord())))).image.topics_by_name


@pytest.mark.parametrize("kept", [1, 12, 40, 61, 70])
def test_torn_write_at_the_end_has_not_happened(kept: int) -> None:
    """A crash cuts the last batch short anywhere."""
    first, second = (batch(i * 2, *values_of(*topic_records(n, t))) for i, n, t in ((0, "t", A), (1, "u", B)))
    loaded = load(log_of(first, second[:kept]))
    assert (list(loaded.image.topics_by_name), loaded.image.offset) == (["t"], 2)


def test_zeros_behind_the_log_are_a_torn_write() -> None:
    """A file system may give the space before the data."""
    assert load(log_of(batch(0, NO_OP), bytes(4096))).image.offset == 1


def test_bad_batch_at_the_end_is_a_torn_write_but_before_another_one_it_is_damage() -> None:
    """What follows a bad batch was acknowledged, and must not be cut off silently."""
    first, second = (batch(i * 2, *values_of(*topic_records(n, t))) for i, n, t in ((0, "t", A), (1, "u", B)))
    bad = second[:-3] + b"\xff" + second[-2:]
    assert load(log_of(first, bad)).image.offset == 2
    with pytest.raises(CorruptMetadataError, match=f"damaged at byte {len(first)}"):
        load(log_of(first, bad, batch(4, NO_OP)))


def test_bad_batch_in_an_older_segment_is_damage() -> None:
    """Only the last segment can have a torn end."""
    files = log_of(batch(0, *values_of(*topic_records("t", A)))[:-1])
    files.write_bytes(f"{DIRECTORY}/{2:020d}.log", batch(2, NO_OP))
    with pytest.raises(CorruptMetadataError, match="damaged at byte 0"):
        load(files)


def test_batch_larger_than_a_read_is_read_whole() -> None:
    """A change of many partitions may be megabytes."""
    loaded = load(log_of(batch(0, *values_of(*topic_records("t", A, 30_000)))))
    assert len(loaded.image.topics_by_name["t"].partitions) == 30_000


def test_epoch_is_the_largest_that_anybody_knows() -> None:
    """The file quorum-state may be ahead of the log: an epoch without a record."""
    files = kafka_directory()
    files.write_bytes(f"{DIRECTORY}/quorum-state", b'{"leaderId":1,"leaderEpoch":9,"votedId":-1,"data_version":0}')
    assert load(files).epoch == 9


BAD_STATES = [b"", b"{}", b'{"leaderEpoch":"x"}', b'{"leaderEpoch":-3}', b"[1]", b"[" * 100_000]


@pytest.mark.parametrize("content", BAD_STATES, ids=range(len(BAD_STATES)))
def test_quorum_state_that_cannot_be_read_is_corrupt(content: bytes) -> None:
    """An epoch that is too low would make Kafka drop what we write."""
    files = kafka_directory()
    files.write_bytes(f"{DIRECTORY}/quorum-state", content)
    with pytest.raises(CorruptMetadataError, match="quorum"):
        load(files)
