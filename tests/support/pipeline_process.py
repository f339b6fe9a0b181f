"""A job of `odradek pipeline` in a process of its own, with the JVM and the workers that belong to it."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.broker import REPOSITORY
from tests.support.class_data import quick_java_options
from tests.support.waiting import eventually

START_TIMEOUT_S = 240
END_TIMEOUT_S = 240


class PipelineProcess:
    """One run of a job. What it says of its progress is read as JSON."""

    def __init__(self, directory: Path, bootstrap: str, *arguments: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._output, self._errors = directory / "output", directory / "errors"
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-P", "-m", "odradek", "pipeline", *arguments]
        quick = f"spark.driver.extraJavaOptions={quick_java_options()}"
        command += [] if "--master" in arguments else ["--master", "local[2]"]
        command += ["--bootstrap-server", bootstrap, "--conf", quick, "--json"]
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdout=output, stderr=errors, cwd=directory, env=environment, start_new_session=True
            )

    @property
    def output(self) -> str:
        """Everything on standard output so far."""
        return self._output.read_text()

    @property
    def errors(self) -> str:
        """Everything on standard error so far, but progress."""
        return "\n".join(line for line in self._errors.read_text().splitlines() if not line.startswith("{"))

    @property
    def progress(self) -> list[dict[str, Any]]:
        """What was said of each finished micro-batch."""
        lines = self._errors.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def wait_for_batches(self, count: int) -> None:
        """Wait until so many micro-batches are finished."""

        def finished() -> bool:
            assert self._process.poll() is None, f"ended with {self._process.returncode}: {self.errors}"
            return len(self.progress) >= count

        eventually(finished, f"{count} micro-batches are finished\n{self.errors}", START_TIMEOUT_S)

    def terminate(self) -> int:
        """Send SIGTERM to the process group of the driver, wait for its end, and return its exit code."""
        os.killpg(self._process.pid, signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for the driver's end, and return its exit code."""
        try:
            return self._process.wait(END_TIMEOUT_S)
        finally:
            self.kill()

    def kill_workers(self) -> int:
        """End the processes that do the tasks, at once; return how many there were."""
        daemons = {process for process in _session(self._process.pid) if "pyspark.daemon" in _command(process)}
        workers = [process for process in _session(self._process.pid) if _parent(process) in daemons]
        for process in workers:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return len(workers)

    @property
    def ended(self) -> bool:
        """Whether the driver has ended."""
        return self._process.poll() is not None

    def kill_executors(self) -> int:
        """End the JVMs that have a cluster's tasks, at once; return how many there were."""
        executors = [each for each in _session(self._process.pid) if "CoarseGrainedExecutorBackend" in _command(each)]
        for process in executors:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return len(executors)

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the job."""
        for process in _session(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """End the driver, its JVM and their workers at once, as a crash of the machine would."""
        for process in _session(self._process.pid):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        eventually(lambda: not _session(self._process.pid), "all processes of the job are gone")


def _session(leader: int) -> list[int]:
    """Return the processes of a session that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*"):
        state, _, _, session = _status(int(status.name))
        if session == str(leader) and state != "Z":
            found.append(int(status.name))
    return found


def _parent(process: int) -> int:
    return int(_status(process)[1])


def _status(process: int) -> list[str]:
    """Return state, parent, group and session of a process; those of none where it is gone."""
    try:
        # pid (name) state parent group session ...; the name may have spaces and parentheses.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return ["Z", "0", "0", "0"]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""
