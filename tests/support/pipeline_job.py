"""A job of `odradek pipeline` in the process of the tests, on the session of Spark that they share.

The command is the one that a person gives, but for the start of Spark, which costs more than the job itself. Jobs that
are to be killed, or whose own session matters, are processes: `tests.support.pipeline_process`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from odradek.cli.app import run
from odradek.pipeline import session
from odradek.pipeline.session import DEFAULTS, SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FinishedJob(NamedTuple):
    """What a job came to that read everything there was."""

    code: int
    output: str
    errors: str
    """Standard error, but for progress."""
    progress: list[dict[str, Any]]
    """What was said of each micro-batch."""


RunJob = Callable[..., FinishedJob]
"""Runs a job to its end: the bootstrap servers, then its arguments."""


def run_job(spark: SparkSession, bootstrap: str, *arguments: str) -> FinishedJob:
    """Run a job until it has read everything there is."""

    @contextmanager
    def shared(settings: SessionSettings) -> Iterator[SparkSession]:
        own = spark.newSession()
        for name, value in {**DEFAULTS, **settings.conf}.items():
            if name.startswith("spark.sql."):
                own.conf.set(name, value)
        yield own

    output, errors = StringIO(), StringIO()
    command = ["pipeline", *arguments, "--bootstrap-server", bootstrap, "--available-now", "--json"]
    with patch.object(session, "spark_session", shared), redirect_stdout(output), redirect_stderr(errors):
        code = run(command)
    lines = errors.getvalue().splitlines()
    said = [line for line in lines if not line.startswith("{")]
    return FinishedJob(
        code, output.getvalue(), "\n".join(said), [json.loads(line) for line in lines if line.startswith("{")]
    )
