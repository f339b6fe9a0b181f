"""What a file is by its name."""

import pytest

from odradek.logs.kinds import Contents, LogFileKind, contents_of, kind_of, snapshot_end_of

NAMES = {
    "00000000000000000000.log": LogFileKind.LOG,
    "00000000000000368769.index": LogFileKind.OFFSET_INDEX,
    "00000000000000368769.timeindex": LogFileKind.TIME_INDEX,
    "00000000000000368769.txnindex": LogFileKind.TRANSACTION_INDEX,
    "00000000000000368769.snapshot": LogFileKind.PRODUCER_SNAPSHOT,
    "00000000000000368769.log.deleted": LogFileKind.LOG,
    "00000000000000368769.index.swap": LogFileKind.OFFSET_INDEX,
    "00000000000000000012-0000000003.checkpoint": LogFileKind.METADATA_SNAPSHOT,
    "bootstrap.checkpoint": LogFileKind.METADATA_SNAPSHOT,
    "recovery-point-offset-checkpoint": LogFileKind.OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": LogFileKind.OFFSET_CHECKPOINT,
    "replication-offset-checkpoint": LogFileKind.OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": LogFileKind.OFFSET_CHECKPOINT,
    "leader-epoch-checkpoint": LogFileKind.LEADER_EPOCHS,
    "partition.metadata": LogFileKind.PARTITION_METADATA,
    "meta.properties": LogFileKind.META_PROPERTIES,
    "quorum-state": LogFileKind.QUORUM_STATE,
    ".kafka_cleanshutdown": LogFileKind.CLEAN_SHUTDOWN,
    "notes.txt": None,
    "1.checkpoint": None,
    "x.log": None,
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_every_file_of_kafka_is_told_by_its_name(name: str, kind: LogFileKind | None) -> None:
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
