"""Old snapshots of the metadata, and the log before them, go; the newest never does."""

from dataclasses import replace
from uuid import UUID

import pytest

from odradek.broker.metadata.cleaning import MetadataRetention, why_oldest_goes
from odradek.broker.metadata.loading import load_metadata
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.metadata.snapshots import list_snapshots, read_timestamp
from odradek.config.topic import kafka_defaults
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles, SimulatedCrash
from tests.unit.broker.metadata.support import DIRECTORY, kafka_directory, topic_records
from tests.unit.broker.metadata.test_opening import new_directory, propose

NO_LIMITS = MetadataRetention(-1, -1)
DAY_S = 24 * 3600


def open_log(files: MemoryFiles, limits: MetadataRetention, clock: ManualClock) -> MetadataLog:
    """Open the log with tiny segments and a snapshot after each change."""
    config = replace(kafka_defaults(), segment_bytes=400)
    options = MetadataOptions(node_id=1, topic_config=config, snapshots=SnapshotSchedule(1, 0), limits=limits)
    return open_metadata_log(files, "/data", options, clock)


def filled(limits: MetadataRetention, changes: int = 6) -> tuple[MemoryFiles, MetadataLog, ManualClock]:
    """Return a log with a topic a day."""
    files, clock = new_directory(), ManualClock()
    log = open_log(files, limits, clock)
    for number in range(changes):
        propose(log, *topic_records(f"t{number}", UUID(int=number + 1)))
        clock.advance(DAY_S)
    return files, log, clock


def upkeep(log: MetadataLog) -> None:
    work = log.upkeep()
    if work is not None:
        work()


def names(files: MemoryFiles, suffix: str) -> list[str]:
    return sorted(name for name in files.listdir(DIRECTORY) if name.endswith(suffix))


def used(files: MemoryFiles) -> int:
    """Bytes of the log and of all snapshots."""
    return sum(files.size(f"{DIRECTORY}/{name}") for suffix in (".log", ".checkpoint") for name in names(files, suffix))


def test_without_limits_everything_stays() -> None:
    """-1 is no limit."""
    files, log, _ = filled(NO_LIMITS)
    before = names(files, "")
    upkeep(log)
    assert names(files, "") == before


def test_oldest_snapshots_go_by_age() -> None:
    """Those whose last record is older than metadata.max.retention.ms; the log begins where the next one ends."""
    files, log, _ = filled(MetadataRetention(-1, 3 * DAY_S * 1000 + 5000))
    kept = list_snapshots(files, DIRECTORY)[:3]
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == kept
    assert len(names(files, ".checkpoint.deleted")) > 0
    assert min(int(name[:20]) for name in names(files, ".log")) <= kept[-1].end_offset
    assert len(names(files, ".log.deleted")) > 0


def test_oldest_snapshots_go_by_size() -> None:
    """While log and snapshots together are larger than metadata.max.retention.bytes."""
    files, log, _ = filled(NO_LIMITS)
    size = used(files)
    files, log, _ = filled(MetadataRetention(size * 2 // 3, -1))
    upkeep(log)
    assert len(list_snapshots(files, DIRECTORY)) > 1
    assert used(files) <= size * 2 // 3


@pytest.mark.parametrize("limits", [MetadataRetention(0, -1), MetadataRetention(-1, 0), MetadataRetention(0, 0)])
def test_newest_snapshot_never_goes(limits: MetadataRetention) -> None:
    """Whatever the limits, the metadata is whole, and the next start finds all of it."""
    files, log, clock = filled(limits)
    clock.advance(1000 * DAY_S)
    newest = list_snapshots(files, DIRECTORY)[0]
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == [newest]
    propose(log, *topic_records("last", UUID(int=99)))
    image = log.image
    log.close()
    assert load_metadata(files, DIRECTORY).image == image
    again = open_log(files, NO_LIMITS, clock)
    assert again.image.topics_by_name.keys() == image.topics_by_name.keys()


def test_renamed_files_are_removed_a_minute_later() -> None:
    """As all files that go."""
    files, log, clock = filled(MetadataRetention(0, -1))
    upkeep(log)
    upkeep(log)
    assert names(files, ".deleted")
    clock.advance(60)
    upkeep(log)
    assert not names(files, ".deleted")


def test_start_removes_what_a_stop_left_half_done() -> None:
    """Parts of snapshots, renamed ones, and those from before the start of the log."""
    files, log, clock = filled(MetadataRetention(0, -1))
    old = list_snapshots(files, DIRECTORY)[-1]
    content = files.read_bytes(f"{DIRECTORY}/{old}")
    upkeep(log)
    log.close()
    files.write_bytes(f"{DIRECTORY}/{old}", content)
    files.write_bytes(f"{DIRECTORY}/{99:020d}-{1:010d}.checkpoint.part", b"x")
    open_log(files, NO_LIMITS, clock)
    assert names(files, ".deleted") == names(files, ".part") == []
    assert old not in list_snapshots(files, DIRECTORY)


def test_crash_in_any_operation_loses_nothing() -> None:
    """Of the metadata that was acknowledged, whenever the power fails during the upkeep."""
    crash_at = 0
    while True:
        files, log, _ = filled(MetadataRetention(0, -1))
        image = log.image
        files.crash_at = files.operations + crash_at
        try:
            upkeep(log)
        except SimulatedCrash:
            survivor = files.crash()
        else:
            break
        assert load_metadata(survivor, DIRECTORY).image == image
        again = open_log(survivor, NO_LIMITS, ManualClock())
        assert again.image.topics_by_name == image.topics_by_name
        crash_at += 1
    assert crash_at > 10


@pytest.mark.parametrize("damage", [slice(0, -1), slice(0, -100), slice(0, 0), slice(61, None)])
def test_nothing_goes_for_a_damaged_snapshot(damage: slice) -> None:
    """The older one and the log from there on are all that the metadata can be read from."""
    files, log, clock = filled(MetadataRetention(0, -1), 2)
    newest, oldest = list_snapshots(files, DIRECTORY)[:2]
    for name in list_snapshots(files, DIRECTORY)[2:]:
        files.unlink(f"{DIRECTORY}/{name}")
    files.write_bytes(f"{DIRECTORY}/{newest}", files.read_bytes(f"{DIRECTORY}/{newest}")[damage])
    upkeep(log)
    assert list_snapshots(files, DIRECTORY) == [newest, oldest]
    log.close()
    assert open_log(files, NO_LIMITS, clock).image.topics_by_name.keys() == {"t0", "t1"}


def test_why_a_snapshot_goes() -> None:
    """Size comes before age; a snapshot that does not tell its age stays for it."""
    limits = MetadataRetention(100, 1000)
    assert why_oldest_goes(100, 0, limits, 1000) is None
    assert "bytes=100" in (why_oldest_goes(101, 0, limits, 5000) or "")
    assert "ms=1000" in (why_oldest_goes(100, 0, limits, 1001) or "")
    assert why_oldest_goes(100, None, limits, 1 << 60) is None


def test_timestamp_of_a_snapshot_is_in_its_header() -> None:
    """Of Apache Kafka's as of ours; a file that is none has no time."""
    files = kafka_directory()
    [name] = list_snapshots(files, DIRECTORY)
    assert 1_600_000_000_000 < (read_timestamp(files, f"{DIRECTORY}/{name}") or 0) < 2_000_000_000_000
    for content in (b"", b"\0" * 500, b"\xff" * 500, files.read_bytes(f"{DIRECTORY}/{name}")[:40]):
        files.write_bytes("/data/other", content)
        assert read_timestamp(files, "/data/other") is None
