"""The power fails in the k-th file operation of a move between log directories, for every k: one log has everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from odradek.broker.moving.copying import align, copy_piece, first_offset, next_piece
from odradek.storage.errors import NotInMemory
from odradek.storage.names import directory_name
from tests.crash.node import Journal, Node, crash_everywhere
from tests.support.logs import NOW_MS, PARTITION
from tests.support.memory_files import MemoryFiles

T = TypeVar("T")


def waited(look: Callable[[], T]) -> T:
    """Look again once the disk has been waited for."""
    while True:
        try:
            return look()
        except NotInMemory as missing:
            missing.bring()


class MovingNode(Node):
    """A node with two log directories, whose partition moves between them."""

    paths = ("/a", "/b")

    def __init__(self, fs: MemoryFiles, journal: Journal) -> None:
        super().__init__(fs, journal)
        name = directory_name(PARTITION)
        homes = [path for path in self.paths if fs.exists(f"{path}/{name}")]
        assert len(homes) <= 1
        copies = [each for path in self.paths for each in fs.listdir(path) if each.endswith("-future")]
        assert not (homes and copies)  # one without the log, of which nothing was synced yet, is left alone

    def move(self, written_meanwhile: int = 0, flushed_meanwhile: bool = False) -> None:
        """Move the partition to the other directory, as the broker does; write to it before the copy takes over."""
        futures, log = self.manager.futures, self.log
        [target] = [one for one in self.manager.directories if not log.directory.startswith(f"{one.path}/")]
        future = futures.begin(PARTITION, target)
        futures.make(future, log, waited(lambda: first_offset(log)))
        copy = future.log
        assert copy is not None

        def catch_up() -> None:
            while (piece := waited(lambda: next_piece(log, copy, 300, NOW_MS))) is not None:
                copy_piece(piece, copy, NOW_MS)
            align(log, copy, False, NOW_MS)

        catch_up()
        if flushed_meanwhile:
            self.append(written_meanwhile)
            self.flush()
            self.checkpoint()
            catch_up()
        plan = copy.prepare_flush()
        futures.make_durable(future, plan)
        if plan is not None:
            copy.local.complete_flush(plan)
        if not flushed_meanwhile:
            self.append(written_meanwhile)
            catch_up()
        assert copy.recovery_point >= log.recovery_point
        futures.swap(future, log)()
        assert log.directory == f"{target.path}/{directory_name(PARTITION)}"


def there(node: MovingNode) -> None:
    """Fill segments, move them, write on."""
    node.append(20)
    node.flush()
    node.checkpoint()
    node.move(written_meanwhile=3)
    node.append(4)
    node.flush()
    node.checkpoint()
    node.run_deletions()


def there_and_back(node: MovingNode) -> None:
    """Move twice; the checkpoints of both directories speak of the partition for a while."""
    node.append(12)
    node.move(written_meanwhile=5, flushed_meanwhile=True)
    node.append(6)
    node.checkpoint()
    node.move(written_meanwhile=2)
    node.flush()
    node.run_deletions()


def cut_after_the_move(node: MovingNode) -> None:
    """What is cut off does not come back, whatever the old directory's checkpoints say."""
    node.append(20)
    node.flush()
    node.checkpoint()
    node.move()
    node.truncate(16)
    node.append(5)
    node.flush()
    node.delete_records(9)
    node.checkpoint()


def called_off_and_deleted(node: MovingNode) -> None:
    """A copy that is thrown away, and one that goes with its partition."""
    node.append(8)
    futures = node.manager.futures
    future = futures.begin(PARTITION, node.manager.directories[1])
    futures.make(future, node.log, 0)
    futures.discard(PARTITION)
    future = futures.begin(PARTITION, node.manager.directories[1])
    futures.make(future, node.log, 0)
    node.delete()
    node.run_deletions()


def with_restarts(node: MovingNode) -> None:
    """Stop and start between moves."""
    node.append(8)
    node.move(written_meanwhile=2)
    node = node.restart()  # type: ignore[assignment]  # of the same kind
    node.append(4)
    node.move(written_meanwhile=1)
    node.flush()
    node.restart()


@pytest.mark.parametrize("scenario", [there, there_and_back, cut_after_the_move, called_off_and_deleted, with_restarts])
@pytest.mark.parametrize("seed", range(1))
def test_one_log_has_everything(scenario: Callable[[MovingNode], None], seed: int) -> None:
    """Whatever was flushed is there, in exactly one directory, and no copy is left beside it."""
    assert crash_everywhere(MovingNode, scenario, seed) > 40
