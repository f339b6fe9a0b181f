"""Putting a compacted segment in place of its sources, while the log goes on."""

import errno
from dataclasses import replace

import pytest

from odradek.storage.compaction.planning import (
    CleanerLimits,
    Round,
    facts_of,
    is_half_swapped,
    last_batches,
    limits_of,
    plan_round,
    still_fits,
    take_over,
)
from odradek.storage.compaction.round import compact
from odradek.storage.compaction.selection import examine
from odradek.storage.compaction.swap import discard_cleaned
from odradek.storage.compaction.values import Written
from odradek.storage.log.log import Log
from odradek.storage.names import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX
from tests.support.compaction import compact_log, read_pairs, unpaced
from tests.support.logs import DIRECTORY, NOW_MS, append_values, check_log, contents, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles

CONFIG = replace(small_config(segment_bytes=700), cleanup_policy=frozenset({"compact"}))

HALF_DONE = {CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX}


def a_log(fs: MemoryFiles, batches: int = 30) -> Log:
    """A compacted log with several segments, all but the active one closed and on the disk."""
    log = open_at(fs, CONFIG)
    for number in range(batches):
        append_values(log, [b"%d" % number * 20, b"other"])
    log.roll(NOW_MS)
    log.flush()
    return log


def begin(log: Log) -> Round:
    """The round over all of the log."""
    candidate = examine(facts_of(log, log.log_end_offset, None), limits_of(log), NOW_MS)
    limits = CleanerLimits(dedupe_buffer_bytes=1 << 20)
    return plan_round(log, candidate, limits, 1, NOW_MS, b"".join(last_batches(log, candidate)))


def write(log: Log, running: Round) -> list[Written]:
    """What the other process writes."""
    return [one for one in compact(log.local.fs, running.task, unpaced, lambda: 0.0) if isinstance(one, Written)]


def states(fs: MemoryFiles) -> set[str]:
    """The suffixes of half-done work that there are."""
    names = contents(fs)
    return {
        state for state in (CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX) if any(one.endswith(state) for one in names)
    }


def test_readers_of_the_old_segments_go_on() -> None:
    """A slice that was handed out before can be read to its end; the next read is of the new segment."""
    fs = MemoryFiles()
    log = a_log(fs)
    before = log.read(0, 1 << 20, log.log_end_offset, at_least_one=True)
    assert before.file is not None
    data = before.file.pread(before.length, before.position)
    size = log.size
    compact_log(log)
    assert before.file.pread(before.length, before.position) == data
    assert read_all(log) == [(58, b"29" * 20), (59, b"other")]
    assert log.size < size
    check_log(log)


def test_the_files_of_old_segments_wait_for_their_removal() -> None:
    """Renamed, all of them with their snapshots, and named to be removed later; nothing else is left."""
    fs = MemoryFiles()
    log = a_log(fs)
    snapshots = list(log.snapshots.offsets)
    running = begin(log)
    doomed: list[str] = []
    done = 0
    for written in write(log, running):
        swapped = take_over(log, running, done, written, NOW_MS)
        assert swapped.problem == ""
        doomed += swapped.doomed
        done += written.sources
    assert set(doomed) >= {f"{DIRECTORY}/{name}" for name in contents(fs) if name.endswith(DELETED_SUFFIX)}
    assert all(path.endswith(DELETED_SUFFIX) for path in doomed)
    assert states(fs) == {DELETED_SUFFIX}
    bases = {segment.base_offset for segment in log.segments}
    assert set(log.snapshots.offsets) == {offset for offset in snapshots if offset in bases}


def test_a_round_does_not_fit_a_log_that_was_changed() -> None:
    """Sources removed, data cut off the end, another policy: the result must not be taken."""
    fs = MemoryFiles()
    log = a_log(fs)
    running = begin(log)
    assert still_fits(log, running, 0, 2)
    log.update_config(replace(CONFIG, cleanup_policy=frozenset({"delete"})))
    assert not still_fits(log, running, 0, 2)
    log.update_config(CONFIG)
    first_end = running.sources[1].base_offset
    log.delete_records_before(first_end)
    assert not still_fits(log, running, 0, 2)
    assert still_fits(log, running, 1, 2)
    log.truncate_to(log.log_end_offset - 2, NOW_MS)
    assert not still_fits(log, running, 1, 1)


