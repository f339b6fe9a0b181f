"""A job that uses what the reader offers, run by any interpreter that has PySpark; prints what it found as JSON.

`python spark_smoke.py BOOTSTRAP TOPIC DIRECTORY`. It stands alone: the interpreter need not have what tests need.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def main(bootstrap: str, topic: str, directory: str) -> dict[str, Any]:
    """Read a topic in batch and streaming, twice from one checkpoint, and make mistakes."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    here = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "includeHeaders": "true"}

    def stream(**options: str) -> list[int]:
        read = spark.readStream.format("odradek").options(**here, startingOffsets="earliest", **options).load()
        write = read.writeStream.format("parquet").option("path", f"{directory}/out")
        query = write.option("checkpointLocation", f"{directory}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination(120)
        return [progress["numInputRows"] for progress in query.recentProgress]

    def failure(**options: str) -> str:
        try:
            spark.read.format("odradek").options(**(here | options)).load().collect()
        except PySparkException as failed:
            return str(failed).split("\n")[0]
        return ""

    frame = spark.read.format("odradek").options(**here, minPartitions="5").load()
    shown = "string(key)", "length(value)", "offset", "unix_millis(timestamp)", "headers[0].key"
    found: dict[str, Any] = {
        "version": spark.version,
        "rows": frame.count(),
        "first": [list(row) for row in frame.where("offset = 0").orderBy("partition").selectExpr(*shown).collect()],
        "batches": stream(),
        "unknown": failure(subscribe="nowhere"),
    }
    try:
        found["limited"] = stream(maxOffsetsPerTrigger="10")
    except PySparkException as refused:
        found["limited"] = str(refused)
    found["written"] = spark.read.parquet(f"{directory}/out").select("partition", "offset").distinct().count()
    spark.stop()
    return found


if __name__ == "__main__":
    Path(sys.argv[3], "found.json").write_text(json.dumps(main(*sys.argv[1:4])))
