"""Fetches the jars of Apache Kafka, and of HDFS, from Maven, once, for the tests that have them as their judge.

Run as a program (`python -m tests.support.kafka_jars`) it makes sure that they are there, or says in one line why not.
The jars are kept in the user's cache directory. Environment: ODRADEK_KAFKA_JARS (another directory), XDG_CACHE_HOME.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

KAFKA_VERSION = "4.3.0"
ZOOKEEPER_VERSION = "2.8.2"
"""A Kafka with its metadata in ZooKeeper, which comes with it; it writes topic ids to its directories."""
OLD_CLIENTS = ("0.9.0.1", "0.10.2.2", "1.1.1")
"""Versions of Java clients that speak as Kafka 4 no longer understands: before ApiVersions, before record batches, and
with the first of those."""
HADOOP_VERSION = "3.5.0"
"""The one whose client comes with PySpark, which has all but the servers of HDFS."""
FETCH_TIMEOUT_S = 600

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>odradek.tests</groupId><artifactId>apache-kafka</artifactId><version>1</version>
<dependencies>
{dependencies}
</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
_HDFS = (
    f"<dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId><version>"
    f"{HADOOP_VERSION}</version><exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    "</exclusions></dependency>",
    "<dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter-api</artifactId><version>5.11.4</version>"
    "</dependency>",  # which its small clusters do not start without
)
_LOG4J = """<Configuration status="ERROR">
<Appenders><Console name="S" target="SYSTEM_ERR"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="S"/></Root></Loggers></Configuration>
"""


class KafkaUnavailableError(Exception):
    """Apache Kafka cannot be had on this machine; the message says what is missing."""


def jars_directory() -> Path:
    """Return where the jars are, or will be."""
    given = os.environ.get("ODRADEK_KAFKA_JARS")
    return Path(given) if given else _cache() / f"apache-kafka-{KAFKA_VERSION}"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek"


def class_archive(jars: Path) -> Path:
    """Return where the classes of these jars are, as the Java of this machine has them in memory, if they were kept."""
    return jars / f"classes-{_java()}.jsa"


@functools.cache
def _java() -> str:
    version = subprocess.run(["java", "-version"], capture_output=True, check=True).stderr
    return hashlib.sha256(version).hexdigest()[:16]


def missing_programs() -> list[str]:
    """Return which of the programs that fetch and run Apache Kafka are not installed."""
    return [program for program in ("java", "mvn") if shutil.which(program) is None]


def ensure_jars() -> Path:
    """Return the directory of the jars after fetching what is missing.

    Safe to call from several processes at once. Raises KafkaUnavailableError without Java or Maven, or when the fetch
    fails.
    """
    return _ensure(jars_directory(), ("kafka_2.13", "kafka-tools"), KAFKA_VERSION)


def ensure_zookeeper_jars() -> Path:
    """Return the directory of the jars of a Kafka with ZooKeeper; else like `ensure_jars`."""
    return _ensure(_cache() / f"apache-kafka-{ZOOKEEPER_VERSION}", ("kafka_2.13",), ZOOKEEPER_VERSION)


def ensure_streams_jars() -> Path:
    """Return the directory of the jars of Kafka Streams; else like `ensure_jars`."""
    return _ensure(_cache() / f"kafka-streams-{KAFKA_VERSION}", ("kafka-streams",), KAFKA_VERSION)


def ensure_client_jars(version: str) -> Path:
    """Return the directory of the jars of a Java client alone, of that version; else like `ensure_jars`."""
    return _ensure(_cache() / f"kafka-clients-{version}", ("kafka-clients",), version)


def ensure_hdfs_jars() -> Path:
    """Return the directory of the jars of HDFS that PySpark does not have; else like `ensure_jars`."""
    return _ensure_all(_cache() / f"hdfs-{HADOOP_VERSION}", _HDFS)


def _ensure(directory: Path, names: Sequence[str], version: str) -> Path:
    return _ensure_all(directory, [_DEPENDENCY.format(name, version) for name in names])


def _ensure_all(directory: Path, dependencies: Sequence[str]) -> Path:
    if missing := missing_programs():
        raise KafkaUnavailableError(f"{' and '.join(missing)} not found (Java 17+ and Maven are needed)")
    with _lock(directory):
        if not (directory / ".complete").exists():
            _fetch(directory, dependencies)
    return directory


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(directory: Path, dependencies: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as work:
        pom = Path(work) / "pom.xml"
        pom.write_text(_POM.format(dependencies="\n".join(dependencies)))
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KafkaUnavailableError(f"Maven did not fetch Apache Kafka within {FETCH_TIMEOUT_S} s") from None
    if done.returncode:
        raise KafkaUnavailableError(f"Maven could not fetch Apache Kafka: {(done.stdout + done.stderr).strip()[-500:]}")
    (directory / "log4j2.xml").write_text(_LOG4J)
    (directory / ".complete").touch()


def main() -> int:
    """Fetch the jars; fail only in continuous integration, where the tests that need them may not be left out."""
    try:
        ensure_jars()
        ensure_zookeeper_jars()
        ensure_streams_jars()
        ensure_hdfs_jars()
        for version in OLD_CLIENTS:
            ensure_client_jars(version)
    except KafkaUnavailableError as error:
        sys.stderr.write(f"interop tests will be left out: {error}\n")
        return 1 if os.environ.get("CI") == "true" else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
