"""log verify: what is right is left alone, what is wrong is named with its file and byte."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from odradek.logs.verify.directory import VerifyReport, data_size, read_layout, verify_directory
from odradek.logs.verify.findings import MOST_PER_FILE, Finding, Severity
from odradek.protocol.records.batch import LENGTH_AT
from odradek.storage.checkpoints.checkpoint_file import write_offset_checkpoint
from odradek.storage.directories.clean_shutdown import remove_clean_shutdown
from odradek.storage.errors import CorruptFile
from odradek.storage.files import DirectoryEntry
from odradek.storage.log.log import Log
from odradek.storage.names import (
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOCK_FILE,
    OFFSET_INDEX_SUFFIX,
    PRODUCER_SNAPSHOT_SUFFIX,
    RECOVERY_POINT_FILE,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    TopicPartition,
)
from odradek.storage.segment.batch_headers import walk_headers
from tests.support.log_samples import DATA, SPOOL, flip, make_log_directory, segment_paths
from tests.support.logs import PARTITION, a_batch, open_at
from tests.support.lookup_example import make_example
from tests.support.memory_files import MemoryFiles, OpenMemoryFile


class Sample(NamedTuple):
    """The log directory of the tests, and the log that is in it."""

    fs: MemoryFiles
    log: Log

    def verify(self, deep: bool = False) -> VerifyReport:
        return verify_directory(self.fs, DATA, deep)

    def errors(self) -> list[Finding]:
        return [each for each in self.verify().findings if each.severity is Severity.ERROR]

    def the_error(self) -> Finding:
        [found] = self.errors()
        return found

    def batches(self, path: str) -> list[tuple[int, int, int]]:
        """Return (position, base offset, last offset) of the batches of a segment."""
        file = self.fs.open(path)
        return [(at, header.base_offset, header.last_offset) for at, header in walk_headers(file, 0, file.size())]


@pytest.fixture
def sample() -> Sample:
    fs = MemoryFiles()
    return Sample(fs, make_log_directory(fs))


def test_what_the_log_engine_wrote_has_no_findings(sample: Sample) -> None:
    """A directory that was stopped in order is right in every file, with every record taken out, too."""
    report = sample.verify(deep=True)
    assert report.findings == []
    assert report.was_clean
    assert report.segments == len(sample.log.segments) > 3
    assert report.size == sample.log.size
    assert report.partitions[0].end_offset == sample.log.log_end_offset
    assert len([path for path in segment_paths(sample.log, TRANSACTION_INDEX_SUFFIX) if sample.fs.exists(path)]) == 1


def test_the_directory_of_one_partition_can_be_checked(sample: Sample) -> None:
    """Given a partition's directory, only that is gone over, together with what the checkpoints say of it."""
    write_offset_checkpoint(sample.fs, f"{DATA}/{CLEANER_OFFSET_FILE}", {TopicPartition("other", 1): 5})
    report = verify_directory(sample.fs, SPOOL)
    assert (report.findings, len(report.partitions)) == ([], 1)
    write_offset_checkpoint(sample.fs, f"{DATA}/{RECOVERY_POINT_FILE}", {PARTITION: 1000})
    [found] = verify_directory(sample.fs, SPOOL + "/").findings
    assert found.path == f"{DATA}/{RECOVERY_POINT_FILE}"
    assert "ends at offset 88" in found.reason


def test_gaps_of_compaction_are_no_errors() -> None:
    """Offsets that are missing, within a segment or between two, are right in a compacted topic."""
    fs = MemoryFiles()
    directory = make_example(DATA, fs)
    report = verify_directory(fs, directory)
    assert report.errors == 0


def test_a_changed_record_is_found_by_its_checksum(sample: Sample) -> None:
    """A byte of a record that changed is told with the file, the byte where its batch begins, and the offset."""
    path = segment_paths(sample.log)[1]
    position, base, _ = sample.batches(path)[2]
    flip(sample.fs, path, position + 70)
    found = sample.the_error()
    assert found[1:4] == (path, position, base)
    assert "checksum" in found.reason


