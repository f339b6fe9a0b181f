"""A node that crashes: what it does, what it has promised, and what must be found afterwards.

`crash_everywhere` lets a scenario crash in its k-th file operation, for every k, and verifies each time what a start
finds. A scenario is a function of a `Node`; a new kind of operation is a method of it, or of a class that inherits it.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar
from uuid import UUID

from odradek.config.topic import TopicConfig
from odradek.storage.directories.loading import LoadReport
from odradek.storage.directories.manager import LogManager
from odradek.storage.log.log import Log
from odradek.storage.log.retention import remove_next_due
from odradek.storage.names import LOG_SUFFIX, TopicPartition
from tests.support.log_directories import open_log_directories
from tests.support.logs import NOW_MS, PARTITION, TOPIC_ID, append_values, check_log, contents, read_all, small_config
from tests.support.memory_files import MemoryFiles, SimulatedCrash

ROOT = "/data"
SECOND_TOPIC_ID = UUID("b3f0c1de-0000-4000-8000-0123456789ab")


@dataclass(slots=True)
class Journal:
    """What the node has promised of one partition, and all that may be found there without harm."""

    possible: dict[int, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    written: list[bytes] = field(default_factory=list)
    flushed: int = 0
    """Records below this offset must survive."""
    start: int = 0
    """Records below this offset may be gone."""
    topic_id: UUID | None = TOPIC_ID
    """None once the partition is deleted."""
    may_have_gaps: bool = False
    """Whether records in the middle may be gone: those of which a later one has the key."""


class Node:
    """A node with one log directory, or those of a class that inherits it, on disks that may fail at any operation."""

    paths: ClassVar[tuple[str, ...]] = (ROOT,)

    def __init__(self, fs: MemoryFiles, journal: Journal) -> None:
        """Start, with what is on the disk."""
        self.fs = fs
        self.journal = journal
        self.config: TopicConfig = small_config(segment_bytes=700, index_interval_bytes=100)
        ids = iter(range(1, 1000))
        directories = open_log_directories(fs, self.paths, 1, lambda: UUID(int=(1 << 100) + next(ids)))
        self.manager = LogManager(fs, directories, lambda: NOW_MS)
        self.report: LoadReport = self.manager.load_all(self._wanted)

    def _wanted(self, partition: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        topic_id = self.journal.topic_id
        return (topic_id, self.config) if topic_id is not None and partition == PARTITION else None

    @property
    def log(self) -> Log:
        """The log of the one partition."""
        assert self.journal.topic_id is not None
        return self.manager.get_or_create(PARTITION, self.journal.topic_id, self.config)

    def append(self, count: int) -> None:
        """Append batches of two records."""
        journal, log = self.journal, self.log
        for _ in range(count):
            first = len(journal.written)
            values = [b"record %d of %d" % (offset, len(journal.possible)) for offset in range(first, first + 2)]
            for offset, value in enumerate(values, first):
                journal.possible[offset].add(value)
            append_values(log, values, timestamp=NOW_MS + first, epoch=first // 20)
            journal.written += values

    def flush(self) -> None:
        """Bring all to the disk: from now on it must survive."""
        self.log.flush()
        self.journal.flushed = len(self.journal.written)

    def checkpoint(self) -> None:
        """Write all checkpoints, as the jobs in the background do."""
        high_watermarks = {PARTITION: self.log.log_end_offset}
        for write in (
            self.manager.checkpoints.recovery_points(),
            self.manager.checkpoints.log_starts(),
            self.manager.checkpoints.high_watermarks(high_watermarks),
        ):
            if write:
                write()

    def truncate(self, offset: int) -> None:
        """Cut records off the end."""
        self.journal.flushed = min(self.journal.flushed, offset)
        self.manager.truncate_to(PARTITION, offset)
        del self.journal.written[offset:]

    def delete_records(self, offset: int) -> None:
        """Move the start up."""
        self.journal.start = offset
        self.log.delete_records_before(offset)

    def retain(self, **limits: int) -> None:
        """Remove old segments by these limits of the topic's configuration."""
        log = self.log
        log.update_config(replace(self.config, **limits))  # type: ignore[arg-type]  # the limits are integers
        now_ms = NOW_MS + len(self.journal.written)
        self.journal.start = len(self.journal.written)  # a crash in the middle leaves any part of it done
        while remove_next_due(log, log.log_end_offset, now_ms):
            pass
        log.update_config(self.config)
        self.journal.start = log.log_start_offset

    def delete(self) -> None:
        """Delete the partition."""
        self.journal.topic_id = None
        self.manager.delete(PARTITION)

    def create_again(self) -> None:
        """Make a partition of the same name, of another topic."""
        self.journal.possible.clear()
        self.journal.written.clear()
        self.journal.flushed = self.journal.start = 0
        self.journal.topic_id = SECOND_TOPIC_ID
        assert self.log.log_end_offset == 0

    def run_deletions(self) -> None:
        """Let the files go whose time has come."""
        for moment in (NOW_MS, NOW_MS + 100_000):
            remove = self.manager.due_deletions(moment)
            if remove:
                remove()

    def restart(self) -> "Node":
        """Stop in order, and start."""
        assert self.manager.close() == []
        return type(self)(self.fs, self.journal)


