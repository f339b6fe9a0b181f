"""A standalone Spark as a cluster has it: a master and workers, each a process of its own, on this machine.

Executors are further processes, which the workers start for each job.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.support.broker import REPOSITORY
from tests.support.class_data import quick_java_options
from tests.support.waiting import eventually

START_TIMEOUT_S = 120.0
_MASTER_AT = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"
_CLASSES = "org.apache.spark.deploy"


def spark_home() -> Path:
    """Return where PySpark has Spark."""
    import pyspark

    return Path(pyspark.__file__).parent


class StandaloneSpark:
    """One master and some workers of one core; `stop` ends them, and what they have started."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""
        """For --master."""

    def start(self) -> None:
        """Start all of them, and return once the workers are known to the master."""
        self._directory.mkdir(parents=True, exist_ok=True)
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self._start("master", f"{_CLASSES}.master.Master", *address)
        eventually(lambda: _MASTER_AT.search(self._log("master")), "the master serves", START_TIMEOUT_S)
        found = _MASTER_AT.search(self._log("master"))
        assert found is not None
        self.url = found[1]
        names = [f"worker-{number}" for number in range(self._workers)]
        for name in names:
            place = ["--work-dir", str(self._directory / name), "--cores", "1", "--memory", "1g"]
            self._start(name, f"{_CLASSES}.worker.Worker", *address, *place, self.url)
        for name in names:
            eventually(partial(self._is_registered, name), f"{name} is registered", START_TIMEOUT_S)

    def executors(self) -> list[str]:
        """Return which workers have run executors."""
        return sorted({path.parts[-4] for path in self._directory.glob("worker-*/app-*/*/stderr")})

    def stop(self) -> None:
        """End all of them; executors end with their workers."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def submit(self, script: Path, wheel: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run spark-submit with a script, and the wheel for the executors."""
        command = [str(spark_home() / "bin" / "spark-submit"), "--master", self.url, "--py-files", str(wheel)]
        command += ["--conf", f"spark.driver.extraJavaOptions={quick_java_options()}"]
        command += ["--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"]
        command += ["--conf", f"spark.executor.extraJavaOptions={quick_java_options()}"]
        command += ["--conf", "spark.ui.enabled=false", "--executor-memory", "512m"]
        return subprocess.run(
            [*command, str(script), *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=self._directory,
            env=_environment() | {"PYTHONPATH": str(REPOSITORY)},
        )

    def _start(self, name: str, main: str, *arguments: str) -> None:
        options = {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{quick_java_options()} -Dspark.master.rest.enabled=false",
        }
        with (self._directory / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(spark_home() / "bin" / "spark-class"), main, *arguments],
                    stdout=log,
                    stderr=log,
                    env=_environment() | options,
                )
            )

    def _is_registered(self, name: str) -> bool:
        return _REGISTERED in self._log(name)

    def _log(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text(errors="replace")


def _environment() -> dict[str, str]:
    """Return the environment of somebody who has nothing of this repository in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "SPARK_"))}
    return kept | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
