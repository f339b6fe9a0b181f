"""A log in outline, from few reads of its files."""

from collections.abc import Callable

import pytest

from odradek.logs.outline import Checkpoints, DirectoryCheckpoints, find_partition, find_partitions, outline_log
from odradek.storage.checkpoints.checkpoint_file import write_offset_checkpoint
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import CLEANER_OFFSET_FILE, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TopicPartition, file_name
from tests.support.log_samples import DATA, SPOOL, make_log_directory
from tests.support.logs import PARTITION
from tests.support.lookup_example import FIRST_TIME_MS, SEGMENTS, make_example
from tests.support.memory_files import MemoryFiles

ARTICLES = TopicPartition("articles", 0)


def test_segments_are_told_as_the_log_engine_knows_them() -> None:
    """Offsets, sizes and times of each segment are those of the log that wrote them; the ends meet."""
    fs = MemoryFiles()
    log = make_log_directory(fs)
    outline = outline_log(fs, SPOOL, PARTITION)
    assert [each.base_offset for each in outline.segments] == [each.base_offset for each in log.segments]
    assert [each.size for each in outline.segments] == [each.size for each in log.segments]
    assert [each.max_timestamp for each in outline.segments] == [each.max_timestamp for each in log.segments]
    assert [each.first_timestamp for each in outline.segments] == [each.first_timestamp for each in log.segments]
    ends = [*(each.base_offset for each in log.segments), log.log_end_offset][1:]
    assert [each.end_offset for each in outline.segments] == ends
    assert (outline.start_offset, outline.end_offset) == (log.log_start_offset, log.log_end_offset)
    assert [each.epoch for each in outline.epochs] == [0, 3]
    assert outline.checkpoints.recovery_point == outline.checkpoints.high_watermark == log.log_end_offset
    assert not outline.notes


def test_the_end_is_found_without_indexes() -> None:
    """Where the indexes of the last segment are gone, its batches tell the end and the largest timestamp."""
    fs = MemoryFiles()
    directory = make_example("/data", fs)
    for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        fs.unlink(f"{directory}/{file_name(SEGMENTS[-1], suffix)}")
    last = outline_log(fs, directory, ARTICLES).segments[-1]
    assert last.end_offset == SEGMENTS[-1] + 14
    assert last.max_timestamp == FIRST_TIME_MS + (SEGMENTS[-1] + 13) * 1000
    assert (last.offset_entries, last.time_entries) == (0, 0)


def test_a_checkpoint_that_is_damaged_is_told_and_passed_over() -> None:
    """The other checkpoints, and all segments, are told all the same."""
    fs = MemoryFiles()
    make_log_directory(fs)
    fs.write_bytes(f"{DATA}/{CLEANER_OFFSET_FILE}", b"7\n")
    outline = outline_log(fs, SPOOL, PARTITION)
    assert outline.checkpoints.cleaned_to is None
    assert outline.checkpoints.recovery_point is not None
    assert len(outline.notes) == 1
    assert CLEANER_OFFSET_FILE in outline.notes[0]


def test_the_log_start_counts_where_it_is_in_the_first_segment() -> None:
    """Records that were deleted by an admin are before the start, though their segment is still there."""
    fs = MemoryFiles()
    make_log_directory(fs)
    write_offset_checkpoint(fs, f"{DATA}/log-start-offset-checkpoint", {PARTITION: 3})
    outline = outline_log(fs, SPOOL, PARTITION)
    assert outline.checkpoints == Checkpoints(outline.end_offset, 3, outline.end_offset, None)
    assert outline.start_offset == 3


def test_a_directory_without_segments_is_no_log() -> None:
    """It is refused with the name of the directory."""
    fs = MemoryFiles()
    fs.mkdir("/data/empty-0")
    with pytest.raises(CorruptFile, match="empty-0"):
        outline_log(fs, "/data/empty-0", TopicPartition("empty", 0))


def _vanish(fs: MemoryFiles, name: str) -> Callable[..., object]:
    original = fs.open

    def open_or_vanish(path: str, create: bool = False, writable: bool = True) -> object:
        if path.endswith(name):
            raise FileNotFoundError(path)
        return original(path, create, writable)

    return open_or_vanish


def test_a_segment_that_vanishes_meanwhile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running broker may delete a segment between the listing and the look at it."""
    fs = MemoryFiles()
    directory = make_example("/data", fs)
    monkeypatch.setattr(fs, "open", _vanish(fs, file_name(0, ".log")))
    assert [each.base_offset for each in outline_log(fs, directory, ARTICLES).segments] == list(SEGMENTS[1:])


def test_partitions_are_found_by_name_and_never_by_path() -> None:
    """What a directory lists counts: no name leads out of it, and removed or moving copies are not found."""
    fs: FileSystem = MemoryFiles()
    for name in ("a-0", "b-c-12", "b.0123456789abcdef0123456789abcdef-delete", "a-0.x-future", "cache"):
        fs.mkdir(f"/data/{name}")
    fs.mkdir("/other/a-1")
    fs.write_bytes("/data/a-9", b"")
    homes = ["/data", "/other"]
    assert [str(each.partition) for each in find_partitions(fs, homes)] == ["a-0", "a-1", "b-c-12"]
    assert find_partition(fs, homes, TopicPartition("b-c", 12)) == "/data/b-c-12"
    assert find_partition(fs, homes, TopicPartition("../other/a", 1)) is None
    assert find_partition(fs, homes, TopicPartition("a", 9)) is None


def test_checkpoints_are_read_once_for_many_partitions() -> None:
    """Who looks at all partitions of a directory reads its checkpoints once, and is told the same."""
    fs = MemoryFiles()
    make_log_directory(fs)
    told = DirectoryCheckpoints(fs, DATA)
    expected = outline_log(fs, SPOOL, PARTITION)
    fs.unlink(f"{DATA}/recovery-point-offset-checkpoint")
    assert outline_log(fs, SPOOL, PARTITION, told) == expected
    assert outline_log(fs, SPOOL, PARTITION).checkpoints.recovery_point is None
