"""A real Apache ZooKeeper in a process of its own, for tests of what is kept there."""

import socket
import subprocess
from pathlib import Path

from tests.support.broker import STOP_TIMEOUT_S, java_command
from tests.support.kafka_jars import ensure_zookeeper_jars
from tests.support.ports import free_ports
from tests.support.waiting import eventually


class ZooKeeperServer:
    """A single ZooKeeper that has on disk what it has acknowledged, and finds it there when it is started again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_ports(1)[0]

    def url(self, chroot: str = "", account: str = "") -> str:
        """Where clients connect."""
        return f"zookeeper://{account}127.0.0.1:{self.port}{chroot}"

    def start(self) -> None:
        """Start the server and return once it serves."""
        server = "org.apache.zookeeper.server.ZooKeeperServerMain"
        command = java_command(server, str(self.port), str(self._directory), jars=ensure_zookeeper_jars())
        command[1:1] = ["-Dzookeeper.admin.enableServer=false", "-XX:TieredStopAtLevel=1"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        eventually(self._serves, "ZooKeeper serves")

    def kill(self) -> None:
        """End it as a crash would, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None

    def _serves(self) -> bool:
        """Whether it answers one of its commands of four letters, and not that it does not serve yet."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as client:
                client.sendall(b"srvr")
                return client.makefile("rb").read().startswith(b"Zookeeper version")
        except OSError:
            return False
