"""Making indexes anew, and nothing else."""

import errno

import pytest

from odradek.logs.verify.directory import VerifyReport, verify_directory
from odradek.logs.verify.repair import Repair, repair_indexes, write_whole
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.record import Record
from odradek.storage.files import Buffer
from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from tests.support.log_samples import DATA, SPOOL, flip, make_log_directory, segment_paths
from tests.support.logs import contents
from tests.support.lookup_example import make_example
from tests.support.memory_files import MemoryFiles, SimulatedCrash

INTERVAL = 200
"""Of `tests.support.logs.small_config`."""


@pytest.fixture
def fs() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def log(fs: MemoryFiles) -> Log:
    return make_log_directory(fs)


def _repair(fs: MemoryFiles) -> tuple[Repair, VerifyReport]:
    done = repair_indexes(fs, verify_directory(fs, DATA), INTERVAL)
    return done, verify_directory(fs, DATA)


def _damage_all_indexes(fs: MemoryFiles, log: Log) -> list[str]:
    paths = []
    for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
        for path in segment_paths(log, suffix):
            if fs.exists(path) and fs.size(path):
                flip(fs, path, fs.size(path) - 1, 0x55)
                paths.append(path)
    return sorted(paths)


def test_rebuilt_indexes_are_byte_for_byte_those_of_the_log_engine(fs: MemoryFiles, log: Log) -> None:
    """With the topic's own interval, what a repair writes is what was there before the damage."""
    before = contents(fs, SPOOL)
    damaged = _damage_all_indexes(fs, log)
    assert len(damaged) > 6
    done, after = _repair(fs)
    assert (sorted(done.rebuilt), done.left) == (damaged, {})
    assert after.findings == []
    assert contents(fs, SPOOL) == before


def test_missing_indexes_are_made(fs: MemoryFiles, log: Log) -> None:
    """An index that is not there at all is rebuilt like a wrong one."""
    before = contents(fs, SPOOL)
    for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
        for path in segment_paths(log, suffix):
            fs.unlink(path)
    _, after = _repair(fs)
    assert after.findings == []
    assert contents(fs, SPOOL) == before


def test_nothing_else_is_touched(fs: MemoryFiles, log: Log) -> None:
    """Damaged data, snapshots and checkpoints stay as they are, and so do the indexes of damaged data."""
    data, index = segment_paths(log, LOG_SUFFIX)[1], segment_paths(log, OFFSET_INDEX_SUFFIX)[1]
    flip(fs, data, fs.size(data) - 1)
    flip(fs, index, 3)
    fs.write_bytes(f"{SPOOL}/leader-epoch-checkpoint", b"9\n")
    fs.write_bytes(f"{SPOOL}/00000000000000000099.index", b"")
    before = contents(fs, SPOOL)
    done, after = _repair(fs)
    assert done.rebuilt == []
    assert done.left == {
        index: "the segment itself is damaged",
        f"{SPOOL}/00000000000000000099.index": "there is no segment to make it from",
    }
    assert after.errors > 2
    assert contents(fs, SPOOL) == before


def test_a_directory_that_is_right_is_left_alone(fs: MemoryFiles, log: Log) -> None:
    """No file is written where nothing is wrong."""
    operations = fs.operations
    done, _ = _repair(fs)
    assert (done.rebuilt, done.left, fs.operations) == ([], {}, operations)


def test_transactions_that_began_before_the_log_are_not_guessed(fs: MemoryFiles) -> None:
    """Without the producers of before, the transaction index cannot be known, so it is not made anew."""
    directory = make_example(DATA, fs)
    for name in fs.listdir(directory):
        if name.startswith("00000000000000000000") or name == "00000000000000368769.snapshot":
            fs.unlink(f"{directory}/{name}")
    path = f"{directory}/00000000000000368769.txnindex"
    fs.write_bytes(path, b"\xff" * 34)
    done = repair_indexes(fs, verify_directory(fs, directory), 400)
    assert list(done.left) == [path]


def test_an_interruption_leaves_the_old_file_or_the_new_one(fs: MemoryFiles, log: Log) -> None:
    """Wherever a repair is stopped, no index is half written, and the next one completes it."""
    right = contents(fs, SPOOL)
    _damage_all_indexes(fs, log)
    wrong = contents(fs, SPOOL)
    for stopped_at in range(1000):
        other = MemoryFiles(seed=stopped_at, crash_at=None)
        make_log_directory(other)
        for name, content in wrong.items():
            other.write_bytes(f"{SPOOL}/{name}", content)
            other.sync_dir(SPOOL)
        report = verify_directory(other, DATA)
        other.crash_at = other.operations + stopped_at * 5
        try:
            repair_indexes(other, report, INTERVAL)
        except SimulatedCrash:
            after = contents(other.crash(kept=1.0), SPOOL)
        else:
            assert stopped_at > 5
            break
        for name, content in after.items():
            if not name.endswith(".tmp"):
                assert content in (wrong[name], right[name])


class Interrupted(MemoryFiles):
    """A file system in which Ctrl-C comes while a file is written."""

    interrupted = False

    def write_bytes(self, path: str, data: Buffer, sync: bool = False) -> None:
        if self.interrupted and path.endswith(".tmp"):
            super().write_bytes(path, bytes(data)[:5], sync)
            raise KeyboardInterrupt
        super().write_bytes(path, data, sync)


def test_ctrl_c_leaves_nothing_behind() -> None:
    """A file that is half written when Ctrl-C comes is removed; the old one stays."""
    fs = Interrupted()
    fs.mkdir(DATA)
    fs.write_bytes(f"{DATA}/x.index", b"old")
    fs.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        write_whole(fs, f"{DATA}/x.index", b"new and longer")
    assert contents(fs, DATA) == {"x.index": b"old"}


def test_a_full_disk_leaves_the_old_file(fs: MemoryFiles) -> None:
    """An error while writing is passed on, and the old file is as it was."""
    fs.mkdir(DATA)
    fs.write_bytes(f"{DATA}/x.index", b"old")
    fs.capacity = 5
    with pytest.raises(OSError, match="space") as refused:
        write_whole(fs, f"{DATA}/x.index", b"new and longer")
    assert refused.value.errno == errno.ENOSPC
    assert contents(fs, DATA) == {"x.index": b"old"}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_segments_of_old_formats_are_checked_and_indexed(fs: MemoryFiles, magic: int, codec: Codec) -> None:
    """Messages and wrappers of versions 0 and 1 are gone over like batches, down to their records."""
    fs.mkdir(SPOOL)
    sets = ([Record(offset + n, 1_000 + offset + n, b"k", bytes(20)) for n in range(5)] for offset in range(0, 200, 5))
    path = f"{SPOOL}/00000000000000000000.log"
    fs.write_bytes(path, b"".join(build_message_set(records, magic, codec) for records in sets))
    done = repair_indexes(fs, verify_directory(fs, SPOOL), INTERVAL)
    assert [name.rpartition(".")[2] for name in done.rebuilt] == ["index", "timeindex"]
    report = verify_directory(fs, SPOOL, deep=True)
    assert (report.findings, report.partitions[0].end_offset) == ([], 200)
    assert fs.size(f"{SPOOL}/00000000000000000000.index") > 80
    flip(fs, path, fs.size(path) - 3)
    assert verify_directory(fs, SPOOL).errors == 1
