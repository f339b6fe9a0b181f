"""Writing snapshots."""

import errno
from uuid import UUID

import pytest

from odradek.broker.metadata.export import image_records
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.loading import load_metadata
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.metadata.snapshots import SnapshotName, list_snapshots
from odradek.config.topic import kafka_defaults
from odradek.protocol.codec import encode
from odradek.protocol.messages.control_records import KRaftVersionRecord, VotersRecord, VotersRecordVoter
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.control import ControlType, build_control_batch
from odradek.protocol.records.record import iter_records
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DATA, DIRECTORY, SNAPSHOT, kafka_directory, topic_records
from tests.unit.broker.metadata.test_opening import new_directory, propose

LOG = f"{DIRECTORY}/{0:020d}.log"


def open_log(files: MemoryFiles, limit: int, max_ms: int = 0, clock: ManualClock | None = None) -> MetadataLog:
    """Open the log with a limit of bytes between snapshots, and perhaps of time."""
    options = MetadataOptions(node_id=1, topic_config=kafka_defaults(), snapshots=SnapshotSchedule(limit, max_ms))
    return open_metadata_log(files, "/data", options, clock or ManualClock())


def upkeep(log: MetadataLog) -> None:
    """Do what the log asks for now and then."""
    work = log.upkeep()
    if work is not None:
        work()


def test_image_of_apache_kafka_is_exported_and_read_again_the_same() -> None:
    """Brokers, controllers, users, ACLs and quotas included."""
    image = load_metadata(kafka_directory(), DIRECTORY).image
    again, _ = apply(MetadataImage(), image_records(image, 1), image.offset, image.epoch)
    assert again == image


def test_first_record_is_the_metadata_version() -> None:
    """Kafka reads what follows by it."""
    image = load_metadata(kafka_directory(), DIRECTORY).image
    first = next(image_records(image, 1)).message
    assert first == FeatureLevelRecord(name="metadata.version", feature_level=30)


def test_records_of_a_snapshot_are_those_that_kafka_writes() -> None:
    """The same image at the same offset gives the same records; their order within a kind is free."""
    kafkas = (DATA / SNAPSHOT).read_bytes()
    files = kafka_directory()
    files.unlink(LOG)
    image = load_metadata(files, DIRECTORY).image
    values = [
        record.value
        for at, header in iter_batches(memoryview(kafkas))
        if not header.is_control
        for record in iter_records(kafkas[at : at + header.size])
    ]
    assert len(values) == len(list(image_records(image, 1)))
    ours = {record.value for record in image_records(image, 1)}
    assert {value for value in values if value and value[1] != 0} <= ours  # a registration lists features in any order


def test_snapshot_is_written_when_the_log_has_grown_enough_and_no_sooner() -> None:
    """Named by the offset and epoch that it stands for; nothing is left under another name."""
    files = new_directory()
    log = open_log(files, 2_000)
    propose(log, *topic_records("a", UUID(int=1)))
    assert list_snapshots(files, DIRECTORY) == []
    propose(log, *topic_records("b", UUID(int=2), 30))
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(log.end_offset, 1)]
    propose(log, *topic_records("c", UUID(int=3)))
    assert len(list_snapshots(files, DIRECTORY)) == 1
    assert not [name for name in files.listdir(DIRECTORY) if name.endswith(".part")]


def test_snapshot_stands_for_the_log_before_it() -> None:
    """Without the log the same image is there, and goes on."""
    files = new_directory()
    log = open_log(files, 1)
    propose(log, *topic_records("a", UUID(int=1), 3))
    image = log.image
    log.close()
    files.unlink(LOG)
    again = open_log(files, 1 << 20)
    assert again.image == image
    propose(again, *topic_records("b", UUID(int=2)))
    assert list(load_metadata(files, DIRECTORY).image.topics_by_name) == ["a", "b"]


