"""Checkpoints that are collected while logs come and go."""

from collections.abc import Callable

from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.directories.gathering import Steps
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.directories.test_manager import ONE, TWO, filled


def gathered(steps: Steps, meanwhile: Callable[[], object] = lambda: None, after: int = 1) -> int:
    """Take all steps, with something that happens after some of them, write, and return how many there were."""
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            if ended.value is not None:
                ended.value()
            return taken
        taken += 1
        if taken == after:
            meanwhile()


def test_checkpoints_are_collected_a_log_at_a_time() -> None:
    """They say what those say that are collected in one go, and an idle node does not write."""
    fs = MemoryFiles()
    manager = filled(fs)
    for log in manager:
        log.flush()
    assert gathered(manager.checkpoints.recovery_points_in_steps()) == len(manager)
    assert manager.checkpoints.recovery_points() is None
    assert gathered(manager.checkpoints.high_watermarks_in_steps([(ONE, 1), (TWO, 2)])) == 2 + len(manager)
    assert read_offset_checkpoint(fs, "/a/replication-offset-checkpoint") == {ONE: 1, TWO: 2}
    two = manager.get(TWO)
    assert two is not None
    two.delete_records_before(1)
    assert gathered(manager.checkpoints.log_starts_in_steps()) == len(manager)
    assert read_offset_checkpoint(fs, "/a/log-start-offset-checkpoint") == {TWO: 1}
    before = fs.operations
    gathered(manager.checkpoints.recovery_points_in_steps())
    gathered(manager.checkpoints.high_watermarks_in_steps([(ONE, 1), (TWO, 2)]))
    gathered(manager.checkpoints.log_starts_in_steps())
    assert fs.operations == before


def test_log_that_is_cut_while_a_checkpoint_is_collected_is_looked_at_again() -> None:
    """Its recovery point would lie above its end, and let a crash pass off what comes there as checked."""
    fs = MemoryFiles()
    manager = filled(fs)
    for log in manager:
        log.flush()
    gathered(manager.checkpoints.recovery_points_in_steps())
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint")[TWO] == 1
    gathered(manager.checkpoints.recovery_points_in_steps(), lambda: manager.truncate_to(TWO, 0), len(manager))
    assert read_offset_checkpoint(fs, "/a/recovery-point-offset-checkpoint")[TWO] == 0


def test_log_that_goes_while_a_checkpoint_is_collected_is_not_in_it() -> None:
    """A new one of the same name would take over its high watermark."""
    fs = MemoryFiles()
    manager = filled(fs)
    gathered(
        manager.checkpoints.high_watermarks_in_steps([(ONE, 1), (TWO, 2)]),
        lambda: manager.delete(TWO),
        2 + len(manager),
    )
    assert read_offset_checkpoint(fs, "/a/replication-offset-checkpoint") == {ONE: 1}
