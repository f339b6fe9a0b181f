"""The power fails while a node starts that was stopped in order, or the start is given up."""

import asyncio
import errno
from collections.abc import Mapping
from copy import deepcopy

import pytest

from odradek.broker.network.listener import BoundListener
from odradek.broker.servers.roles import server_of_roles
from odradek.broker.servers.shared import SharedServer
from odradek.config.settings import build_settings
from tests.simulation.network import SimulatedNetwork
from tests.simulation.node import SimulatedHost, SimulatedListeners
from tests.simulation.world import SimulatedLoop, SimulatedProcess, World
from tests.support.memory_files import MemoryFiles, SimulatedCrash

MARKER = "/data/.kafka_cleanshutdown"
COMMON = {
    "node.id": "1",
    "log.dirs": "/data",
    "log.cleaner.enable": "false",
    "num.recovery.threads.per.data.dir": "1",
}
ALONE = {"listeners": "PLAINTEXT://10.0.0.1:9092"}
OF_CLUSTER = {
    "controller.quorum.voters": "1@10.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
}
CONTROLLER = {**OF_CLUSTER, "process.roles": "controller", "listeners": "CONTROLLER://10.0.0.1:9093"}
SEEDS = 2
"""How often each operation is the last: what of it and those before survives is drawn."""
BOTH = {
    **OF_CLUSTER,
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://10.0.0.1:9092,CONTROLLER://10.0.0.1:9093",
}


class Life:
    """A node from its start to its end, on some files."""

    def __init__(self, roles: Mapping[str, str], files: MemoryFiles) -> None:
        self._world = World(1)
        self._process = SimulatedProcess("node")
        self._loop = SimulatedLoop(self._world, self._process)
        host = SimulatedHost(self._world, SimulatedNetwork(self._world), self._process, files)
        self._shared = SharedServer(self._loop, build_settings({**COMMON, **roles}, {}), host)
        self._server = server_of_roles(self._shared)

    async def _start(self) -> None:
        self._shared.start()
        await self._server.start()

    async def _stop(self) -> None:
        await self._server.stop()
        self._shared.stop()

    def _run(self, work: "asyncio.Task[None]") -> None:
        assert self._world.run_until(work.done, 60.0)
        work.result()

    def start(self) -> None:
        """Serve; raises what keeps the node from it."""
        self._run(self._loop.create_task(self._start()))

    def stop(self) -> None:
        """Stop in order."""
        self._run(self._loop.create_task(self._stop()))


def stopped_in_order(roles: Mapping[str, str], seed: int) -> MemoryFiles:
    """Return the files of a node that has been stopped in order."""
    files = MemoryFiles(seed)
    life = Life(roles, files)
    life.start()
    life.stop()
    assert files.exists(MARKER)
    return files.handed_on()


@pytest.mark.parametrize("roles", [ALONE, CONTROLLER, BOTH], ids=["alone", "controller", "both"])
def test_power_that_fails_at_any_moment_of_a_start_keeps_nobody_from_the_next(roles: Mapping[str, str]) -> None:
    """What the start has written may be torn: that it was in order before does not make that damage."""
    for seed in range(SEEDS):
        in_order = stopped_in_order(roles, seed)
        crashes = 0
        while (crashed := crashed_at_start(roles, deepcopy(in_order), crashes)) is not None:
            crashes += 1
            Life(roles, crashed).start()
        assert crashes >= 2  # the marker is removed, durably


def crashed_at_start(roles: Mapping[str, str], files: MemoryFiles, operation: int) -> MemoryFiles | None:
    """Return what is found after that operation of a start was the last one; None where it has no more so many."""
    files.crash_at = files.operations + operation
    try:
        Life(roles, files).start()
    except SimulatedCrash:
        return files.crash()
    return None


@pytest.mark.parametrize("taken", ["PLAINTEXT", "CONTROLLER"])
def test_start_that_is_given_up_leaves_the_marker_as_it_was(taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that somebody else has is no crash: nothing need be recovered, and the broker's epoch is still known."""
    files = stopped_in_order(BOTH, 0)
    marker = files.read_bytes(MARKER)
    assert b"-1" not in marker

    def refuse(_self: SimulatedListeners, name: str, host: str, port: int) -> BoundListener:
        if name == taken:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        return BoundListener(name, host, port)

    monkeypatch.setattr(SimulatedListeners, "bind", refuse)
    with pytest.raises(OSError, match="already in use"):
        Life(BOTH, files).start()
    assert files.crash(kept=0.0).read_bytes(MARKER) == marker
