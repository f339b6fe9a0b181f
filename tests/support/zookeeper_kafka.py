"""A Kafka of ZooKeeper's times in a process, with its ZooKeeper in another: where moving over from there begins."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.broker import STOP_TIMEOUT_S, BrokerProcess, java_command
from tests.support.kafka_jars import ensure_zookeeper_jars
from tests.support.ports import free_ports
from tests.support.wire import WireClient


class ZooKeeperKafkaProcess(BrokerProcess):
    """An unmodified Apache Kafka with broker id 0, and the ZooKeeper that it keeps its metadata in."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, overrides)
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self.port, self._zookeeper_port = free_ports(2)

    @property
    def properties(self) -> Path:
        """The file of settings that it is started with."""
        return self.directory / "server.properties"

    def launch(self) -> None:
        """Start both processes without waiting; Kafka waits for ZooKeeper by itself."""
        self.directory.mkdir(parents=True, exist_ok=True)
        server = "org.apache.zookeeper.server.ZooKeeperServerMain"
        arguments = (str(self._zookeeper_port), str(self.directory / "zookeeper"))
        command = java_command(server, *arguments, jars=ensure_zookeeper_jars())
        command.insert(1, "-Dzookeeper.admin.enableServer=false")
        self._zookeeper = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        settings = {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.data),
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            "zookeeper.connection.timeout.ms": "60000",  # both start at once, beside other tests
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.overrides,
        }
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        super().launch()

    def wait(self, timeout: float = STOP_TIMEOUT_S) -> int:
        """Wait for Kafka to end, and end ZooKeeper."""
        try:
            return super().wait(timeout)
        finally:
            if self._zookeeper is not None:
                self._zookeeper.kill()
                self._zookeeper.wait()
                self._zookeeper = None

    def _answers(self) -> bool:
        """Whether it serves and knows itself, which comes later."""
        if not super()._answers():
            return False
        with WireClient(self.port) as client:
            return bool(client.ask("Metadata", 1, topics=[])["brokers"])

    def _command(self) -> Sequence[str]:
        return java_command("kafka.Kafka", str(self.properties), jars=ensure_zookeeper_jars())

    def _find_port(self) -> bool:
        return True
