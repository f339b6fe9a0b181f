"""Spark's classes as the JVM has them in memory, kept in a file: a JVM that maps it starts with a third less work.

Made once for each version of PySpark and Java, by `make tools` or by the first test that asks (a job is run for it, of
about half a minute), and kept in the user's cache directory. Where it cannot be made, or does not fit any more, the JVM
starts as it would without: this is class data sharing with a dynamic archive (JEP 350).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
"""Short-lived processes gain more from a quick start than from the best code."""
SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"
TIMEOUT_S = 300

_JOB = """\
import sys

from pyspark.sql import SparkSession, functions as F

options, directory = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.extraJavaOptions", options).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
rows = spark.range(100).select((F.col("id") % 7).alias("k"), F.col("id").cast("string").alias("v"))
rows.groupBy("k").count().orderBy("k").collect()
rows.write.partitionBy("k").parquet(f"{directory}/rows")
spark.read.parquet(f"{directory}/rows").count()
rows.mapInPandas(lambda parts: parts, rows.schema).count()


def keep(batch, number):
    batch.count()


stream = spark.readStream.schema(rows.schema).parquet(f"{directory}/rows").groupBy("v").count()
query = stream.writeStream.outputMode("update").foreachBatch(keep).trigger(availableNow=True).start()
query.awaitTermination()
spark.stop()
"""


def quick_java_options() -> str:
    """Return options with which a JVM of Spark, of the version that tests use, starts quickly."""
    archive = _archive()
    if archive is None:
        return QUICK
    return f"{QUICK} -XX:SharedArchiveFile={archive} {SILENT}"


def _archive() -> Path | None:
    """Return the archive, made if it is not there; None where it cannot be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek"
    path = cache / f"spark-classes-{_key()}.jsa"
    failed = path.with_suffix(".failed")
    cache.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not path.exists() and not failed.exists():
            _make(path)
            if not path.exists():
                failed.touch()
    return path if path.exists() else None


def _key() -> str:
    """Return what an archive depends on: the jars, by the place and version of PySpark, and the JVM."""
    import pyspark

    version = subprocess.run(["java", "-version"], capture_output=True, check=False).stderr
    return hashlib.sha256(f"{pyspark.__file__} {pyspark.__version__} ".encode() + version).hexdigest()[:16]


def _make(path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        made = Path(directory) / path.name
        options = f"{QUICK} -XX:ArchiveClassesAtExit={made} {SILENT}"
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        command = [sys.executable, "-c", _JOB, options, directory]
        try:
            subprocess.run(command, env=environment, cwd=directory, capture_output=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return
        if made.exists():
            made.rename(path)


if __name__ == "__main__":
    sys.stdout.write(f"{quick_java_options()}\n")
