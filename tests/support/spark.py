"""Spark as tests run it: real, small, on this machine, with the interpreter and the code that are being tested."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.broker import REPOSITORY
from tests.support.class_data import quick_java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
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
        os.environ.clear()
        os.environ.update(before)
