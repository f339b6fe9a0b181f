"""Which log is compacted when, and what becomes of logs and of the process that fail."""

from __future__ import annotations

import asyncio
import errno
import gc
import io
import json
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from odradek.broker.compaction import log_cleaner
from odradek.broker.compaction.log_cleaner import LogCleaner, LogCleanerParts
from odradek.broker.compaction.process import ProcessGoneError
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.logging import configure_logging
from odradek.storage.compaction import workload
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.compaction import read_pairs
from tests.support.logs import NOW_MS, PARTITION, TOPIC_ID, append_values
from tests.unit.broker.compaction.doubles import CONFIG, ProcessInProcess, Scene, make_scene

LAST = [118, 119]


class Rig:
    """A log cleaner with a log, and a process that is a double."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lines: io.StringIO) -> None:
        self.scene: Scene = make_scene()
        self.settings = SimpleNamespace(
            log_cleaner_enable=True,
            log_cleaner_backoff_ms=1,
            log_cleaner_dedupe_buffer_size=1 << 20,
            log_cleaner_io_buffer_load_factor=0.9,
            log_cleaner_io_buffer_size=1 << 16,
            log_cleaner_io_max_bytes_per_second=1e308,
        )
        self.flushes = 0
        self.partitions = [Partition(self.scene.log, 1, 0, self)]
        self.started = 0
        self.dies_at: set[int] = set()
        """Which processes, counted from 1, die with the first message."""
        self.tasks: list[object] = []
        self._lines = lines
        monkeypatch.setattr("odradek.broker.compaction.process.start_process", self._start)
        monkeypatch.setattr(log_cleaner, "RETRY_S", 0.001)
        monkeypatch.setattr(log_cleaner, "NOT_NOW_S", 0.001)

    async def _start(self, *_: object) -> ProcessInProcess:
        self.started += 1
        number = self.started

        def before(_: int) -> None:
            if number in self.dies_at:
                raise ProcessGoneError("it has ended")

        process = ProcessInProcess(self.scene.fs, before)
        send = process.send

        async def noted(message: object) -> None:
            self.tasks.append(message)
            await send(message)  # type: ignore[arg-type]  # passed on as it is

        process.send = noted  # type: ignore[method-assign]  # a double of a double
        process.end = lambda: -9  # type: ignore[attr-defined]  # the exit code of one that was killed
        return process

    def request_in_background(self, partition: Partition) -> None:
        """Be the flusher."""
        self.flushes += 1

        def end() -> None:
            partition.log.flush()
            partition.flushed()

        asyncio.get_running_loop().call_later(0.001, end)

    request = request_in_background

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Let the log cleaner work until the condition holds."""

        async def main() -> None:
            with ThreadPoolExecutor(1) as threads:
                parts = LogCleanerParts(
                    asyncio.get_running_loop(),
                    threads,
                    ManualClock(NOW_MS),
                    self.scene.manager,
                    self.partitions,  # type: ignore[arg-type]  # the table is iterated over, no more
                    lambda: self.settings,  # type: ignore[arg-type, return-value]  # the fields that are read
                )
                working = LogCleaner(parts)
                working.start()
                async with asyncio.timeout(10):
                    while not condition():
                        await asyncio.sleep(0)
                await working.stop()

        asyncio.run(main())

    def append(self, *values: bytes) -> None:
        """Append a batch to the log."""
        append_values(self.scene.log, list(values))
        self.partitions[0].flushed()

    def lines(self, event: str) -> list[dict[str, object]]:
        """The log lines that begin so."""
        found = [json.loads(line) for line in self._lines.getvalue().splitlines()]
        return [line for line in found if line["event"].startswith(event)]

    def left(self) -> list[int]:
        """The offsets that are left."""
        return [offset for offset, _, _ in read_pairs(self.scene.log)]


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A log cleaner, and what it writes into the log of the broker."""
    lines = io.StringIO()
    configure_logging("info", lines, as_json=True)
    yield Rig(monkeypatch, lines)
    configure_logging()


def test_a_dirty_log_is_compacted_once(rig: Rig) -> None:
    """It is said, written down, and then there is nothing to do until something else is dirty."""
    rig.run_until(lambda: bool(rig.lines("compacted")))
    assert rig.left() == LAST
    assert rig.scene.manager.checkpoints.cleaned_offsets == {PARTITION: 120}
    [line] = rig.lines("compacted")
    assert (line["upto_offset"], line["records_kept"], line["records_removed"]) == (120, 2, 118)
    assert line["bytes_after"] < line["bytes_before"]  # type: ignore[operator]  # numbers, as they come out of JSON
    for _ in range(10):
        rig.append(b"again", b"again")
    rig.scene.log.roll(NOW_MS)
    rig.run_until(lambda: len(rig.lines("compacted")) == 2)
    assert rig.left() == [138, 139]
    assert rig.flushes >= 1


def test_nothing_is_started_where_there_is_nothing_to_do(rig: Rig) -> None:
    """Neither a process, if no log is dirty, nor anything at all with log.cleaner.enable=false."""
    rig.scene.manager.checkpoints.cleaned_offsets[PARTITION] = 120
    looks = iter(range(1000))
    rig.run_until(lambda: next(looks) > 20)
    assert rig.started == 0
    rig.scene.manager.checkpoints.cleaned_offsets.clear()
    rig.settings.log_cleaner_enable = False
    rig.run_until(lambda: next(looks) > 40)
    assert rig.started == 0


def test_a_look_that_brings_a_log_to_the_disk_is_followed_by_another(rig: Rig) -> None:
    """A log is compacted within one log.cleaner.backoff.ms of being dirty, and not only with the look after that."""
    rig.settings.log_cleaner_backoff_ms = 3_600_000
    rig.append(b"not", b"on the disk")
    rig.scene.log.roll(NOW_MS)
    rig.scene.log.update_config(replace(CONFIG, min_cleanable_dirty_ratio=0.0))
    rig.scene.manager.checkpoints.cleaned_offsets[PARTITION] = 120
    rig.run_until(lambda: bool(rig.lines("compacted")))
    assert rig.flushes == 1


def test_a_log_that_cannot_be_compacted_is_not_held_once_it_is_deleted(rig: Rig) -> None:
    """Its files are given back, so that the disk has their space again without a restart."""
    path = f"{rig.scene.log.directory}/{0:020d}.log"
    rig.scene.fs.open(path).pwrite(b"\xff", 66)
    file = weakref.ref(rig.scene.log.segments.active.file)

    def is_given_up() -> bool:
        if not rig.lines("a log cannot be compacted"):
            return False
        if rig.partitions:
            rig.scene.manager.delete(PARTITION)
            rig.partitions.clear()
            rig.scene = rig.scene._replace(log=None)  # type: ignore[arg-type]  # nobody asks for it any more
        gc.collect()
        return file() is None

    rig.run_until(is_given_up)


def test_a_look_at_many_logs_leaves_others_their_turns(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand compacted partitions it takes a tenth of a second."""
    monkeypatch.setattr(log_cleaner, "TURN_S", 0.0)
    rig.scene.manager.checkpoints.cleaned_offsets[PARTITION] = 120
    rig.settings.log_cleaner_backoff_ms = 3_600_000
    looked = 0
    may_be_compacted = LogCleaner._may_be_compacted

    def counted(self: LogCleaner, partition: Partition) -> bool:
        nonlocal looked
        looked += 1
        return may_be_compacted(self, partition)

    monkeypatch.setattr(LogCleaner, "_may_be_compacted", counted)
    rig.partitions *= 50
    seen: set[int] = set()

    def is_over() -> bool:
        seen.add(looked)
        return looked >= 50

    rig.run_until(is_over)
    assert len(seen) > 10


