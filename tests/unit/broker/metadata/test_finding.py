"""Log directories and metadata that belong together, that do not, and partitions that nothing describes."""

from collections.abc import Sequence
from itertools import count
from uuid import UUID

import pytest

from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.finding import (
    check_metadata_is_there,
    check_same_origin,
    compacted_topics,
    is_undescribed,
    survey_directories,
)
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, find_metadata, open_metadata_log
from odradek.config.topic import kafka_defaults
from odradek.protocol.records.building import build_batch, make_records
from odradek.storage.directories.log_dirs import LogDirectory, find_log_directories, identify_log_directories
from odradek.storage.files import FileSystem
from odradek.storage.names import TopicPartition
from odradek.storage.opening.survey import PartitionSurvey
from tests.support.clock import ManualClock
from tests.support.kafka_directories import (
    Kept,
    make_identity,
    make_kraft_directory,
    make_log,
    make_zookeeper_directory,
)
from tests.support.memory_files import MemoryFiles, SimulatedCrash
from tests.unit.broker.metadata.support import image_of, topic_records

ID = UUID(int=0xA)
T0 = TopicPartition("t", 0)
METADATA = "/a/__cluster_metadata-0"
NEW_IDS = count(1 << 100)


def found_in(fs: FileSystem, *paths: str, node_id: int = 0) -> list[LogDirectory]:
    """Look at log directories as a start does."""
    return find_log_directories(fs, paths, node_id, lambda: UUID(int=next(NEW_IDS)))


def zookeeper_directory(**more: Kept) -> MemoryFiles:
    """Return files with a directory /a of ZooKeeper's times that has partition 0 of topic t."""
    fs = MemoryFiles()
    partitions = {TopicPartition(name, 0): kept for name, kept in more.items()}
    make_zookeeper_directory(fs, "/a", {T0: Kept(make_log(b"x", producer_id=4, epoch=2), ID), **partitions})
    return fs


def open_with(fs: MemoryFiles, directories: Sequence[LogDirectory]) -> MetadataLog:
    """Open the metadata in /a with what stands in the directories."""
    options = MetadataOptions(0, kafka_defaults())
    found = find_metadata(fs, "/a", options, directories, draw_id=lambda: UUID(int=0xE))
    return open_metadata_log(fs, "/a", options, ManualClock(), found)


def test_partitions_are_surveyed_with_the_producers_of_transactions() -> None:
    """A transactional id holds on to its producer id longer than any partition remembers it."""
    values = [b"\0\0" + number.to_bytes(8, "big") + b"rest" for number in (70, 50)]
    state = build_batch(make_records([(b"id", value) for value in (*values, None, b"short")], 1))
    fs = zookeeper_directory(__transaction_state=Kept(bytes(state)))
    assert survey_directories(fs, found_in(fs, "/a")) == {
        T0: PartitionSurvey(ID, 2, 4),
        TopicPartition("__transaction_state", 0): PartitionSurvey(None, -1, 70),
    }


def test_topics_that_kafka_compacted_are_known_from_its_checkpoint() -> None:
    """All that is left of their configs; a damaged one says nothing."""
    fs = zookeeper_directory()
    assert compacted_topics(fs, found_in(fs, "/a")) == []
    for content, expected in ((b"0\n2\nt 0 7\nt 1 7\n", ["t"]), (b"junk", [])):
        fs = zookeeper_directory()
        fs.write_bytes("/a/cleaner-offset-checkpoint", content)
        assert compacted_topics(fs, found_in(fs, "/a")) == expected


def test_partitions_are_undescribed_in_directories_of_zookeepers_times_or_without_identity() -> None:
    """A directory of today's says that there is metadata somewhere."""
    fs = zookeeper_directory()
    assert is_undescribed(found_in(fs, "/a"))
    fs = zookeeper_directory()
    fs.unlink("/a/meta.properties")
    assert is_undescribed(found_in(fs, "/a"))
    fs = zookeeper_directory()
    make_identity(fs, "/a", version=1, node_id=0)
    assert not is_undescribed(found_in(fs, "/a"))
    assert not is_undescribed([])


def test_start_on_a_directory_of_zookeepers_times_writes_its_metadata() -> None:
    """One batch after the leader's: a crash leaves all of it, or nothing."""
    fs = zookeeper_directory()
    metadata = open_with(fs, found_in(fs, "/a"))
    assert metadata.image.topics_by_name["t"].topic_id == ID
    assert metadata.image.next_producer_id == 2000
    after = fs.crash()
    assert open_with(after, found_in(after, "/a")).image == metadata.image


def test_taking_over_goes_on_after_a_crash_at_any_step() -> None:
    """Metadata, identity of one directory and of the other: whatever the crash has left, the next start is no refusal
    and ends with the same topics, and the directories say whose they are."""
    step = 0
    while True:
        fs = zookeeper_directory()
        make_zookeeper_directory(fs, "/b", {TopicPartition("t", 1): Kept(make_log(b"y"))})
        fs.crash_at = fs.operations + step
        try:
            start_on_both(fs)
        except SimulatedCrash:
            after = fs.crash()
            image = start_on_both(after).image
            assert [each.leader for each in image.topics_by_name["t"].partitions] == [0, 0]
            assert image.topics_by_name["t"].topic_id == ID
            assert [each.found and each.found.version for each in found_in(after.crash(), "/a", "/b")] == [1, 1]
            step += 1
        else:
            break
    assert step > 15


def start_on_both(fs: MemoryFiles) -> MetadataLog:
    """Take /a and /b over, as a start does."""
    directories = found_in(fs, "/a", "/b")
    metadata = open_with(fs, directories)
    identify_log_directories(fs, directories)
    return metadata


def test_a_directory_of_zookeepers_times_beside_other_metadata_is_refused() -> None:
    """Its partitions would be strays there. Where they are known, a start that took them over was cut short."""
    fs = zookeeper_directory()
    directories = found_in(fs, "/a")
    check_same_origin(fs, directories, image_of(topic_records("t", ID)))
    for image in (image_of(topic_records("t", UUID(int=0xB))), image_of(topic_records("u", ID)), MetadataImage()):
        with pytest.raises(UnsupportedMetadataError, match=r"/a is of a Kafka with ZooKeeper.*t-0 is not in the"):
            check_same_origin(fs, directories, image)
    make_kraft_directory(fs, "/b", node_id=0)
    check_same_origin(fs, found_in(fs.crash(), "/b"), MetadataImage())


def test_partitions_whose_metadata_is_missing_are_refused() -> None:
    """A disk was not mounted, or metadata.log.dir is wrong: beginning anew would make strays of all partitions."""
    fs = zookeeper_directory()
    make_identity(fs, "/a", version=1, node_id=0)
    directories = found_in(fs, "/a")
    with pytest.raises(UnsupportedMetadataError, match=rf"t-0 is one of 1\).*should be a log in {METADATA}"):
        check_metadata_is_there(directories, METADATA, MetadataImage())
    check_metadata_is_there(directories, METADATA, image_of(topic_records("t", ID)))
    check_metadata_is_there(directories, METADATA, image_of(topic_records("u", ID)))


def test_tiered_storage_of_zookeepers_times_is_refused() -> None:
    """The cache of its indexes is there, and what topics it concerns is not known."""
    fs = zookeeper_directory()
    fs.mkdir("/a/remote-log-index-cache")
    operations = fs.operations
    with pytest.raises(UnsupportedMetadataError, match="tiered storage"):
        open_with(fs, found_in(fs, "/a"))
    assert fs.operations <= operations + 1  # the lock
