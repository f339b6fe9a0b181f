"""Copiers of a topic, as processes that tests start, kill and wait for."""

import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.broker import java_command
from tests.support.waiting import eventually

TIMEOUT_S = 120


def java_copier(bootstrap: str, timeout_ms: int) -> list[str]:
    """Return how to run Apache Kafka's TransactionalMessageCopier, whose transactions may be open for so long.

    For so long, too, the successor of one that was killed waits: it asks for its offset before it ends what was left.
    """
    given = ["--broker-list", bootstrap, "--input-topic", "source", "--input-partition", "0"]
    given += ["--output-topic", "target", "--consumer-group", "copier", "--transactional-id", "copier"]
    given += [
        "--transaction-timeout",
        str(timeout_ms),
        "--transaction-size",
        "40",
        "--enable-random-aborts",
        "--use-group-metadata",
    ]
    return java_command("org.apache.kafka.tools.TransactionalMessageCopier", *given, heap="128m")


class Copiers:
    """A copier from `source` to `target`, which aborts a third of its transactions, and its successors."""

    def __init__(self, command: Sequence[str], output: Path) -> None:
        self._command = command
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start one, which goes on where the group is, with the transactional id of the one before."""
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)

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

    def pause(self) -> None:
        """Stop the one that runs where it is, until `go_on`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the one that was stopped go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the one that runs, if any does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
