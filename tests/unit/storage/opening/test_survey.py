"""What the files of a partition tell to somebody who does not know it."""

from uuid import UUID

import pytest

from odradek.protocol.records.legacy_building import build_message
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptFile
from odradek.storage.names import TopicPartition
from odradek.storage.opening.survey import PartitionSurvey, segment_paths, survey_partition
from odradek.storage.producers.producer_entry import ProducerEntry
from odradek.storage.producers.producer_snapshot import encode_snapshot
from tests.support.kafka_directories import Kept, make_log, make_zookeeper_directory
from tests.support.memory_files import MemoryFiles

ID = UUID(int=0xA5)
PATH = "/d/t-0"


def directory(kept: Kept) -> MemoryFiles:
    """Return files with one partition."""
    fs = MemoryFiles()
    make_zookeeper_directory(fs, "/d", {TopicPartition("t", 0): kept})
    return fs


def snapshot_of(producer_id: int) -> bytes:
    """Return a producer snapshot that remembers one producer."""
    entry = ProducerEntry()
    entry.add_batch(0, 0, 0, 1)
    return encode_snapshot({producer_id: entry})


def test_everything_is_found_and_nothing_is_changed() -> None:
    """Topic id, the largest leader epoch of checkpoint and batches, the largest producer id."""
    log = make_log(b"a", producer_id=7, epoch=4) + make_log(b"b", epoch=6, first_offset=1)
    fs = directory(Kept(log, ID, [(2, 0), (4, 1)]))
    operations = fs.operations
    assert survey_partition(fs, PATH) == PartitionSurvey(ID, 6, 7)
    assert fs.operations == operations


def test_old_directories_say_less() -> None:
    """Before Kafka 0.11 there are no epochs and producers, before 2.8 no topic ids; an empty log says nothing."""
    message = build_message(Record(0, 5, b"k", b"v"), 1)
    assert survey_partition(directory(Kept(message)), PATH) == PartitionSurvey()
    assert survey_partition(directory(Kept(b"")), PATH) == PartitionSurvey()


@pytest.mark.parametrize("in_snapshot", [3, 3000])
def test_producers_are_those_of_the_newest_snapshot_and_of_the_batches_behind_it(in_snapshot: int) -> None:
    """The segment that the snapshot is in, and those after it, are looked at."""
    second = make_log(b"b", producer_id=40, first_offset=1)
    third = make_log(b"c", producer_id=30, first_offset=2)
    more = {f"{1:020d}.log": second, f"{1:020d}.snapshot": snapshot_of(in_snapshot), f"{2:020d}.log": third}
    fs = directory(Kept(make_log(b"a", producer_id=9999), more=more))
    assert survey_partition(fs, PATH).producer_id == max(in_snapshot, 40)
    assert segment_paths(fs, PATH) == [f"{PATH}/{base:020d}.log" for base in range(3)]


def test_damage_is_left_to_whoever_opens_the_log() -> None:
    """A checkpoint, a snapshot or a batch that cannot be read hides what it says, and no more."""
    log = make_log(b"a", producer_id=5, epoch=3) + b"\xff" * 100
    more = {"leader-epoch-checkpoint": b"junk", f"{0:020d}.snapshot": b"junk"}
    assert survey_partition(directory(Kept(log, ID, more=more)), PATH) == PartitionSurvey(ID, 3, 5)


def test_topic_id_that_cannot_be_read_is_an_error() -> None:
    """Guessing would tie the data to another topic."""
    with pytest.raises(CorruptFile, match=r"partition\.metadata"):
        survey_partition(directory(Kept(b"", more={"partition.metadata": b"junk"})), PATH)
