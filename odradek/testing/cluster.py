"""Several brokers and a controller as processes, for tests of what happens when one of them dies."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from odradek.local_cluster import layout
from odradek.local_cluster.processes import LocalNodes, free_ports
from odradek.testing.broker import DEFAULTS
from odradek.testing.lifetime import Lifetime
from odradek.testing.topics import create_topic, fresh_name

SESSION_MS: Final = 2000
"""A broker that died is fenced after so long: a test does not want to wait for the nine seconds that Kafka waits."""


class Cluster(Lifetime):
    """A controller and brokers 1 to n; topics get three replicas, or as many as there are brokers."""

    def __init__(self, brokers: int = 3, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are configs of every node by Kafka's names."""
        self._brokers = brokers
        self._settings = {
            **DEFAULTS,
            "broker.session.timeout.ms": str(SESSION_MS),
            "broker.heartbeat.interval.ms": str(SESSION_MS // 4),
            **(settings or {}),
        }
        self._directory: Path | None = None
        self._started: LocalNodes | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return self._nodes.cluster.bootstrap

    def get_bootstrap_server(self) -> str:
        """Return where clients connect; named as in testcontainers."""
        return self.bootstrap_servers

    @property
    def directory(self) -> Path:
        """Where its nodes keep their data and logs."""
        return self._nodes.directory

    @property
    def running(self) -> list[int]:
        """The ids of the brokers that run."""
        return [node for node in self._nodes.running() if node != layout.CONTROLLER_ID]

    def start(self, *brokers: int) -> Self:
        """Start the cluster, or brokers of it that were stopped or killed, and return when they serve.

        Raises:
            odradek.terminal.errors.CommandError: one does not start; the message has the end of its log.
        """
        if self._started is None:
            self._directory = Path(tempfile.mkdtemp(prefix="odradek-cluster-"))
            ports = free_ports(0, self._brokers + 1)
            plan = layout.plan(ports[1:], ports[0], None, (), self._settings)
            layout.write(plan, self._directory)
            self._started = LocalNodes(self._directory, plan)
        self._started.start(brokers or self._started.cluster.node_ids)
        return self

    def stop(self, broker: int) -> None:
        """Stop a broker in order; what it leads moves to others first."""
        self._nodes.stop([broker])

    def kill(self, broker: int) -> None:
        """End a broker as a crash would (SIGKILL)."""
        self._nodes.kill(broker)

    def close(self) -> None:
        """End everything, and remove its directory."""
        if self._started is not None:
            for node in self._started.running():
                self._started.kill(node)
            self._started = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def topic(self, name: str | None = None, partitions: int = 1, **configs: str) -> str:
        """Make a topic and return its name; see `Broker.topic`."""
        name = name or fresh_name()
        address = (layout.HOST, self._nodes.cluster.port_of(self.running[0]))
        create_topic(address, name, partitions, {key.replace("_", "."): configs[key] for key in configs})
        return name

    @property
    def _nodes(self) -> LocalNodes:
        if self._started is None:
            raise RuntimeError("the cluster has not been started")
        return self._started
