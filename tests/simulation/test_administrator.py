"""What an administrator of the simulated cluster asks for happens once, however late his requests arrive."""

from tests.simulation.administrator import Administrator
from tests.simulation.clients import Ledger
from tests.simulation.cluster import CONTROLLER, SimulatedCluster, address_of
from tests.simulation.world import World

LATE_S, QUIET_S = 30.0, 15.0


def test_late_deletion_spares_the_next_topic_of_that_name() -> None:
    """What a broker has sent on to the controller may arrive when the topic is another one."""
    world = World(1)
    cluster = SimulatedCluster(world, 2, 2, {})
    for node in cluster.nodes.values():
        node.start()
    first, second = (Administrator(cluster.network, f"admin-{n}", [address_of(n)], Ledger()) for n in (1, 2))
    done: list[str] = []

    def wait_for(what: str) -> None:
        assert world.run_until(lambda: what in done, LATE_S), what

    assert world.run_until(lambda: all(node.partitions is not None for node in cluster.brokers), LATE_S)
    first.create("t", 1, 2, {}, lambda: done.append("made"))
    wait_for("made")
    world.run(1.0, lambda _process: None)  # until both brokers know of it
    cluster.network.faults.cut.add(("node-1", f"node-{CONTROLLER}"))
    first.delete("t", lambda: done.append("deleted late"))
    second.delete("t", lambda: done.append("deleted"))
    wait_for("deleted")
    second.create("t", 1, 2, {}, lambda: done.append("made anew"))
    wait_for("made anew")
    assert "deleted late" not in done
    cluster.network.faults.cut.clear()
    wait_for("deleted late")
    world.run(QUIET_S, lambda _process: None)
    image = cluster.nodes[CONTROLLER].image
    assert image is not None
    assert image.topic("t") is not None
