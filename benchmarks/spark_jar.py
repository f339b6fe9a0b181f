"""Spark's own Kafka connector: a JAR that Maven fetches into the cache directory, for the Spark that is measured."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.peers import PeerUnavailableError

VERSION = "4.0.0"
"""Of Spark; the lowest one that the sources work with, which has an environment of its own already."""
FORMAT = "kafka"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>spark-kafka</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId>
<version>{version}</version></dependency></dependencies></project>
"""


def install() -> list[Path]:
    """The connector and what it needs beside Spark, fetched the first time; PeerUnavailableError if not to be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jars = cache / f"spark-kafka-{VERSION}"
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if not (jars / ".complete").exists():
        if missing:
            raise PeerUnavailableError(f"Spark's Kafka connector needs {' and '.join(missing)} on PATH")
        jars.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            pom = Path(work, "pom.xml")
            pom.write_text(_POM.format(version=VERSION))
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
            done = subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=False)
        if done.returncode:
            raise PeerUnavailableError(f"Maven could not fetch Spark's connector {VERSION} (exit {done.returncode})")
        (jars / ".complete").touch()
    return sorted(jars.glob("*.jar"))