@pytest.mark.parametrize("at", range(61))
def test_every_changed_byte_of_a_header_is_found(sample: Sample, at: int) -> None:
    """Whichever byte of a batch header changes, the file is named, and the byte where that batch begins or the next."""
    path = segment_paths(sample.log)[1]
    batches = sample.batches(path)
    position = batches[2][0]
    flip(sample.fs, path, position + at, 0x01)
    found = [each for each in sample.errors() if each.path == path]
    assert found, f"byte {at} of the header"
    assert found[0].position in (position, batches[3][0])


def test_a_size_that_cannot_be_ends_the_segment_there(sample: Sample) -> None:
    """A size of 2 GB where a few bytes are left is told, and takes no memory."""
    path = segment_paths(sample.log)[0]
    position = sample.batches(path)[3][0]
    content = bytearray(sample.fs.read_bytes(path))
    content[position + LENGTH_AT : position + LENGTH_AT + 4] = (0x7FFF_FFFF).to_bytes(4, "big")
    sample.fs.write_bytes(path, content)
    found = [each for each in sample.errors() if each.path == path]
    assert [each.position for each in found] == [position]
    assert "says it has 2147483659 bytes" in found[0].reason


def test_a_cut_end_is_an_error_after_a_clean_stop_and_a_note_after_a_crash(sample: Sample) -> None:
    """A last batch that is not whole is what a crash leaves; where the broker was stopped in order it must not be."""
    path = segment_paths(sample.log)[-1]
    whole = sample.fs.read_bytes(path)
    position = sample.batches(path)[-1][0]
    sample.fs.write_bytes(path, whole[:-5])
    found = next(each for each in sample.errors() if each.path == path)
    assert found.position == position
    remove_clean_shutdown(sample.fs, DATA)
    report = sample.verify()
    assert any(each.path == path and each.position == position for each in report.findings)
    assert all(each.severity is Severity.NOTE for each in report.findings if each.path == path)


def test_zeros_are_told_as_such(sample: Sample) -> None:
    """A segment that ends in zeros, as a crash of the machine can leave it, is told from where on."""
    path = segment_paths(sample.log)[1]
    content = sample.fs.read_bytes(path)
    position = sample.batches(path)[4][0]
    sample.fs.write_bytes(path, content[:position] + bytes(len(content) - position))
    found = next(each for each in sample.errors() if each.path == path)
    assert (found.position, "nothing but zeros" in found.reason) == (position, True)


def test_garbage_behind_the_last_batch_is_found(sample: Sample) -> None:
    """Bytes that cannot begin a batch are told with their place."""
    path = segment_paths(sample.log)[1]
    size = sample.fs.size(path)
    sample.fs.write_bytes(path, sample.fs.read_bytes(path) + b"\xee" * 300)
    found = next(each for each in sample.errors() if each.path == path)
    assert found.position == size


def _flip_second_entry(size: int) -> Callable[[bytes], bytes]:
    return lambda content: content[: size + 3] + bytes([content[size + 3] ^ 0x40]) + content[size + 4 :]


INDEX_DAMAGE = [
    pytest.param(OFFSET_INDEX_SUFFIX, _flip_second_entry(8), 8, id="another offset"),
    pytest.param(
        OFFSET_INDEX_SUFFIX, lambda data: data[:15] + bytes([data[15] ^ 1]) + data[16:], 8, id="another place"
    ),
    pytest.param(OFFSET_INDEX_SUFFIX, lambda data: data[:-3], None, id="a part of an entry"),
    pytest.param(OFFSET_INDEX_SUFFIX, lambda data: data[8:] + data[:8], None, id="in another order"),
    pytest.param(OFFSET_INDEX_SUFFIX, None, None, id="missing"),
    pytest.param(TIME_INDEX_SUFFIX, lambda data: data[:7] + bytes([data[7] ^ 1]) + data[8:], 0, id="another time"),
    pytest.param(TIME_INDEX_SUFFIX, lambda data: data[:11] + bytes([data[11] ^ 8]) + data[12:], 0, id="offset of time"),
    pytest.param(TIME_INDEX_SUFFIX, lambda data: data[:-12], None, id="the last time missing"),
    pytest.param(TIME_INDEX_SUFFIX, lambda data: data + b"\x7f" * 12, None, id="a time too many"),
    pytest.param(TIME_INDEX_SUFFIX, lambda data: b"", None, id="no times"),
    pytest.param(TIME_INDEX_SUFFIX, None, None, id="times missing"),
]