def test_large_image_is_several_batches() -> None:
    """Kafka reads batches of up to 8 MiB."""
    files = new_directory()
    log = open_log(files, 1)
    propose(log, *topic_records("a", UUID(int=1), 9_000))
    snapshot = files.read_bytes(f"{DIRECTORY}/{list_snapshots(files, DIRECTORY)[0]}")
    headers = [header for _, header in iter_batches(memoryview(snapshot))]
    assert [header.records_count for header in headers] == [1, 5_000, 4_006, 1]
    assert [header.base_offset for header in headers] == [0, 1, 5_001, 9_007]
    files.unlink(LOG)
    assert load_metadata(files, DIRECTORY).image._replace(epoch=0) == log.image._replace(epoch=0)


def test_bytes_that_were_read_at_start_count() -> None:
    """A log that Kafka let grow is soon snapshotted."""
    files = kafka_directory(snapshot=False)
    open_log(files, 5_000)
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(76, 1)]
    files = kafka_directory()
    open_log(files, 5_000)
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(37, 1)]


def test_voters_that_the_log_keeps_are_carried_on() -> None:
    """A dynamic quorum (KIP-853) has them nowhere else."""
    files = new_directory()
    files.mkdir(DIRECTORY)
    version = encode(KRaftVersionRecord(kraft_version=1), 0)
    voters = encode(VotersRecord(voters=[VotersRecordVoter(voter_id=1)]), 0)
    notes = [(ControlType.KRAFT_VERSION, version), (ControlType.KRAFT_VOTERS, voters)]
    files.write_bytes(LOG, build_control_batch(notes, 5, 0, 1))
    log = open_log(files, 1)
    propose(log, *topic_records("a", UUID(int=1)))
    files.unlink(LOG)
    assert load_metadata(files, DIRECTORY).quorum.notes == notes


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename"])
def test_snapshot_that_cannot_be_written_is_no_harm(operation: str) -> None:
    """The change counts, the next start reads the log, and the next snapshot is tried later."""
    files = new_directory()
    log = open_log(files, 1_500)
    files.fail(operation, errno.ENOSPC, path_part=".checkpoint")
    propose(log, *topic_records("a", UUID(int=1), 30))
    assert list_snapshots(files, DIRECTORY) == []
    assert list(load_metadata(files, DIRECTORY).image.topics_by_name) == ["a"]
    propose(log, *topic_records("b", UUID(int=2), 30))
    assert len(list_snapshots(files, DIRECTORY)) == 1


def test_snapshot_is_written_some_time_after_a_change() -> None:
    """Once metadata.log.max.snapshot.interval.ms have passed, for whatever has changed, and only then."""
    files, clock = new_directory(), ManualClock()
    log = open_log(files, 1 << 20, 3_600_000, clock)
    propose(log, *topic_records("a", UUID(int=1)))
    clock.advance(3599)
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == []
    clock.advance(1)
    upkeep(log)
    first = SnapshotName(log.end_offset, 1)
    assert list_snapshots(files, DIRECTORY) == [first]
    clock.advance(7200)
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == [first]
    propose(log, *topic_records("b", UUID(int=2)))
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(log.end_offset, 1), first]


def test_interval_of_zero_is_never() -> None:
    """Then only bytes count."""
    files, clock = new_directory(), ManualClock()
    log = open_log(files, 1 << 20, 0, clock)
    propose(log, *topic_records("a", UUID(int=1)))
    clock.advance(1 << 30)
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == []


def test_what_was_behind_at_the_start_needs_no_change() -> None:
    """A log that Kafka left long is snapshotted in its time, or at the first look if it is over the limit."""
    files, clock = kafka_directory(snapshot=False), ManualClock()
    log = open_log(files, 1 << 20, 1000, clock)
    clock.advance(1)
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(log.end_offset, log.image.epoch)]


def test_snapshot_of_a_time_that_failed_is_tried_again() -> None:
    """After another interval, even if nothing changes any more."""
    files, clock = new_directory(), ManualClock()
    log = open_log(files, 1 << 20, 1000, clock)
    propose(log, *topic_records("a", UUID(int=1)))
    files.fail("write", errno.ENOSPC, path_part=".checkpoint")
    for expected in (0, 1):
        clock.advance(1)
        upkeep(log)
        assert len(list_snapshots(files, DIRECTORY)) == expected
