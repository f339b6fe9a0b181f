"""A job of somebody who has modules of generic names beside it, run where only the wheel is installed.

`python job.py BOOTSTRAP TOPIC LOG_DIRECTORY JAVA_OPTIONS`; prints what it found as JSON.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

OWN = [import_module(name) for name in ("broker", "config", "pipeline", "protocol", "storage")]


def in_a_worker(batches: Iterator[Any]) -> Iterator[Any]:
    """Add what the user's modules say to rows that a source has read, in the same Python process of a worker."""
    from odradek.storage.files import PosixFiles

    for rows in batches:
        rows["owner"] = "".join(str(module.OWNER) for module in OWN) + f" {PosixFiles.__module__}"
        yield rows


def main(bootstrap: str, topic: str, directory: str, java_options: str) -> dict[str, list[list[Any]]]:
    """Read a topic with both sources; the rows go through a function that needs the user's own modules."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", java_options)
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    through_broker = session.read.format("odradek").option("kafka.bootstrap.servers", bootstrap)
    frames = {
        "odradek": through_broker.option("subscribe", topic).load(),
        "odradek-log": session.read.format("odradek-log").option("topic", topic).load(directory),
    }
    found = {}
    for name, frame in frames.items():
        values = frame.selectExpr("string(value) value", "offset")
        rows = values.mapInPandas(in_a_worker, "value string, offset long, owner string").orderBy("offset").collect()
        found[name] = [list(row) for row in rows]
    session.stop()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:5])))
