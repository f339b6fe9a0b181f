"""The JVM of Spark as a process: started apart from the signals of a group, and missed when it is gone."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from odradek.pipeline.errors import PipelineError

_DYING_S: Final = 3.0
"""For so long a JVM that does not answer any more may take to end."""
_SHUTTING_DOWN: Final = re.compile(
    r"stopped SparkContext|SparkContext (?:was|has been) shut ?down|Shutdown in progress"
)
"""What Spark says while its JVM ends in order."""


class JvmGoneError(PipelineError):
    """The JVM has ended, and Spark with it."""


def submitted() -> bool:
    """Return whether spark-submit has started this process: the JVM is there, and Spark's settings are with it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def start_apart(conf: Mapping[str, str]) -> None:
    """Start the JVM in a process group of its own, unless there is one: SIGTERM to the group of the job is the job's.

    It still ends with the job, whose end closes its standard input. Raises what PySpark raises.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        given = SparkConf(loadDefaults=False).setAll(list(conf.items()))
        launch: Any = launch_gateway  # which has no types
        gateway = launch(given, popen_kwargs={"process_group": 0})
        SparkContext._ensure_initialized(gateway=gateway, conf=given)


@contextmanager
def jvm_errors() -> Iterator[None]:
    """Have errors of all kinds come out as JvmGoneError where the reason is that the JVM has ended."""
    try:
        yield
    except Exception as failed:
        code = _exit_code(failed)
        if code is None:
            raise
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise JvmGoneError(
            f"Spark's JVM has ended {how}, and the micro-batch in work with it. Nothing is lost: the next start does it"
            " again. If all processes of the job are told to end at once, tell the job alone (systemd: KillMode=mixed);"
            " else see its memory (--conf spark.driver.memory=4g), and --log-file for what it says"
        ) from failed


def _exit_code(failed: Exception) -> int | None:
    """Return what the JVM ended with, None where it runs or is not ours."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkContext

    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    breaks = isinstance(failed, Py4JError | OSError | EOFError) and not isinstance(failed, Py4JJavaError)
    breaks = breaks or _SHUTTING_DOWN.search(str(failed)) is not None
    try:
        code: int | None = process.wait(_DYING_S) if breaks else process.poll()
    except subprocess.TimeoutExpired:
        return None
    return code
