"""Brokers in processes of their own, for tests that talk to one over its socket.

`OdradekProcess` runs the project's broker by its command, `ApacheKafkaProcess` an unmodified Apache Kafka; both offer
the same life: start, stop, kill, start again on the same directory. A test that takes either can be held against Apache
Kafka itself: `ODRADEK_TEST_BROKER=apache-kafka pytest tests/integration`.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.kafka_jars import class_archive, ensure_jars
from tests.support.ports import free_ports
from tests.support.tools import SERVER, shared_server
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, WireClient

REPOSITORY = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
TOOLS_HEAP = "384m"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
"""Of directories that a test formats."""
NO_RETENTION = {"log.retention.check.interval.ms": "86400000", "log.initial.task.delay.ms": "86400000"}
"""What tests write is often from years ago; unless a test says otherwise, it stays while a broker runs. The first look
would else come half a minute after the start."""


class BrokerProcess(ABC):
    """One broker process and the directory it keeps its data in."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.overrides = dict(overrides or {})
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: list[str] = []
        self._readers: list[threading.Thread] = []

    @property
    def data(self) -> Path:
        """The broker's log directory."""
        return self.directory / "data"

    @property
    def bootstrap(self) -> str:
        """Where clients connect: host:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running broker."""
        return self._running().pid

    @property
    def log(self) -> str:
        """Everything the broker wrote to its two output streams so far, over all its starts."""
        return "".join(self._lines)

    def start(self) -> None:
        """Start the process and return once it answers; raises AssertionError with its log when it does not."""
        self.launch()
        self.wait_until_serving()

    def wait_until_serving(self) -> None:
        """Return once a process that was launched answers; raises AssertionError with its log when it does not."""
        eventually(self._answers, f"the broker is ready\n{self.log}", START_TIMEOUT_S)

    def launch(self) -> None:
        """Start the process without waiting for anything."""
        assert self._process is None, "already started"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            self._command(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=self.directory,
            env=self._environment(),
            start_new_session=True,
        )
        reader = threading.Thread(target=self._read_output, args=(self._process,), daemon=True)
        reader.start()
        self._readers.append(reader)

    def stop(self) -> int:
        """Ask the broker to stop (SIGTERM), wait, and return its exit code."""
        self._running().send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End the process as a crash or the kernel would: SIGKILL."""
        self._running().kill()
        self.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        self._running().send_signal(number)

    def wait(self, timeout: float = STOP_TIMEOUT_S) -> int:
        """Wait for the process to end, collect the rest of its output, and return its exit code."""
        process = self._running()
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self._process = None
            raise AssertionError(f"the broker had not ended after {timeout:g} s\n{self.log}") from None
        for reader in self._readers:
            reader.join(STOP_TIMEOUT_S)
        self._readers.clear()
        self._process = None
        return code

    def discard(self) -> None:
        """End the process if it runs, however it is."""
        if self._process is not None:
            self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the broker is not running"
        return self._process

    def _read_output(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                self._lines.append(line.decode("utf-8", "replace"))

    def _answers(self) -> bool:
        process = self._running()
        if process.poll() is not None:
            code = self.wait()
            raise AssertionError(f"the broker ended with exit code {code} instead of starting\n{self.log}")
        if not self._find_port():
            return False
        try:
            with WireClient(self.port, timeout=5) as client:
                client.ask("ApiVersions", 0)
        except (OSError, ConnectionClosedError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _find_port(self) -> bool:
        """Learn the port if it is not known yet; return whether it is known now."""


class OdradekProcess(BrokerProcess):
    """The project's own broker, started by its command with overrides only.

    Its port is none that an outgoing connection takes while the broker is down: a test that kills one starts it again.
    """

    _READY = re.compile(r"PLAINTEXT://127\.0\.0\.1:([1-9]\d*)")

    properties: Path | None = None
    """A file of settings to start with, which then says where to listen and where data lies."""

    def _command(self) -> Sequence[str]:
        settings = self.overrides
        if self.properties is None:
            if self.port == 0 and "listeners" not in self.overrides:
                (self.port,) = free_ports(1)
            here = {
                "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
                "log.dirs": str(self.data),
                **NO_RETENTION,
            }
            settings = {**here, **self.overrides}
        # -P: the working directory must not shadow the broker's packages; PYTHONPATH names the repository instead, so
        # that an uninstalled checkout can be tested.
        command = [sys.executable, "-P", "-m", "odradek", "serve"]
        if self.properties is not None:
            command.append(str(self.properties))
        for key, value in settings.items():
            command += ["--override", f"{key}={value}"]
        return command

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}

    def _find_port(self) -> bool:
        if self.port == 0:
            for line in self._lines:
                if found := self._READY.search(line):
                    self.port = int(found[1])
        return self.port != 0


class ApacheKafkaProcess(BrokerProcess):
    """An unmodified Apache Kafka, broker and controller in one, with node id 1 if the overrides do not say another."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None, heap: str = "512m") -> None:
        super().__init__(directory, overrides)
        self._heap = heap
        self._controller_port = 0

    def format(self, cluster_id: str = CLUSTER_ID) -> None:
        """Give an empty log directory its identity, as Apache Kafka's storage tool does."""
        self._write_properties()
        run_java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self.properties))

    def launch(self) -> None:
        """Start the process; a log directory without identity is formatted first."""
        if not (self.data / "meta.properties").exists():
            self.format()
        self._write_properties()
        super().launch()

    @property
    def properties(self) -> Path:
        """The file of settings that it is started with."""
        return self.directory / "server.properties"

    def _write_properties(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.port == 0:
            self.port, self._controller_port = free_ports(2)
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"{self.overrides.get('node.id', '1')}@127.0.0.1:{self._controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **NO_RETENTION,
            **self.overrides,
        }
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def _command(self) -> Sequence[str]:
        return java_command("kafka.Kafka", str(self.properties), heap=self._heap)

    def _find_port(self) -> bool:
        return True


def java_command(main_class: str, *arguments: str, heap: str = "256m", jars: Path | None = None) -> list[str]:
    """Return the command that runs a main class of Apache Kafka's distribution, or of other `jars`."""
    jars = jars or ensure_jars()
    # Short-lived processes gain more from a quick start than from the best code.
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    archive = class_archive(jars)
    if archive.exists():
        quick += [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"]
    options = [f"-Xmx{heap}", "-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={jars}/log4j2.xml"]
    return ["java", *quick, *options, "-cp", f"{jars}/*", main_class, *arguments]


def run_java(
    main_class: str, *arguments: str, stdin: bytes = b"", timeout: float = 60, heap: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool of Apache Kafka to its end; raises AssertionError with its output when it fails.

    Tools share one JVM; one that needs another heap, or comes while another one runs for long, has its own.
    """
    done = None
    if not heap and "JAVA_TOOL_OPTIONS" not in os.environ:
        server = shared_server(java_command(str(SERVER), heap=TOOLS_HEAP))
        done = server.run(main_class, arguments, stdin, timeout)
    if done is None:
        command = java_command(main_class, *arguments, heap=heap or "256m")
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, (
        f"{main_class} {' '.join(arguments)} failed:\n{done.stdout.decode()}\n{done.stderr.decode()}"
    )
    return done
