"""The machine below a simulated node does as a real one does."""

from tests.simulation.node import SimulatedExecutor
from tests.simulation.world import SimulatedProcess, SimulatedThreads, World


def test_work_that_was_given_up_is_left_undone_and_holds_nothing_up() -> None:
    """As with the threads of a pool: what nobody wants any more is not begun."""
    world = World(1)
    executor = SimulatedExecutor(SimulatedThreads(world, SimulatedProcess("node")))
    done: list[str] = []
    given_up, wanted = (executor.submit(done.append, name) for name in ("given up", "wanted"))
    assert given_up.cancel()
    assert world.run_until(wanted.done, 1.0)
    assert done == ["wanted"]
    assert not wanted.cancel()
