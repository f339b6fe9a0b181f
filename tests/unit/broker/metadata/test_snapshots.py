"""Snapshot files."""

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.snapshots import BOOTSTRAP_FILE, SnapshotName, list_snapshots, load_bootstrap, load_newest
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DATA, DIRECTORY, SNAPSHOT, kafka_directory


def test_snapshots_are_listed_newest_first_and_nothing_else_is() -> None:
    """Parts, deleted ones and other files are not snapshots."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    for name in (
        f"{5:020d}-{3:010d}.checkpoint",
        f"{40:020d}-{1:010d}.checkpoint",
        f"{5:020d}-{4:010d}.checkpoint",
        f"{90:020d}-{4:010d}.checkpoint.part",
        f"{91:020d}-{4:010d}.checkpoint.deleted",
        "leader-epoch-checkpoint",
        f"{7}-{4}.checkpoint",
    ):
        files.write_bytes(f"{DIRECTORY}/{name}", b"")
    assert list_snapshots(files, DIRECTORY) == [SnapshotName(40, 1), SnapshotName(5, 4), SnapshotName(5, 3)]
    assert str(SnapshotName(37, 1)) == SNAPSHOT


def test_snapshot_of_apache_kafka_is_an_image_at_its_offset() -> None:
    """Offset and epoch are those of the name: batches in a snapshot have offsets of their own."""
    image = load_newest(kafka_directory(), DIRECTORY).image
    assert (image.offset, image.epoch) == (37, 1)
    assert "ka-plain" in image.topics_by_name


def test_no_snapshot_is_an_empty_image() -> None:
    """The log alone is enough."""
    assert load_newest(kafka_directory(snapshot=False), DIRECTORY).image.offset == 0


def test_bootstrap_file_of_apache_kafka_gives_its_records() -> None:
    """`kafka-storage.sh format` leaves them for the first start."""
    files = MemoryFiles()
    files.mkdir("/data")
    assert load_bootstrap(files, "/data") is None
    content = (DATA / BOOTSTRAP_FILE).read_bytes()
    files.write_bytes(f"/data/{BOOTSTRAP_FILE}", content)
    records = load_bootstrap(files, "/data") or []
    assert FeatureLevelRecord(name="metadata.version", feature_level=30) in [record.message for record in records]
    files.write_bytes(f"/data/{BOOTSTRAP_FILE}", content[:-30])
    with pytest.raises(CorruptMetadataError, match=BOOTSTRAP_FILE):
        load_bootstrap(files, "/data")
