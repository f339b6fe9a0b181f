"""Opening logs: from clean and unclean stops, from half-finished work, from damage, from Kafka's own files."""

import struct
from uuid import UUID

import pytest

from odradek.protocol.records.building import BatchFields
from odradek.storage.deletions import PendingDeletions
from odradek.storage.errors import IncompatibleDirectory
from odradek.storage.log.log import Log
from odradek.storage.opening.loader import Opening, load_log, open_log, parent_directory
from tests.support.logs import (
    DIRECTORY,
    NOW_MS,
    PARTITION,
    TOPIC_ID,
    a_batch,
    append_values,
    check_log,
    contents,
    old_message,
    open_at,
    open_with_findings,
    read_all,
    small_config,
)
from tests.support.memory_files import MemoryFiles
from tests.support.timestamps import offset_for_timestamp

SIZE = len(a_batch([bytes(100)]))
CONFIG = small_config(segment_bytes=4 * SIZE, index_interval_bytes=0)


def fill(fs: MemoryFiles, batches: int = 10, *, close: bool = True) -> Log:
    """Make a log of batches of one record, four to a segment."""
    log = open_at(fs, CONFIG)
    for number in range(batches):
        append_values(log, [b"%100d" % number], NOW_MS + number, epoch=number // 3)
    log.flush()
    if close:
        log.close()
    return log


def test_files_of_a_log_are_kafkas_to_the_byte() -> None:
    """A small log with two segments, an idempotent producer and two epochs, closed: every file and its content."""
    fs = MemoryFiles()
    log = open_at(fs, small_config(segment_bytes=300, index_interval_bytes=0))
    first = a_batch([b"a"], NOW_MS, BatchFields(producer_id=7, producer_epoch=1, base_sequence=0))
    log.append(first, 0, NOW_MS)
    append_values(log, [bytes(10), b"b"], [NOW_MS + 9, NOW_MS + 8], epoch=2)
    append_values(log, [bytes(100)], NOW_MS + 5, epoch=2)
    log.flush()
    log.close()
    files = contents(fs)
    assert sorted(files) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000003.index",
        "00000000000000000003.log",
        "00000000000000000003.snapshot",
        "00000000000000000003.timeindex",
        "00000000000000000004.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert files["00000000000000000000.index"] == struct.pack(">ii", 2, len(first))
    assert files["00000000000000000000.timeindex"] == struct.pack(">qi", NOW_MS + 9, 2)
    assert files["00000000000000000003.index"] == b""
    assert files["00000000000000000003.timeindex"] == struct.pack(">qi", NOW_MS + 5, 0)
    assert files["00000000000000000003.snapshot"][10:] == struct.pack(">qhiqiqiq", 7, 1, 0, 0, 0, NOW_MS, -1, -1)
    assert files["leader-epoch-checkpoint"] == b"0\n2\n0 0\n2 1\n"
    assert files["partition.metadata"] == b"version: 0\ntopic_id: o_DB3gAAQACAAAEjRWeJqw"
    assert files["00000000000000000000.log"].startswith(bytes(first[:12]))


@pytest.mark.parametrize("clean", [True, False])
def test_log_is_the_same_after_a_restart(clean: bool) -> None:
    """Records, offsets, epochs, sizes: all there, after a clean stop and after a crash, with nothing to report."""
    fs = MemoryFiles()
    before = fill(fs)
    log, findings = open_with_findings(fs, CONFIG, clean=clean)
    assert findings == ()
    check_log(log)
    assert [value for _, value in read_all(log)] == [b"%100d" % number for number in range(10)]
    assert (log.size, log.log_end_offset) == (before.size, 10)
    assert log.leader_epochs.entries == [(0, 0), (1, 3), (2, 6), (3, 9)]
    assert log.recovery_point == (10 if clean else 0)
    append_values(log, [b"next"])
    check_log(log)


def test_clean_start_reads_only_the_end() -> None:
    """Without a recovery, old segments are not opened, and data is not read but for the end of the last segment."""
    fs = MemoryFiles()
    fill(fs, 10)
    fs.fail("read", path_part=f"{0:020d}")
    fs.fail("read", path_part=f"{4:020d}")
    log = open_at(fs, CONFIG, clean=True)
    assert log.log_end_offset == 10


def test_recovery_starts_at_the_segment_of_the_recovery_point() -> None:
    """Segments before it are trusted: damage there is not looked for."""
    fs = MemoryFiles()
    fill(fs)
    damage(fs, 0, 2 * SIZE + 70)
    log, findings = open_with_findings(fs, CONFIG, recovery_point=5)
    assert findings == ()
    assert log.log_end_offset == 10
    log, findings = open_with_findings(fs, CONFIG, recovery_point=3)
    assert log.log_end_offset == 2
    assert len(findings) == 3


def damage(fs: MemoryFiles, base_offset: int, place: int) -> None:
    path = f"{DIRECTORY}/{base_offset:020d}.log"
    content = bytearray(fs.read_bytes(path))
    content[place] ^= 1
    fs.write_bytes(path, content)


def test_damage_beyond_the_recovery_point_is_cut_off_and_what_follows_goes() -> None:
    """The log ends before the first bad batch; later segments, their snapshots and epochs go, and it says so."""
    fs = MemoryFiles()
    fill(fs)
    damage(fs, 4, 2 * SIZE + 70)
    log, findings = open_with_findings(fs, CONFIG, recovery_point=1)
    assert log.log_end_offset == 6
    check_log(log)
    assert [offset for offset, _ in read_all(log)] == list(range(6))
    assert log.leader_epochs.entries == [(0, 0), (1, 3)]
    assert len(findings) == 2
    assert "cut 282 bytes off /data/spool-0/00000000000000000004.log; the log ends at offset 6" in findings[0].replace(
        str(2 * SIZE), "282"
    )
    assert "1 later segments, from offset 8 on, are removed" in findings[1]
    assert not [name for name in contents(fs) if name.startswith(f"{8:020d}")]


def test_loss_below_the_recovery_point_is_said_aloud() -> None:
    """What had reached the disk and is damaged now cannot be repaired, but is not passed over in silence."""
    fs = MemoryFiles()
    fill(fs)
    damage(fs, 8, 70)
    log, findings = open_with_findings(fs, CONFIG, recovery_point=10)
    assert log.log_end_offset == 8
    assert any("records from offset 8 to 9 had reached the disk, and are lost" in finding for finding in findings)


@pytest.mark.parametrize("kept", range(0, 2 * SIZE + 1, 13))
def test_clean_marker_is_not_believed_against_a_torn_end(kept: int) -> None:
    """A last segment that does not end with a whole batch is recovered, whatever the marker says."""
    fs = MemoryFiles()
    fill(fs)
    path = f"{DIRECTORY}/{8:020d}.log"
    fs.write_bytes(path, fs.read_bytes(path)[:kept])
    log, findings = open_with_findings(fs, CONFIG, clean=True)
    assert log.log_end_offset == 8 + kept // SIZE
    assert bool(findings) is (kept % SIZE != 0)
    check_log(log)


def test_only_what_a_clean_stop_leaves_is_intact() -> None:
    """Without the marker, with a torn end, without data, and where the data ends before its start, records may be
    missing."""

    def is_intact(fs: MemoryFiles, *, clean: bool = True, start: int = 0) -> bool:
        opening = Opening(PARTITION, DIRECTORY, CONFIG, NOW_MS, clean, recovery_point=9, log_start_offset=start)
        return load_log(fs, opening).is_intact

    fs = MemoryFiles()
    fill(fs)
    assert is_intact(fs)
    assert not is_intact(fs, clean=False)
    assert not is_intact(fs, start=11)
    fill(fs := MemoryFiles())
    fs.write_bytes(f"{DIRECTORY}/{8:020d}.log", bytes(10))
    assert not is_intact(fs)
    assert not is_intact(MemoryFiles())


def test_second_recovery_changes_nothing() -> None:
    """What one recovery has made good, another finds good."""
    fs = MemoryFiles()
    fill(fs)
    damage(fs, 8, 70)
    log = open_at(fs, CONFIG)
    log.flush()
    log.close()
    once = contents(fs)
    log, findings = open_with_findings(fs, CONFIG)
    log.flush()
    log.close()
    assert contents(fs) == once
    assert findings == ()


def test_kafkas_preallocated_indexes_and_log_tail_are_no_entries() -> None:
    """Kafka killed: index files of 10 MB with zeros behind the entries, a data file with zeros; all is found."""
    fs = MemoryFiles()
    fill(fs)
    for suffix, size in ((".index", 80_000), (".timeindex", 120_000), (".log", 4096)):
        path = f"{DIRECTORY}/{8:020d}{suffix}"
        fs.write_bytes(path, fs.read_bytes(path).ljust(size, b"\0"))
    log = open_at(fs, CONFIG, recovery_point=8)
    check_log(log)
    assert log.log_end_offset == 10
    log.flush()
    log.close()
    files = contents(fs)
    assert len(files[f"{8:020d}.index"]) == 8
    assert len(files[f"{8:020d}.timeindex"]) == 12
    assert len(files[f"{8:020d}.log"]) == 2 * SIZE


def test_old_formats_in_old_segments_are_walked() -> None:
    """A log that began with V0 and V1 messages is loaded, recovered and read by offset and time."""
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    old = old_message(0, 0, b"zero") + old_message(1, 1, b"one", NOW_MS + 5) + old_message(1, 4, b"four", NOW_MS + 7)
    fs.write_bytes(f"{DIRECTORY}/{0:020d}.log", old)
    log = open_at(fs, CONFIG)
    assert log.log_end_offset == 5
    append_values(log, [b"new"], NOW_MS + 9)
    check_log(log)
    region = log.read(2, 1 << 20, 6, at_least_one=True)
    assert region.position == len(old_message(0, 0, b"zero") + old_message(1, 1, b"one"))
    assert offset_for_timestamp(log, NOW_MS + 6, 6) == (NOW_MS + 7, 4, -1)
    assert offset_for_timestamp(log, NOW_MS + 8, 6) == (NOW_MS + 9, 5, 0)


def test_log_that_ends_before_its_start_begins_anew_there() -> None:
    """A checkpointed start beyond all data means that the data is old: it goes, and offsets are not used twice."""
    fs = MemoryFiles()
    fill(fs)
    log, findings = open_with_findings(fs, CONFIG, log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (50, 50, 1)
    assert log.leader_epochs.entries == []
    assert any("begins anew" in finding for finding in findings)
    append_values(log, [b"x"])
    assert read_all(log) == [(50, b"x")]


def test_empty_directory_starts_at_the_checkpointed_start() -> None:
    """A partition directory without any segment is a log at its start."""
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    log = open_at(fs, CONFIG, log_start_offset=7)
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)


@pytest.mark.parametrize("content", [None, b"", b"version: 0", b"version: 0\ntopic_id: ?"])
def test_missing_or_torn_topic_id_is_written_again(content: bytes | None) -> None:
    """partition.metadata is written without a sync at first; a crash may take it, and the caller knows the id."""
    fs = MemoryFiles()
    fill(fs)
    path = f"{DIRECTORY}/partition.metadata"
    before = fs.read_bytes(path)
    if content is None:
        fs.unlink(path)
    else:
        fs.write_bytes(path, content)
    log = open_at(fs, CONFIG, clean=True)
    assert log.topic_id == TOPIC_ID
    assert fs.read_bytes(path) == before


def test_directory_of_another_topic_of_the_same_name_is_refused() -> None:
    """Data of a topic that was deleted does not come back in one that was made later."""
    fs = MemoryFiles()
    fill(fs)
    before = contents(fs)
    with pytest.raises(IncompatibleDirectory, match="move the directory away"):
        load_log(fs, Opening(PARTITION, DIRECTORY, CONFIG, NOW_MS, topic_id=UUID(int=9 << 64)))
    assert contents(fs) == before


def test_id_on_disk_counts_where_the_caller_knows_none() -> None:
    """The metadata log, and tools, open directories without saying what they expect."""
    fs = MemoryFiles()
    fill(fs)
    log, _ = open_log(fs, Opening(PARTITION, DIRECTORY, CONFIG, NOW_MS), PendingDeletions(fs))
    assert log.topic_id == TOPIC_ID


@pytest.mark.parametrize("snapshots", ["all", "none", "torn", "older"])
@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_known_again_from_snapshots_and_batches(clean: bool, snapshots: str) -> None:
    """The newest snapshot that can be read, and the batches after it, say what producers did."""
    fs = MemoryFiles()
    log = open_at(fs, small_config(segment_bytes=400))
    for sequence in range(9):
        fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append(a_batch([bytes(50)], fields=fields), 0, NOW_MS)
    log.flush()
    log.close()
    names = sorted(name for name in contents(fs) if name.endswith(".snapshot"))
    assert len(names) >= 3
    for name in {"all": [], "none": names, "torn": names[-2:], "older": names[-1:]}[snapshots]:
        if snapshots == "torn":
            fs.write_bytes(f"{DIRECTORY}/{name}", fs.read_bytes(f"{DIRECTORY}/{name}")[:-1])
        else:
            fs.unlink(f"{DIRECTORY}/{name}")
    log = open_at(fs, small_config(segment_bytes=400), clean=clean, recovery_point=8)
    if clean and snapshots == "none":
        assert not log.producers.entries  # as Kafka: a directory of before snapshots, not worth a scan of all data
    else:
        assert log.producers.entries[7].last_sequence == 8
    assert log.snapshots.offsets[-1] == 9


def test_damaged_leader_epochs_do_not_stop_the_load() -> None:
    """A checkpoint that cannot be read is said, and epochs are learned from what is recovered."""
    fs = MemoryFiles()
    fill(fs)
    fs.write_bytes(f"{DIRECTORY}/leader-epoch-checkpoint", b"0\n9\n1 1\n")
    log, findings = open_with_findings(fs, CONFIG)
    assert "leader epochs" in findings[0]
    assert log.leader_epochs.entries == [(0, 0), (1, 3), (2, 6), (3, 9)]


def test_leader_epoch_that_wrote_nothing_is_not_that_of_another_one_s_record_after_a_crash() -> None:
    """It began as leader where a record came later that a follower of it had, from an older epoch; the file does not
    say so yet. With the wrong epoch there this replica and the others would never agree."""
    fs = MemoryFiles()
    fill(fs, close=False)
    fs.write_bytes(f"{DIRECTORY}/leader-epoch-checkpoint", b"0\n4\n0 0\n1 3\n2 6\n5 8\n")
    assert open_at(fs, CONFIG).leader_epochs.entries == [(0, 0), (1, 3), (2, 6), (3, 9)]


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_lost_end_of_a_segment_takes_what_follows_with_it_unless_compaction_may_have(policy: str) -> None:
    """A gap in what was not flushed means lost records; in a compacted topic it may be as it should."""
    fs = MemoryFiles()
    config = small_config(segment_bytes=4 * SIZE, cleanup_policy=frozenset({policy}))
    fill(fs)
    path = f"{DIRECTORY}/{4:020d}.log"
    fs.write_bytes(path, fs.read_bytes(path)[: 2 * SIZE])
    log = open_at(fs, config, recovery_point=2)
    assert log.log_end_offset == (6 if policy == "delete" else 10)
    check_log(log)


def test_large_active_segment_is_read_from_its_last_index_entry() -> None:
    """The end and the largest timestamp of a large last segment are found without reading it all."""
    fs = MemoryFiles()
    config = small_config(segment_bytes=1 << 20, index_interval_bytes=4096)
    log = open_at(fs, config)
    for number in range(400):
        append_values(log, [bytes(100)], NOW_MS + (number if number < 398 else 0))
    log.close()
    log = open_at(fs, config, clean=True)
    assert log.log_end_offset == 400
    assert log.segments.active.max_timestamp == NOW_MS + 397
    assert log.segments.active.max_timestamp_offset == 397
    append_values(log, [b"x"], NOW_MS + 1000)
    check_log(log)


def test_parent_directory_is_what_a_path_is_in() -> None:
    """Also for a trailing slash, and a path of one name."""
    assert parent_directory("/a/b/c-0") == "/a/b"
    assert parent_directory("c-0/") == "."


@pytest.mark.parametrize("recovery_point", [0, 5, 9])
def test_log_that_no_longer_begins_at_0_is_recovered(recovery_point: int) -> None:
    """Old segments are gone, no checkpoint or snapshot says where the log starts: it does with the first segment."""
    fs = MemoryFiles()
    log = open_at(fs)
    for number in range(4):
        append_values(log, [b"%d" % number])
        if number < 2:
            log.roll(NOW_MS)
    log.delete_records_before(2)
    for name in contents(fs):
        if name.endswith(".snapshot"):
            fs.unlink(f"{DIRECTORY}/{name}")
    again = open_at(fs.crash(kept=1.0), recovery_point=min(recovery_point, 4))
    assert (again.log_start_offset, again.log_end_offset) == (2, 4)
    assert read_all(again) == [(2, b"2"), (3, b"3")]
    check_log(again)


def test_segments_that_a_recovery_removed_do_not_come_back_with_a_second_crash() -> None:
    """Others are written at their offsets meanwhile."""
    fs = MemoryFiles()
    log = open_at(fs)
    for number in range(6):
        append_values(log, [b"%d" % number])
        if number in (1, 3):
            log.roll(NOW_MS)
    log.flush()
    fs.sync_dir("/data")
    fs.sync_dir("/")
    first = fs.open(f"{DIRECTORY}/{0:020d}.log")
    first.pwrite(b"\xff", first.size() - 1)
    first.sync()
    open_at(fs)
    names = contents(fs.crash(kept=0.0))
    assert [name for name in names if name.endswith(".log")] == [f"{0:020d}.log"]