def test_a_round_does_not_fit_where_it_reaches_the_active_segment() -> None:
    """After a cut the last source may be appended to again."""
    fs = MemoryFiles()
    log = a_log(fs)
    running = begin(log)
    truncated = Round(running.task, running.sources, running.generation + 1)
    log.truncate_to(running.sources[-1].base_offset + 2, NOW_MS)
    assert not still_fits(log, truncated, len(running.sources) - 1, 1)


def test_a_failure_before_the_commit_changes_nothing() -> None:
    """The log is as it was, and what was written is removed."""
    fs = MemoryFiles()
    log = a_log(fs)
    pairs = read_pairs(log)
    running = begin(log)
    written = write(log, running)[0]
    fs.fail("rename", errno.EIO, ".timeindex.cleaned")
    with pytest.raises(OSError, match="Input/output"):
        take_over(log, running, 0, written, NOW_MS)
    discard_cleaned(fs, DIRECTORY)
    assert states(fs) == set()
    assert read_pairs(log) == pairs
    check_log(log)


@pytest.mark.parametrize("part", [".log", ".index", ".log.swap"])
def test_a_failure_after_the_commit_is_completed_by_the_next_start(part: str) -> None:
    """The new segment counts at once; files that could not be renamed are settled when the log is opened again."""
    fs = MemoryFiles()
    log = a_log(fs)
    log.update_config(replace(CONFIG, segment_bytes=10_000))
    running = begin(log)
    [written] = write(log, running)
    last = running.sources[written.sources - 1].base_offset
    fs.fail("rename", errno.EIO, part if part == ".log.swap" else f"{last:020d}{part}")
    swapped = take_over(log, running, 0, written, NOW_MS)
    assert "Input/output" in swapped.problem
    assert swapped.doomed == ()
    assert is_half_swapped(log)
    discard_cleaned(fs, DIRECTORY)
    kept = read_pairs(log)
    check_log(log)
    append_values(log, [b"goes on"])
    log.roll(NOW_MS)
    log.flush()
    log.close()
    again = open_at(fs, CONFIG, clean=True, recovery_point=log.recovery_point)
    assert read_pairs(again) == [*kept, (60, b"0", b"goes on")]
    assert states(fs) == set()
    assert not is_half_swapped(again)
    check_log(again)


def test_what_was_not_on_the_disk_yet_is_not_waited_for_any_more() -> None:
    """A new segment is on the disk as it is: the next flush has nothing to do with its sources."""
    fs = MemoryFiles()
    log = a_log(fs)
    compact_log(log)
    plan = log.prepare_flush()
    assert plan is None or not plan.files
    assert log.recovery_point == log.log_end_offset
    kept = read_all(log)
    fs.sync_dir("/")
    assert read_all(open_at(fs.crash(kept=0.0), CONFIG, recovery_point=log.recovery_point)) == kept


def test_only_what_is_on_the_disk_may_be_compacted() -> None:
    """A gap above the recovery point would mean, after a crash, that records were lost."""
    log = open_at(MemoryFiles(), CONFIG)
    for number in range(30):
        append_values(log, [b"%d" % number * 20])
    log.roll(NOW_MS)
    assert examine(facts_of(log, log.log_end_offset, None), limits_of(log), NOW_MS).dirty_bytes == 0
    log.flush()
    assert examine(facts_of(log, log.log_end_offset, None), limits_of(log), NOW_MS).end == log.log_end_offset


@pytest.mark.parametrize("change", ["gone", "longer"])
def test_what_is_not_whole_never_takes_the_place_of_data(change: str) -> None:
    """Whoever has touched the new files meanwhile: the old segments stay, and the new files go."""
    fs = MemoryFiles()
    log = a_log(fs)
    before = read_pairs(log)
    running = begin(log)
    first = write(log, running)[0]
    path = f"{DIRECTORY}/{first.base_offset:020d}.log{CLEANED_SUFFIX}"
    if change == "gone":
        fs.unlink(path)
    else:
        fs.open(path).pwrite(b"x", first.size)
    with pytest.raises(OSError, match="No such file" if change == "gone" else "bytes instead of"):
        take_over(log, running, 0, first, NOW_MS)
    assert read_pairs(log) == before
    assert not [name for name in contents(fs) if name.startswith(f"{first.base_offset:020d}.") and name[-1] == "d"]