N = TypeVar("N", bound=Node)


def crash_everywhere(kind: type[N], scenario: Callable[[N], None], seed: int) -> int:
    """Let the scenario crash in every one of its file operations, and verify what is found; return how many there are.

    What a failure needs to be repeated is printed.
    """
    crash_at = 0
    while True:
        journal = Journal()
        fs = MemoryFiles(seed * 1000 + crash_at, crash_at=crash_at)
        try:
            scenario(kind(fs, journal))
        except SimulatedCrash:
            survivor = fs.crash()
            try:
                verify(kind, survivor, journal)
            except BaseException:
                print(f"{scenario.__name__}, seed {seed}, crash at operation {crash_at}")  # noqa: T201
                raise
        else:
            return crash_at
        crash_at += 1


def verify(kind: type[N], fs: MemoryFiles, journal: Journal) -> None:
    """Start the node again, and hold what it has against the journal; then once more, and go on with it."""
    node = kind(fs, journal)
    assert node.report.offline == {}
    if journal.topic_id is None:
        assert len(node.manager) == 0
        return
    log = node.log
    check_log(log)
    found = read_all(log)
    offsets = [offset for offset, _ in found]
    if not journal.may_have_gaps:
        assert offsets == list(range(log.log_start_offset, log.log_end_offset))
    assert log.log_end_offset >= journal.flushed
    assert log.log_start_offset <= max(journal.start, 0)
    for offset, value in found:
        assert value in journal.possible[offset]
        if offset < journal.flushed:
            assert value == journal.written[offset]
    log.flush()
    once = state_of(node)
    again = kind(fs.crash(kept=1.0), journal)
    again.log.flush()
    assert state_of(again) == once
    again.append(3)
    check_log(again.log)
    again.restart()


def state_of(node: Node) -> dict[str, object]:
    """Return where the log is, its data files, and all that it derives from them."""
    log = node.log
    files = contents(node.fs, log.directory)
    return {
        "start": log.log_start_offset,
        "end": log.log_end_offset,
        "files": {name: files[name] for name in files if name.endswith(LOG_SUFFIX)},
        "others": sorted(name for name in files if name.endswith((".deleted", ".cleaned", ".swap", ".tmp"))),
        "indexes": [(segment.indexes.offsets.count, segment.indexes.offsets.last_entry) for segment in log.segments],
        "times": [(segment.max_timestamp, segment.max_timestamp_offset) for segment in log.segments],
        "epochs": [entry for entry in log.leader_epochs.entries if entry.start_offset < log.log_end_offset],
        "producers": {producer: entry.batches for producer, entry in log.producers.entries.items()},
    }