@pytest.mark.parametrize(("suffix", "damage", "position"), INDEX_DAMAGE)
def test_an_index_that_does_not_fit_the_log_is_found(
    sample: Sample, suffix: str, damage: Callable[[bytes], bytes] | None, position: int | None
) -> None:
    """Whatever is wrong with an index of a segment, its file is named, with the byte of the entry if it is one."""
    path = segment_paths(sample.log, suffix)[1]
    content = sample.fs.read_bytes(path)
    if damage is None:
        sample.fs.unlink(path)
    else:
        sample.fs.write_bytes(path, damage(content))
    found = sample.errors()
    assert found
    assert {each.path for each in found} == {path}
    if position is not None:
        assert found[0].position == position


@pytest.mark.parametrize("at", range(34))
def test_a_changed_transaction_index_is_found(sample: Sample, at: int) -> None:
    """Any byte of an entry that says something else than the log is found."""
    [path] = [path for path in segment_paths(sample.log, TRANSACTION_INDEX_SUFFIX) if sample.fs.exists(path)]
    flip(sample.fs, path, at)
    found = sample.errors()
    assert {(each.path, each.position) for each in found} == {(path, 0)}


def test_a_transaction_index_that_is_missing_is_found(sample: Sample) -> None:
    """Where a transaction was aborted there must be an entry, or readers are given what never was."""
    [path] = [path for path in segment_paths(sample.log, TRANSACTION_INDEX_SUFFIX) if sample.fs.exists(path)]
    sample.fs.unlink(path)
    assert sample.the_error().path == path


@pytest.mark.parametrize("at", [0, 3, 7, 20, 30])
def test_a_changed_producer_snapshot_is_found(sample: Sample, at: int) -> None:
    """A snapshot has a checksum, a version and a count, and each of them is looked at."""
    path = segment_paths(sample.log, PRODUCER_SNAPSHOT_SUFFIX)[2]
    flip(sample.fs, path, at)
    assert sample.the_error().path == path


def test_a_snapshot_of_another_time_is_found(sample: Sample) -> None:
    """A whole snapshot that says something else than the log up to its offset is wrong."""
    earlier, path = segment_paths(sample.log, PRODUCER_SNAPSHOT_SUFFIX)[1:3]
    sample.fs.write_bytes(path, sample.fs.read_bytes(earlier))
    found = sample.errors()
    assert {each.path for each in found} == {path}
    assert "of producer 9 the snapshot says epoch 0, sequence" in found[0].reason


@pytest.mark.parametrize(
    "content",
    [b"0\n2\n0 0\n2 42\n", b"0\n2\n0 0\n3 7\n", b"0\n1\n0 0\n", b"0\n3\n0 0\n3 44\n9 5000\n", b"0\n9\n0 0\n", b"\xff"],
)
def test_leader_epochs_that_do_not_fit_are_found(sample: Sample, content: bytes) -> None:
    """The checkpoint of leader epochs is held against the epochs of the batches."""
    path = f"{SPOOL}/leader-epoch-checkpoint"
    assert sample.fs.read_bytes(path) == b"0\n2\n0 0\n3 44\n"
    sample.fs.write_bytes(path, content)
    assert {each.path for each in sample.errors()} == {path}


@pytest.mark.parametrize("name", [RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE])
def test_checkpoints_beyond_the_end_of_a_log_are_found(sample: Sample, name: str) -> None:
    """A checkpoint that promises more than the log has is wrong; one that cannot be read is, too."""
    path = f"{DATA}/{name}"
    write_offset_checkpoint(sample.fs, path, {PARTITION: sample.log.log_end_offset + 1})
    assert sample.the_error().path == path
    sample.fs.write_bytes(path, b"7\n")
    assert sample.the_error().path == path


