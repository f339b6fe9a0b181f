"""The power fails in the k-th file operation, for every k: what was flushed is there afterwards, and all is in order.

Each scenario runs on a disk in memory until the crash, which keeps what was synced and a random share of the rest. Then
the node starts again, and what it has is held against a journal of what it had promised.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from config.topic import TopicConfig
from storage.log import Log
from storage.manager import LoadReport, LogManager
from storage.names import LOG_SUFFIX, TopicPartition
from tests.support.log_directories import open_log_directories
from tests.support.logs import NOW_MS, PARTITION, TOPIC_ID, append_values, check_log, contents, read_all, small_config
from tests.support.memory_files import MemoryFiles, SimulatedCrash

ROOT = "/data"
SEEDS = range(3)
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


class Node:
    """A node with one log directory, on a disk that may fail at any operation."""

    def __init__(self, fs: MemoryFiles, journal: Journal) -> None:
        self.fs = fs
        self.journal = journal
        self.config: TopicConfig = small_config(segment_bytes=700, index_interval_bytes=100)
        ids = iter(range(1, 1000))
        directories = open_log_directories(fs, [ROOT], 1, lambda: UUID(int=(1 << 100) + next(ids)))
        self.manager = LogManager(fs, directories, lambda: NOW_MS)
        self.report: LoadReport = self.manager.load_all(self._wanted)

    def _wanted(self, partition: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        topic_id = self.journal.topic_id
        return (topic_id, self.config) if topic_id is not None and partition == PARTITION else None

    @property
    def log(self) -> Log:
        assert self.journal.topic_id is not None
        return self.manager.get_or_create(PARTITION, self.journal.topic_id, self.config)

    def append(self, count: int) -> None:
        journal, log = self.journal, self.log
        for _ in range(count):
            first = len(journal.written)
            values = [b"record %d of %d" % (offset, len(journal.possible)) for offset in range(first, first + 2)]
            for offset, value in enumerate(values, first):
                journal.possible[offset].add(value)
            append_values(log, values, timestamp=NOW_MS + first, epoch=first // 20)
            journal.written += values

    def flush(self) -> None:
        self.log.flush()
        self.journal.flushed = len(self.journal.written)

    def checkpoint(self) -> None:
        for write in (self.manager.checkpoint_recovery_points(), self.manager.checkpoint_log_starts()):
            if write:
                write()

    def truncate(self, offset: int) -> None:
        self.journal.flushed = min(self.journal.flushed, offset)
        self.manager.truncate_to(PARTITION, offset)
        del self.journal.written[offset:]

    def delete_records(self, offset: int) -> None:
        self.journal.start = offset
        self.log.delete_records_before(offset)

    def delete(self) -> None:
        self.journal.topic_id = None
        self.manager.delete(PARTITION)

    def create_again(self) -> None:
        self.journal.possible.clear()
        self.journal.written.clear()
        self.journal.flushed = self.journal.start = 0
        self.journal.topic_id = SECOND_TOPIC_ID
        assert self.log.log_end_offset == 0

    def run_deletions(self) -> None:
        for moment in (NOW_MS, NOW_MS + 100_000):
            remove = self.manager.due_deletions(moment)
            if remove:
                remove()

    def restart(self) -> "Node":
        assert self.manager.close() == []
        return Node(self.fs, self.journal)


def appends_and_rolls(node: Node) -> None:
    """Fill several segments, with flushes and checkpoints in between."""
    for _ in range(3):
        node.append(4)
        node.flush()
        node.checkpoint()
        node.append(3)
        node.checkpoint()


def flush_at_the_end_of_a_segment(node: Node) -> None:
    """Flush and write the checkpoint just before a roll, and crash before the next flush."""
    node.append(3)
    node.flush()
    node.checkpoint()
    node.log.roll(NOW_MS)
    node.append(2)
    node.checkpoint()
    node.log.roll(NOW_MS)
    node.flush()
    node.checkpoint()


def clean_restarts(node: Node) -> None:
    """Stop cleanly, start, go on, and stop again."""
    node.append(6)
    node = node.restart()
    node.append(6)
    node.flush()
    node = node.restart()
    node.append(1)
    node.restart()


def truncations(node: Node) -> None:
    """Cut the log and write other records where it was cut."""
    node.append(8)
    node.flush()
    node.truncate(10)
    node.append(6)
    node.flush()
    node.checkpoint()
    node.truncate(2)
    node.append(9)
    node.flush()


def deleted_records(node: Node) -> None:
    """Move the start of the log up, over whole segments and within one."""
    node.append(12)
    node.flush()
    node.delete_records(9)
    node.checkpoint()
    node.append(4)
    node.delete_records(21)
    node.run_deletions()
    node.flush()
    node.checkpoint()


def deleted_topics(node: Node) -> None:
    """Delete a partition that has data, and make one of the same name."""
    node.append(9)
    node.flush()
    node.delete_records(9)
    node.checkpoint()
    node.delete()
    node.create_again()
    node.append(4)
    node.flush()
    node.checkpoint()
    node.run_deletions()
    node.append(2)


SCENARIOS = (
    appends_and_rolls,
    flush_at_the_end_of_a_segment,
    clean_restarts,
    truncations,
    deleted_records,
    deleted_topics,
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_flushed_survives_a_crash_in_every_operation(scenario: Callable[[Node], None], seed: int) -> None:
    """Whatever the k-th operation is, nothing flushed is lost, and a second recovery finds nothing to do."""
    crash_at = 0
    while True:
        journal = Journal()
        fs = MemoryFiles(seed * 1000 + crash_at, crash_at=crash_at)
        try:
            scenario(Node(fs, journal))
        except SimulatedCrash:
            survivor = fs.crash()
            try:
                verify(survivor, journal)
            except BaseException:
                print(f"{scenario.__name__}, seed {seed}, crash at operation {crash_at}")  # noqa: T201
                raise
        else:
            break
        crash_at += 1
    assert crash_at > 50


def verify(fs: MemoryFiles, journal: Journal) -> None:
    """Start the node again, and hold what it has against the journal."""
    node = Node(fs, journal)
    assert node.report.offline == {}
    if journal.topic_id is None:
        assert len(node.manager) == 0
        return
    log = node.log
    check_log(log)
    found = read_all(log)
    offsets = [offset for offset, _ in found]
    assert offsets == list(range(log.log_start_offset, log.log_end_offset))
    assert log.log_end_offset >= journal.flushed
    assert log.log_start_offset <= max(journal.start, 0)
    for offset, value in found:
        assert value in journal.possible[offset]
        if offset < journal.flushed:
            assert value == journal.written[offset]
    log.flush()
    once = state_of(node)
    again = Node(fs.crash(kept=1.0), journal)
    again.log.flush()
    assert state_of(again) == once
    again.append(3)
    again.restart()


def state_of(node: Node) -> tuple[int, int, dict[str, bytes]]:
    """Return where the log is, and all of its files."""
    log = node.log
    files = contents(node.fs, log.directory)
    return log.log_start_offset, log.log_end_offset, {name: files[name] for name in files if name.endswith(LOG_SUFFIX)}
