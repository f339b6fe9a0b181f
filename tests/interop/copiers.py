"""Apache Kafka's TransactionalMessageCopier, as a process that tests start, kill and wait for."""

import re
import subprocess
from pathlib import Path

from tests.support.broker import java_command
from tests.support.waiting import eventually

TIMEOUT_S = 60


class Copiers:
    """Apache Kafka's TransactionalMessageCopier from `source` to `target`, a third of whose transactions it aborts."""

    def __init__(self, bootstrap: str, output: Path) -> None:
        self._bootstrap = bootstrap
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start one, which goes on where the group is, with the transactional id of the one before."""
        given = ["--broker-list", self._bootstrap, "--input-topic", "source", "--input-partition", "0"]
        given += ["--output-topic", "target", "--consumer-group", "copier", "--transactional-id", "copier"]
        given += ["--transaction-size", "40", "--enable-random-aborts", "--use-group-metadata"]
        command = java_command("org.apache.kafka.tools.TransactionalMessageCopier", *given, heap="128m")
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def await_copied(self, number: int) -> None:
        """Wait until the one that runs has copied so many."""
        eventually(lambda: self._copied() >= number, f"{number} are copied", TIMEOUT_S)

    def _copied(self) -> int:
        """Return how many it says are copied."""
        assert self._process is not None
        assert self._process.poll() in (None, 0), self._output.read_text()
        told = re.findall(r'"totalProcessed":(\d+)', self._output.read_text())
        return int(told[-1]) if told else 0

    def finish(self) -> None:
        """Wait until all is copied."""
        assert self._process is not None
        assert self._process.wait(TIMEOUT_S) == 0, self._output.read_text()

    def kill(self) -> None:
        """Kill the one that runs, if any does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