def test_settings_are_those_of_the_moment(rig: Rig) -> None:
    """What was changed at run time counts with the next round."""
    rig.settings.log_cleaner_dedupe_buffer_size = 5000
    rig.settings.log_cleaner_io_max_bytes_per_second = 1e9
    rig.run_until(lambda: bool(rig.lines("compacted")))
    task = rig.tasks[0]
    assert (task.map_bytes, task.max_bytes_per_second) == (5000, 1e9)  # type: ignore[attr-defined]  # it is a Task


def test_a_damaged_log_is_tried_once(rig: Rig) -> None:
    """One line names the file and the byte; the log stays as it is until the next start."""
    path = f"{rig.scene.log.directory}/{0:020d}.log"
    data = bytearray(rig.scene.fs.read_bytes(path))
    data[66] ^= 1
    rig.scene.fs.open(path).pwrite(bytes(data), 0)
    before = rig.left()
    rig.run_until(lambda: bool(rig.lines("a log cannot be compacted")))
    looks = iter(range(100))
    rig.run_until(lambda: next(looks) > 5)
    [line, *_] = rig.lines("a log cannot be compacted")
    assert line["file"] == path
    assert "byte 0 " in str(line["reason"])
    assert rig.left() == before


def test_a_log_that_one_round_does_not_finish_lets_others_go_first(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much of it is dirty: each round of it could take half a minute."""
    other = TopicPartition(PARTITION.topic, PARTITION.partition + 1)
    clean = rig.scene.manager.get_or_create(other, TOPIC_ID, CONFIG)
    for number in range(30):
        append_values(clean, [b"%d" % number * 10, b"other"])
    clean.roll(NOW_MS)
    clean.flush()
    rig.scene.manager.checkpoints.cleaned_offsets[other] = 20
    rig.partitions.append(Partition(clean, 1, 0, rig))
    monkeypatch.setattr(workload, "STEPS_OF_A_ROUND", 50)
    rig.run_until(lambda: len(rig.lines("compacted")) == 4)
    assert [line["partition"] for line in rig.lines("compacted")[:2]] == [PARTITION.partition, other.partition]
    assert rig.left() == LAST


def test_a_process_that_dies_is_started_again(rig: Rig) -> None:
    """And what it was writing is removed."""
    rig.dies_at = {1, 2}
    rig.run_until(lambda: bool(rig.lines("compacted")))
    assert rig.started == 3
    assert [line["exit_code"] for line in rig.lines("the compaction process has died")] == [-9, -9]
    assert rig.left() == LAST
    assert rig.scene.leftovers() == []


def test_a_log_that_kills_every_process_is_left_alone(rig: Rig) -> None:
    """After three deaths in a row, with a line that says so."""
    rig.dies_at = {1, 2, 3, 4}
    rig.run_until(lambda: bool(rig.lines("a log cannot be compacted")))
    assert rig.started == 3
    assert "died over it 3 times" in str(rig.lines("a log cannot be compacted")[0]["reason"])


@pytest.mark.parametrize("path_part", [".cleaned", "recovery-point"])
def test_a_log_is_tried_again_when_the_disk_was_full(rig: Rig, path_part: str) -> None:
    """Space comes back, not least by compaction: it is said once, and no log is given up, nor is the process ended."""
    rig.scene.fs.fail("write", errno.ENOSPC, path_part, times=3)
    rig.run_until(lambda: bool(rig.lines("compacted")))
    assert rig.left() == LAST
    [line] = rig.lines("a log cannot be compacted")
    assert path_part in str(line["file"])
    assert "No space left" in str(line["reason"])
    assert rig.started == 1
    assert rig.scene.leftovers() == []


def test_compaction_goes_on_where_leftovers_cannot_be_removed(rig: Rig) -> None:
    """The next start removes them; a process that has died is started again nevertheless."""
    rig.dies_at = {1}
    rig.scene.fs.fail("unlink", errno.EIO, ".cleaned")
    rig.run_until(lambda: bool(rig.lines("compacted")))
    assert len(rig.lines("what compaction was writing stays")) == 1
    assert rig.left() == LAST
