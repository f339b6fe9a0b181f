"""Spark as tests run it: real, small, on this machine, with the interpreter and the code that are being tested."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.interpreter import worker_interpreter
from tests.support.broker import REPOSITORY
from tests.support.class_data import quick_java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STARTS = 6
TOO_SLOW = "Python worker failed to connect back"
"""What Spark says where the process that plans a stream takes more than 10 s to start, which no setting changes."""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def spark_session(master: str = "local[2]") -> Iterator[SparkSession]:
    """Start Spark in a JVM of its own and stop it at the end; takes about 5 s."""
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    scratch = tempfile.TemporaryDirectory(prefix="odradek-spark-")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = worker_interpreter(Path(scratch.name))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    try:
        builder = SparkSession.builder.master(master).appName("tests")
        for name, value in (SETTINGS | {"spark.driver.extraJavaOptions": quick_java_options()}).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
    finally:
        scratch.cleanup()
        os.environ.clear()
        os.environ.update(before)


def run_stream(writer: DataStreamWriter, timeout_s: float = 120) -> StreamingQuery:
    """Run a query that has an end to its end; where Spark's process of Python was too slow, start it again."""
    from pyspark.errors import StreamingQueryException

    for left in reversed(range(STARTS)):
        query = writer.start()
        try:
            assert query.awaitTermination(timeout_s)  # type: ignore[arg-type]  # parts of a second are taken
        except StreamingQueryException as failed:
            if TOO_SLOW not in str(failed) or not left:
                raise
        else:
            break
    return query
