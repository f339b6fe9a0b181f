"""Apache Kafka itself, fetched from Maven into the cache directory and started with its stock JVM flags.

Needs Java 17 or newer and Maven. Owns where the jars lie and how a single KRaft node is configured; knows nothing of
what is measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

VERSION = "4.3.0"

# bin/kafka-server-start.sh and bin/kafka-run-class.sh of the distribution give these.
_JVM_FLAGS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>apache-kafka</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{version}</version></dependency>
</dependencies></project>
"""

_LOGGING = """<Configuration status="ERROR"><Appenders><Console name="S" target="SYSTEM_ERR">
<PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="S"/></Root></Loggers></Configuration>
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class PeerUnavailableError(Exception):
    """Apache Kafka cannot be had on this machine; the message says what is missing."""


def install() -> Path:
    """The directory of Apache Kafka's jars, fetched with Maven (100 MB) the first time; PeerUnavailableError if not."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jars = cache / f"apache-kafka-{VERSION}"
    if shutil.which("java") is None:
        raise PeerUnavailableError("comparing with Apache Kafka needs Java 17 or newer: no java on PATH")
    if not (jars / ".complete").exists():
        if shutil.which("mvn") is None:
            raise PeerUnavailableError("fetching Apache Kafka needs Maven: no mvn on PATH")
        jars.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            pom = Path(work, "pom.xml")
            pom.write_text(_POM.format(version=VERSION))
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
            done = subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=False)
        if done.returncode:
            raise PeerUnavailableError(f"Maven could not fetch Apache Kafka {VERSION} (exit code {done.returncode})")
        (jars / "log4j2.xml").write_text(_LOGGING)
        (jars / ".complete").touch()
    return jars


def command(directory: Path, ports: tuple[int, int], overrides: Mapping[str, str]) -> list[str]:
    """The command that serves `directory` on the first port, its controller on the second; formats it when new."""
    text = _PROPERTIES.format(port=ports[0], controller_port=ports[1], directory=directory)
    identity = _tool(install(), "random-uuid").split()[-1] if not _is_formatted(directory) else ""
    return _serve(directory, text + _lines(overrides), identity)


def node_command(directory: Path, settings: Mapping[str, str], cluster_id: str) -> list[str]:
    """The command that serves `directory` as a node of a cluster; formats it when new."""
    return _serve(directory, _lines({"log.dirs": str(directory), **settings}), cluster_id)


def _lines(settings: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _is_formatted(directory: Path) -> bool:
    return (directory / "meta.properties").exists()


def _serve(directory: Path, text: str, cluster_id: str) -> list[str]:
    """The command that serves `directory` with these properties; formats it for a cluster when new."""
    jars = install()
    directory.mkdir(parents=True, exist_ok=True)
    properties = directory.with_suffix(".properties")
    properties.write_text(text)
    if not _is_formatted(directory):
        _tool(jars, "format", "-t", cluster_id, "-c", str(properties))
    # What its compression libraries unpack stays behind when it is killed: let it be in the scratch directory.
    scratch = f"-Djava.io.tmpdir={directory.parent}"
    return [*_java(jars, (*_JVM_FLAGS, scratch)), "kafka.Kafka", str(properties)]


def _java(jars: Path, flags: tuple[str, ...]) -> list[str]:
    return ["java", *flags, f"-Dlog4j2.configurationFile={jars / 'log4j2.xml'}", "-cp", f"{jars}/*"]


def _tool(jars: Path, *arguments: str) -> str:
    """Run Kafka's storage tool and return what it printed; PeerUnavailableError when it fails."""
    tool = [*_java(jars, ("-Xmx256m", "-XX:TieredStopAtLevel=1")), "kafka.tools.StorageTool", *arguments]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailableError(f"Apache Kafka's storage tool failed: {done.stderr.strip()[-500:]}")
    return done.stdout
