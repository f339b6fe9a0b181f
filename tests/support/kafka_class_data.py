"""Apache Kafka's classes as the JVM has them in memory, kept in a file: its broker and tools start with half the work.

Made by `make tools`, which runs the broker and some tools for it, once for each version of Apache Kafka and Java, and
kept beside the jars. Where it is not there, or does not fit any more, JVMs start as they would without: this is class
data sharing with a static archive (JEP 310).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer

from tests.support.broker import ApacheKafkaProcess, run_java
from tests.support.kafka_jars import KafkaUnavailableError, class_archive, ensure_jars

INSPECTED = "*-0/00000000000000000000.log"
TIMEOUT_S = 300


def make_class_archive(archive: Path) -> None:
    """Make the archive. Raises AssertionError, KafkaException or SubprocessError where it cannot be made."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as given:
        directory = Path(given)
        os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:DumpLoadedClassList={directory}/%p.classes"
        _work(directory)
        del os.environ["JAVA_TOOL_OPTIONS"]
        classes = {line for each in directory.glob("*.classes") for line in each.read_text().splitlines()}
        (directory / "classes").write_text("\n".join(sorted(classes)))
        options = ["-Xshare:dump", f"-XX:SharedClassListFile={directory}/classes"]
        made = directory / archive.name
        command = ["java", *options, f"-XX:SharedArchiveFile={made}", "-cp", f"{archive.parent}/*"]
        subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
        made.rename(archive)


def _work(directory: Path) -> None:
    """Have a broker and tools load what they need."""
    kafka = ApacheKafkaProcess(directory / "kafka")
    kafka.start()
    try:
        here = {"bootstrap.servers": kafka.bootstrap, "log_level": 2}
        at = ("--bootstrap-server", kafka.bootstrap)
        producer = Producer(here | {"transactional.id": "t"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("t", b"v")
        producer.commit_transaction(60)
        del producer
        consumer = Consumer(here | {"group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        assert consumer.poll(60) is not None
        consumer.close()
        tools = "org.apache.kafka.tools"
        run_java(f"{tools}.TopicCommand", *at, "--describe")
        run_java(f"{tools}.ConsoleProducer", *at, "--topic", "t", stdin=b"v\n")
        run_java(f"{tools}.consumer.ConsoleConsumer", *at, "--topic", "t", "--from-beginning", "--max-messages", "1")
        run_java(f"{tools}.consumer.group.ConsumerGroupCommand", *at, "--describe", "--all-groups")
    finally:
        kafka.stop()
    logs = sorted(map(str, kafka.data.glob(INSPECTED)))
    run_java(f"{tools}.DumpLogSegments", "--files", ",".join(logs), "--deep-iteration")


def main() -> None:
    """Make the archive if it is not there, and say where it is; without it tests take longer, and are the same."""
    try:
        archive = class_archive(ensure_jars())
        if not archive.exists():
            make_class_archive(archive)
        sys.stdout.write(f"{archive}\n")
    except (KafkaUnavailableError, KafkaException, subprocess.SubprocessError, AssertionError) as error:
        sys.stderr.write(f"Apache Kafka's classes are not kept, its JVMs start more slowly: {error}\n")


if __name__ == "__main__":
    main()