def test_files_of_other_names_are_told(sample: Sample) -> None:
    """Names that are none of Kafka's are errors in a partition; what an interrupted job left is a note."""
    fs = sample.fs
    fs.write_bytes(f"{SPOOL}/strange.log", b"")
    fs.write_bytes(f"{SPOOL}/00000000000000000099.index", b"")
    fs.write_bytes(f"{SPOOL}/00000000000000000000.log.cleaned", b"")
    fs.write_bytes(f"{SPOOL}/leader-epoch-checkpoint.tmp", b"")
    fs.write_bytes(f"{DATA}/notes.txt", b"")
    fs.mkdir(f"{DATA}/lost+found")
    report = sample.verify()
    left = [each.reason.split(",")[0] for each in report.findings if each.path == SPOOL]
    assert left == ["files ending in .cleaned: 1", "files ending in .tmp: 1"]
    told = {(each.severity, each.path.removeprefix(DATA)) for each in report.findings}
    assert told == {
        (Severity.NOTE, "/spool-0"),
        (Severity.NOTE, "/notes.txt"),
        (Severity.ERROR, "/lost+found"),
        (Severity.ERROR, "/spool-0/00000000000000000099.index"),
        (Severity.ERROR, "/spool-0/strange.log"),
    }


def test_segments_that_overlap_are_found(sample: Sample) -> None:
    """A segment that begins before the one before it ends is wrong."""
    first, second = segment_paths(sample.log)[:2]
    sample.fs.write_bytes(first, sample.fs.read_bytes(first) + sample.fs.read_bytes(second))
    assert any(each.path in (first, second) for each in sample.errors())


def test_findings_in_a_file_of_garbage_are_limited(sample: Sample) -> None:
    """A file with very many faults does not fill the memory with them."""
    fs = MemoryFiles()
    log = open_at(fs, directory=SPOOL)
    batch = a_batch([b"x"])
    damaged = bytearray(batch)
    damaged[-1] ^= 1
    fs.write_bytes(segment_paths(log)[0], bytes(damaged) * 500)
    report = verify_directory(fs, SPOOL)
    assert MOST_PER_FILE < len(report.findings) <= 2 * MOST_PER_FILE


def test_a_running_broker_is_told_and_its_open_end_is_no_error(sample: Sample) -> None:
    """While the lock is held, what is being written may look unfinished."""
    lock = sample.fs.lock(f"{DATA}/{LOCK_FILE}")
    assert lock is not None
    path = segment_paths(sample.log)[-1]
    sample.fs.write_bytes(path, sample.fs.read_bytes(path)[:-5])
    remove_clean_shutdown(sample.fs, DATA)
    report = sample.verify()
    assert (report.is_running, report.errors) == (True, 0)
    assert any(each.path == path for each in report.findings)
    lock.release()


def test_a_directory_of_neither_kind_is_refused(sample: Sample) -> None:
    """What is neither a log directory nor a partition's is said to be so."""
    sample.fs.mkdir("/other")
    with pytest.raises(CorruptFile, match="neither a log directory"):
        verify_directory(sample.fs, "/other")


class Vanishing(MemoryFiles):
    """A file system in which a broker removes things between the listing of a directory and a look at them."""

    gone: tuple[str, ...] = ()

    def listdir(self, path: str) -> list[str]:
        if path in self.gone:
            raise FileNotFoundError(path)
        return super().listdir(path)

    def scan(self, path: str) -> list[DirectoryEntry]:
        if path in self.gone:
            raise FileNotFoundError(path)
        return super().scan(path)

    def open(self, path: str, create: bool = False, writable: bool = True) -> OpenMemoryFile:
        if path in self.gone:
            raise FileNotFoundError(path)
        return super().open(path, create, writable)


def test_what_a_running_broker_removes_meanwhile_is_a_note() -> None:
    """A partition that is deleted, or a segment that retention takes, while it is gone over is no error."""
    fs = Vanishing()
    log = make_log_directory(fs)
    fs.mkdir(f"{DATA}/other-1")
    lock = fs.lock(f"{DATA}/{LOCK_FILE}")
    assert lock is not None
    first = segment_paths(log)[0]
    fs.gone = (f"{DATA}/other-1", first)
    report = verify_directory(fs, DATA)
    assert report.errors == 0
    assert {each.path for each in report.findings if "removed meanwhile" in each.reason} == {f"{DATA}/other-1", first}
    assert data_size(fs, read_layout(fs, DATA)) == log.size
    lock.release()
    with pytest.raises(FileNotFoundError):
        verify_directory(fs, DATA)
