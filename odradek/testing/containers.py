"""What stands in for KafkaContainer of testcontainers-python: the same calls, and a process in place of a container.

Source of the names: testcontainers 4.15, testcontainers.community.kafka and testcontainers.core.container.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NoReturn, Self

from odradek.config.container import PREFIX, settings_of
from odradek.testing.broker import HOST, Broker
from odradek.testing.lifetime import Lifetime

CONTAINER_PORT: Final = 9093
"""The port that testcontainers' Kafka has inside of its container, by which tests ask for the one outside."""
OWN_SETTINGS: Final = frozenset({"listeners", "advertised.listeners", "log.dirs", "log.dir", "metadata.log.dir"})
"""Settings that would lead out of the broker's own port and directory."""
_PROCESS: Final = "the broker is a process of this machine and in no container"
_NO_NETWORK: Final = "clients reach it on 127.0.0.1; there is no network of containers to join"
_NO_FILES: Final = "it sees this machine's files; odradek.testing.Broker(directory=...) keeps its data"
REFUSED: Final[Mapping[str, str]] = {
    "with_network": _NO_NETWORK,
    "with_network_aliases": _NO_NETWORK,
    "with_volume_mapping": _NO_FILES,
    "with_tmpfs_mount": _NO_FILES,
    "with_copy_into_container": _NO_FILES,
    "copy_into_container": _NO_FILES,
    "copy_from_container": _NO_FILES,
    "create_file": _NO_FILES,
    "with_cluster_id": "a new cluster has an id of its own; `odradek format --cluster-id` gives one to a directory",
    "with_env_file": "read the file and give what it says to with_envs",
    "with_exposed_ports": "it has one port, which get_exposed_port tells",
    "with_command": "its settings are given by with_env",
    "with_kwargs": "its settings are given by with_env",
    "waiting_for": "start returns once it serves; how long that may take is start(timeout=...)",
    "exec": "run the command on this machine, with get_bootstrap_server()",
}
"""Calls of testcontainers that mean nothing without a container, and why; of the others `_PROCESS` is said."""


class KafkaContainer(Lifetime):
    """A broker behind the calls of testcontainers' KafkaContainer; only the import changes.

    Calls that need a container raise AttributeError with the reason.
    """

    def __init__(
        self, image: str = "", port: int = CONTAINER_PORT, *, env: Mapping[str, str] | None = None, **others: object
    ) -> None:
        """No image is run, whatever its name; `port` is what `get_exposed_port` is asked for. TypeError for others."""
        if others:
            raise TypeError(f"KafkaContainer of odradek takes no {', '.join(sorted(others))}: {_PROCESS}")
        self.image = image
        self.port = port
        self.env: dict[str, str] = {}
        self._outside = 0
        self._broker: Broker | None = None
        self.with_envs(**(env or {}))

    def with_kraft(self) -> Self:
        """Change nothing: there is no other way, the broker has its own controller."""
        return self

    def with_env(self, key: str, value: object) -> Self:
        """Set a config as a variable of Kafka's images does: `KAFKA_NUM_PARTITIONS`. Those for Java change nothing.

        Raises:
            ValueError: it is none, or would lead out of the broker's own port and directory.
            odradek.config.errors.ConfigError: it names a file with a password that cannot be read.
            RuntimeError: the broker runs.
        """
        self._check_stopped()
        if not key.startswith(PREFIX) or key == PREFIX:
            raise ValueError(f"{key} is no setting of a broker: those are {PREFIX} and the key, {PREFIX}NUM_PARTITIONS")
        if any(each.key in OWN_SETTINGS for each in settings_of({key: str(value)})):
            raise ValueError(f"{key}: the broker has a port and a directory of its own; with_bind_ports sets the port")
        self.env[key] = str(value)
        return self

    def with_envs(self, **variables: object) -> Self:
        """Set several; see `with_env`."""
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_bind_ports(self, container: int | str, host: int | str | None = None) -> Self:
        """Listen on this port of 127.0.0.1; on any that is free where none is given.

        Raises:
            ValueError: `container` is not its port, or `host` is no port.
            RuntimeError: the broker runs.
        """
        self._check_stopped()
        self._check_port(container)
        outside = 0 if host is None else _number(host)
        if not 0 <= outside <= 65535:
            raise ValueError(f"{host} is no port")
        self._outside = outside
        return self

    def start(self, timeout: float = 30.0) -> Self:
        """Start it, and return when it serves; `timeout` in seconds.

        Raises:
            RuntimeError: it runs, or does not start; the message has the end of its log.
        """
        self._check_stopped()
        settings = {each.key: each.value for each in settings_of(self.env)}
        listeners = {"listeners": f"PLAINTEXT://{HOST}:{self._outside}"} if self._outside else {}
        self._broker = Broker({**settings, **listeners}, start_timeout_s=timeout)
        try:
            self._broker.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it and remove what it has written, as a container goes with its volume."""
        if self._broker is not None:
            self._broker.close()
            self._broker = None

    def close(self) -> None:
        """End it and leave nothing."""
        self.stop()

    def get_bootstrap_server(self) -> str:
        """Return where clients connect."""
        return self._running.bootstrap_servers

    def get_container_host_ip(self) -> str:
        """Return the address that clients connect to."""
        return HOST

    def get_exposed_port(self, port: int | str) -> int:
        """Return the port that clients connect to in place of the one inside; ValueError for another."""
        self._check_port(port)
        return self._running.port

    def get_logs(self) -> tuple[bytes, bytes]:
        """Return what it has said so far: on standard output, where nothing goes to standard error."""
        return self._running.log.encode(), b""

    @property
    def _running(self) -> Broker:
        if self._broker is None:
            raise RuntimeError("the broker has not been started")
        return self._broker

    def _check_stopped(self) -> None:
        if self._broker is not None:
            raise RuntimeError("the broker runs already")

    def _check_port(self, port: int | str) -> None:
        if _number(port) != self.port:
            raise ValueError(f"{port}: the one port is {self.port}")

    if not TYPE_CHECKING:  # a checker of types knows what is not there

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"KafkaContainer of odradek has no {name}: {REFUSED.get(name, _PROCESS)}")


def _number(port: int | str) -> int:
    text = str(port).removesuffix("/tcp")
    if not (text.isascii() and text.isdecimal() and len(text) <= 5):
        raise ValueError(f"{port} is no port")
    return int(text)
