"""What a file is by its name."""

import pytest

from odradek.logs.kinds import Contents, Kind, contents_of, kind_of, snapshot_end_of

NAMES = {
    "00000000000000000000.log": Kind.LOG,
    "00000000000000368769.index": Kind.OFFSET_INDEX,
    "00000000000000368769.timeindex": Kind.TIME_INDEX,
    "00000000000000368769.txnindex": Kind.TRANSACTION_INDEX,
    "00000000000000368769.snapshot": Kind.PRODUCER_SNAPSHOT,
    "00000000000000368769.log.deleted": Kind.LOG,
    "00000000000000368769.index.swap": Kind.OFFSET_INDEX,
    "00000000000000000012-0000000003.checkpoint": Kind.METADATA_SNAPSHOT,
    "bootstrap.checkpoint": Kind.METADATA_SNAPSHOT,
    "recovery-point-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "replication-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "leader-epoch-checkpoint": Kind.LEADER_EPOCHS,
    "partition.metadata": Kind.PARTITION_METADATA,
    "meta.properties": Kind.META_PROPERTIES,
    "quorum-state": Kind.QUORUM_STATE,
    ".kafka_cleanshutdown": Kind.CLEAN_SHUTDOWN,
    "notes.txt": None,
    "1.checkpoint": None,
    "x.log": None,
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_every_file_of_kafka_is_told_by_its_name(name: str, kind: Kind | None) -> None:
    """A name stands for one kind, whatever state the file is in."""
    assert kind_of(name) is kind


def test_contents_follow_from_the_directory() -> None:
    """Records are decoded as what the topic of the directory holds."""
    assert contents_of("/data/__consumer_offsets-12/00000000000000000000.log") is Contents.OFFSETS
    assert contents_of("/data/__cluster_metadata-0/00000000000000000000.log") is Contents.METADATA
    assert contents_of("/data/lines-0/00000000000000000000.log") is Contents.PLAIN
    assert contents_of("bootstrap.checkpoint") is Contents.METADATA


def test_the_name_of_a_metadata_snapshot_says_where_it_ends() -> None:
    """End offset and epoch; bootstrap.checkpoint has neither."""
    assert snapshot_end_of("00000000000000000012-0000000003.checkpoint") == (12, 3)
    assert snapshot_end_of("bootstrap.checkpoint") is None
