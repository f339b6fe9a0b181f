"""A real HDFS, a name node with one data node, in a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.support.broker import STOP_TIMEOUT_S
from tests.support.kafka_jars import ensure_hdfs_jars
from tests.support.waiting import eventually

_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
PATIENCE_S = 300


@contextmanager
def hdfs(directory: Path) -> Iterator[str]:
    """Give the address of a file system that has its files in a directory."""
    jars = f"{ensure_hdfs_jars()}/*:{Path(pyspark.__file__).parent}/jars/*"
    details, log = directory / "details.json", directory / "log"
    command = ["java", "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars, _MAIN]
    command += ["-nomr", "-format", "-nnport", "0", "-datanodes", "1", "-writeDetails", str(details)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )

    def port() -> int | None:
        assert process.poll() is None, log.read_text()
        try:
            return int(json.loads(details.read_text())["namenode_port"])
        except (OSError, ValueError):
            return None

    try:
        eventually(port, "HDFS serves", PATIENCE_S)
        yield f"hdfs://127.0.0.1:{port()}"
    finally:
        process.kill()
        process.wait(STOP_TIMEOUT_S)
