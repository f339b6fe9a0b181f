"""Long work goes in slices: every piece of it gets its turns, and what fails or is stopped holds up nobody."""

from collections.abc import Generator

from odradek.broker.coordinator.background import TURN_S, Background
from tests.support.clock import ManualClock
from tests.unit.broker.groups.shard_world import ManualScheduler


class World:
    """Work in the background whose slices take as much time as a test says."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.scheduler = ManualScheduler(self.clock)
        self.background = Background(self.scheduler)
        self.seen: list[str] = []

    def work(self, name: str, slices: int, slice_s: float = TURN_S) -> Generator[None, None, str]:
        """Return work of so many slices."""
        for _ in range(slices):
            self.seen.append(name)
            self.clock.advance(slice_s)
            yield
        return name

    def turn(self) -> None:
        """Let the loop come around once."""
        self.scheduler.advance(0)


def test_each_turn_of_the_loop_goes_to_another_piece_of_work() -> None:
    """And takes no longer than it is allowed to."""
    world = World()
    done: list[str] = []
    world.background.add(world.work("a", 3), done.append)
    world.background.add(world.work("b", 1), done.append)
    assert world.seen == []
    for _ in range(6):
        world.turn()
    assert world.seen == ["a", "b", "a", "a"]
    assert done == ["b", "a"]
    assert world.scheduler.pending == 0


def test_short_slices_share_a_turn() -> None:
    """As many as fit."""
    world = World()
    world.background.add(world.work("a", 100, TURN_S / 9.5), lambda _: None)
    world.turn()
    assert len(world.seen) == 10


def test_work_that_fails_does_not_hold_up_the_rest() -> None:
    """It is dropped."""
    world = World()
    done: list[str] = []

    def failing() -> Generator[None, None, str]:
        yield
        raise ValueError("nobody thought of this")

    world.background.add(failing(), done.append)
    world.background.add(world.work("b", 2), done.append)
    for _ in range(6):
        world.turn()
    assert done == ["b"]


def test_nothing_is_done_after_a_stop() -> None:
    """Neither what had begun nor what comes."""
    world = World()
    done: list[str] = []
    world.background.add(world.work("a", 2), done.append)
    world.turn()
    world.background.stop()
    world.background.add(world.work("b", 2), done.append)
    for _ in range(6):
        world.turn()
    assert (world.seen, done, world.scheduler.pending) == (["a"], [], 0)
