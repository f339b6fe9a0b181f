"""What is measured: a broker as a process. Start it, wait for its first answer, stop it or kill it, read its CPU.

The same for odradek and for Apache Kafka; `Target` says which, `Broker` is one running process of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from benchmarks import machine, peers, wire
from benchmarks.connection import Connection

_START_DEADLINE_SECONDS = 120
_STOP_DEADLINE_SECONDS = 60

# Deleted benchmark topics give their disk space back at once, not after a minute. Both brokers get it.
_OVERRIDES = {"log.segment.delete.delay.ms": "500"}

Command = Callable[[Path, tuple[int, int], Mapping[str, str]], list[str]]
NodeCommand = Callable[[Path, Mapping[str, str], str], list[str]]
"""From the directory of a node of a cluster, its settings and the cluster's id to what starts it."""


class BrokerError(Exception):
    """The broker did not start, answer or stop; the message ends with the last lines of its log."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a load needs to know of the broker: where it listens, and whose CPU to read."""

    address: tuple[str, int]
    pid: int


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of broker: how to make its command line, and how long it must run warm before it counts.

    `warmup_seconds` precedes every measured load: a JIT compiler needs it, CPython does not.
    """

    name: str
    command: Command
    node_command: NodeCommand
    warmup_seconds: float
    ours: bool = True
    """Whether it is odradek, of whatever revision."""

    def prepare(
        self, directory: Path, overrides: Mapping[str, str] | None = None, ports: tuple[int, int] | None = None
    ) -> Prepared:
        """Everything that comes before the start (formatting, free ports), so that a start can be timed alone. The
        ports are those of clients and of the controller."""
        ports = ports or (free_port(), free_port())
        return Prepared(self.command(directory, ports, {**_OVERRIDES, **(overrides or {})}), ports[0], directory)

    def start(self, directory: Path, overrides: Mapping[str, str] | None = None) -> Broker:
        """A broker on `directory`, which need not exist, that has answered ApiVersions."""
        return self.prepare(directory, overrides).start()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A broker ready to be started."""

    command: Sequence[str]
    port: int
    directory: Path

    def start(self) -> Broker:
        """Start it and wait for its first ApiVersions answer; BrokerError when none comes."""
        broker = self.launch()
        try:
            broker.await_answer()
        except BaseException:
            broker.kill()
            raise
        return broker

    def launch(self) -> Broker:
        """Start it and do not wait."""
        log = self.directory.with_suffix(".log")
        with open(log, "ab") as output:
            began = time.perf_counter()
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment()
            )
        return Broker(process, ("127.0.0.1", self.port), log, began)


def _environment() -> dict[str, str]:
    """This process's environment, without what would make an installed program compile itself at every start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Broker:
    """One running broker; a context manager that kills it if it was not stopped."""

    def __init__(self, process: subprocess.Popen[bytes], address: tuple[str, int], log: Path, began: float) -> None:
        self.address = address
        self.began = began
        """When the process was started, on the performance counter."""
        self.answered_after = 0.0
        """Seconds from the start of the process to its first answer."""
        self._process = process
        self._log = log

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def endpoint(self) -> Endpoint:
        """What a load process is given."""
        return Endpoint(self.address, self.pid)

    def cpu_seconds(self) -> float:
        """User and system CPU seconds used so far."""
        return machine.cpu_seconds(self.pid)

    def connect(self) -> Connection:
        """A new connection to the broker."""
        return Connection(self.address)

    def await_answer(self) -> None:
        """Wait until ApiVersions is answered and note how long that took since the start."""
        deadline = time.monotonic() + _START_DEADLINE_SECONDS
        while True:
            if self._process.poll() is not None:
                raise self._failure(f"the broker ended with exit code {self._process.returncode}")
            with contextlib.suppress(ConnectionError, wire.WireError), self.connect() as connection:
                connection.ask(wire.api_versions())
                self.answered_after = time.perf_counter() - self.began
                return
            if time.monotonic() > deadline:
                raise self._failure(f"the broker did not answer within {_START_DEADLINE_SECONDS} s")
            time.sleep(0.0005)

    def stop(self) -> float:
        """Ask it to stop (SIGTERM), wait, and return how many seconds that took; BrokerError when it does not."""
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(_STOP_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._failure(f"the broker did not stop within {_STOP_DEADLINE_SECONDS} s") from None
        # A JVM that stops cleanly on SIGTERM still ends with 128 + 15.
        if code not in (0, 128 + signal.SIGTERM):
            raise self._failure(f"the broker ended with exit code {code} when asked to stop")
        return time.perf_counter() - began

    def kill(self) -> None:
        """End it at once, as a crash would, with whatever it started."""
        if self._process.poll() is None:
            for child in machine.children(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            self._process.kill()
        self._process.wait()

    def _failure(self, reason: str) -> BrokerError:
        with open(self._log, errors="replace") as log:
            tail = "".join(log.readlines()[-15:])
        return BrokerError(f"{reason}; the end of its log:\n{tail}")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now.

    Below the range that the kernel takes client ports from: a client that knocks on a port of that range until someone
    answers is, sooner or later, given that very port itself and finds itself connected to itself.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _odradek_command(directory: Path, settings: Mapping[str, str], unpacked: str | None) -> list[str]:
    script = shutil.which("odradek", path=os.path.dirname(sys.executable)) or shutil.which("odradek")
    # -P: the working directory, which holds packages with common names, is not searched.
    command = [script] if script and not unpacked else [sys.executable, "-P", "-m", "odradek"]
    if unpacked:
        command = ["env", f"PYTHONPATH={os.path.abspath(unpacked)}", *command]
    command.append("serve")
    for key, value in {"log.dirs": str(directory), **settings}.items():
        command += ["--override", f"{key}={value}"]
    return command


def odradek(prefix: Sequence[str] = (), unpacked: str | None = None, name: str = "odradek") -> Target:
    """Our own broker, as a user starts it; `prefix` is put before its command (a profiler, for example), and `unpacked`
    is the directory of a wheel, or of sources, that is measured in place of what is installed."""

    def command(directory: Path, ports: tuple[int, int], overrides: Mapping[str, str]) -> list[str]:
        return node_command(directory, {"listeners": f"PLAINTEXT://127.0.0.1:{ports[0]}", **overrides}, "")

    def node_command(directory: Path, settings: Mapping[str, str], _cluster_id: str) -> list[str]:
        return [*prefix, *_odradek_command(directory, settings, unpacked)]

    return Target(name, command, node_command, warmup_seconds=0.2)


APACHE_KAFKA = Target("Apache Kafka", peers.command, peers.node_command, warmup_seconds=3.0, ours=False)


def brief(target: Target) -> Target:
    """The same target with a third of its warm-up, for quick runs."""
    return replace(target, warmup_seconds=target.warmup_seconds / 3)
