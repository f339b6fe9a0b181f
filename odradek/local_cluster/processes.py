"""The nodes of a cluster on one machine as processes: started, looked at, stopped, killed.

A node is a session of its own, so that Ctrl-C in a terminal reaches the command that watches over them, which stops
them in order, and not them. What a process id stands for is checked before anything is done to it: the kernel gives
numbers out again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from odradek.local_cluster.layout import CONTROLLER_ID, HOST, LocalCluster, NodeFiles
from odradek.terminal.errors import CommandError

PROGRAM: Final = (sys.executable, "-m", "odradek", "serve")
"""What a node runs, before the path of its properties."""
START_TIMEOUT_S: Final = 120.0
"""Until a node serves; after a crash it checks its logs first."""
STOP_TIMEOUT_S: Final = 60.0
"""Until a node that was asked to stop is killed."""
PAUSE_S: Final = 0.05
_PROCESSES: Final = Path("/proc")
_LAST_LINES: Final = 3
"""Of a node's log that are shown where it did not start."""


class LocalNodes:
    """The processes of a cluster in a directory; each runs `program` with the path of its properties."""

    def __init__(self, directory: Path, cluster: LocalCluster, program: Sequence[str] | None = None) -> None:
        self.directory = directory
        self.cluster = cluster
        self._program = PROGRAM if program is None else program
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        """Those that this process has started, which it has to take leave of when they end."""

    def process_id(self, node_id: int) -> int | None:
        """Return the process of a node, None where it does not run."""
        files = NodeFiles(self.directory, node_id)
        try:
            found = int(files.process_id.read_text())
        except (FileNotFoundError, ValueError):
            return None
        child = self._children.get(node_id)
        if child is not None and child.pid == found:  # the kernel tells of a child for certain, and at once
            return found if child.poll() is None else None
        return found if _runs(found, files.properties.absolute()) else None

    def running(self) -> list[int]:
        """Return the nodes whose processes run."""
        return [node_id for node_id in self.cluster.node_ids if self.process_id(node_id) is not None]

    def start(self, node_ids: Iterable[int]) -> list[int]:
        """Start nodes that do not run, and wait until they serve; returns those that were started.

        Raises CommandError with the end of its log for one that does not start, and stops the others that were started.
        """
        started = [node_id for node_id in node_ids if self.process_id(node_id) is None]
        for node_id in started:
            self._check_port(node_id)
        try:
            for node_id in started:
                self._launch(node_id)
                if node_id == CONTROLLER_ID:
                    self._wait_until_serving(node_id)  # brokers ask it for the id of the cluster
            for node_id in started:
                self._wait_until_serving(node_id)
        except CommandError:
            self.stop(started)
            raise
        return started

    def stop(self, node_ids: Sequence[int]) -> list[int]:
        """Ask nodes to stop, the controller last, and wait until they have; returns those that were still there and
        had to be killed."""
        brokers = [node_id for node_id in node_ids if node_id != CONTROLLER_ID]
        controllers = [node_id for node_id in node_ids if node_id == CONTROLLER_ID]
        killed = []
        for together in (brokers, controllers):
            for node_id in together:
                self._signal(node_id, signal.SIGTERM)
            deadline = time.monotonic() + STOP_TIMEOUT_S
            for node_id in together:
                if not _wait(partial(self._has_ended, node_id), deadline):
                    self.kill(node_id)
                    killed.append(node_id)
        return killed

    def kill(self, node_id: int) -> bool:
        """End a node as a crash would; returns whether it ran."""
        ran = self._signal(node_id, signal.SIGKILL)
        _wait(partial(self._has_ended, node_id), time.monotonic() + STOP_TIMEOUT_S)
        return ran

    def _has_ended(self, node_id: int) -> bool:
        return self.process_id(node_id) is None

    def _check_port(self, node_id: int) -> None:
        port = self.cluster.port_of(node_id)
        if _accepts(port):
            raise CommandError(f"port {port}, which is that of node {node_id}, is taken by another program")

    def _launch(self, node_id: int) -> None:
        files = NodeFiles(self.directory, node_id)
        with files.log.open("ab") as log:
            child = subprocess.Popen(
                [*self._program, str(files.properties.absolute())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children[node_id] = child
        files.process_id.write_text(f"{child.pid}\n")

    def _wait_until_serving(self, node_id: int) -> None:
        port = self.cluster.port_of(node_id)
        ended = False

        def serves_or_has_ended() -> bool:
            nonlocal ended
            ended = self.process_id(node_id) is None
            return ended or _accepts(port)

        if not _wait(serves_or_has_ended, time.monotonic() + START_TIMEOUT_S):
            raise CommandError(
                f"node {node_id} does not serve after {START_TIMEOUT_S:g} s; {NodeFiles(self.directory, node_id).log}"
                " tells what it is doing"
            )
        if ended:
            log = NodeFiles(self.directory, node_id).log
            raise CommandError(f"node {node_id} has not started: {_end_of(log)} ({log} has all of it)")

    def _signal(self, node_id: int, number: signal.Signals) -> bool:
        found = self.process_id(node_id)
        if found is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(found, number)
        return True


def free_port(first: int) -> int:
    """Return the first port from `first` on that nobody listens on, any free one for 0.

    Raises CommandError if there is none.
    """
    for port in [0] if first == 0 else range(first, min(first + 1000, 1 << 16)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise CommandError(f"no port from {first} on is free; --port says where to begin")


def free_ports(first: int, count: int) -> list[int]:
    """Return so many different free ports, ascending from `first` on, or any for 0."""
    ports: list[int] = []
    while len(ports) < count:
        port = free_port(first if first == 0 or not ports else ports[-1] + 1)
        if port not in ports:
            ports.append(port)
    return ports


def _runs(process_id: int, properties: Path) -> bool:
    """Whether the process is the node with these properties, and not another one that has got its number."""
    if not 0 < process_id < 1 << 31:  # numbers below stand for many processes at once
        return False
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, PermissionError):
        return False
    if not (_PROCESSES / "self").exists():  # then the number has to do
        return True
    try:
        command = (_PROCESSES / str(process_id) / "cmdline").read_bytes()
    except OSError:  # it has just ended
        return False
    return str(properties).encode() in command.split(b"\0")  # nothing of one that has ended, and is not waited for


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False


def _wait(condition: Callable[[], bool], deadline: float) -> bool:
    """Wait until the condition holds; returns whether it did before the deadline (monotonic seconds)."""
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_S)
    return True


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return " | ".join(line.strip() for line in lines) or "it wrote nothing"
