"""One broker of its own, as a process, for as long as a test needs it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import javaproperties

from odradek.testing.lifetime import Lifetime
from odradek.testing.topics import create_topic, fresh_name

HOST: Final = "127.0.0.1"
DEFAULTS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
"""What differs from Kafka's defaults: a test has few groups, and does not want to wait for members that never come."""
PROGRAM: Final = (sys.executable, "-P", "-m", "odradek")
"""-P: a test's own modules are not taken for the broker's."""
STOP_TIMEOUT_S: Final = 10.0
PAUSE_S: Final = 0.005


class Broker(Lifetime):
    """A broker on a free port of 127.0.0.1, with a directory of its own.

    `with Broker() as broker:` starts it and removes everything at the end; `async with` does the same without holding
    up the event loop. It ends with the process that has started it, however that ends.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        directory: Path | str | None = None,
        secure: bool = False,
        start_timeout_s: float = 30.0,
    ) -> None:
        """`settings` are configs of the broker by Kafka's names. With a `directory` its data stay there, and are found
        again by the next broker on it; without, they are in a temporary one, which is removed. A `secure` one lets in
        only who logs in over TLS, as `odradek secure init` sets it up; clients connect with `client_settings`, and may
        do anything. That needs `pip install 'odradek[security]'`."""
        self._protocol = "SASL_SSL" if secure else "PLAINTEXT"
        self._settings = {"listeners": f"{self._protocol}://{HOST}:0", **DEFAULTS, **(settings or {})}
        self._given = None if directory is None else Path(directory)
        self._temporary: Path | None = None
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        """The port of its first listener, once it has started; it keeps that when it is started again."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        if not self.port:
            raise RuntimeError("the broker has not been started")
        return f"{HOST}:{self.port}"

    def get_bootstrap_server(self) -> str:
        """Return where clients connect; named as in testcontainers."""
        return self.bootstrap_servers

    @property
    def client_settings(self) -> dict[str, str]:
        """How clients connect: settings by librdkafka's names, `Producer(broker.client_settings)`."""
        settings: dict[str, str] = {}
        if self._is_secure:
            settings = dict(javaproperties.loads((self._secure / "client.properties").read_text()))
        return {**settings, "bootstrap.servers": self.bootstrap_servers}

    @property
    def client_properties(self) -> Path:
        """The same as a file, written when it starts: --command-config of `odradek`, and by Java's names of Kafka's
        tools."""
        return self.directory / "client.properties"

    @property
    def directory(self) -> Path:
        """Where it keeps its data and its log."""
        found = self._given or self._temporary
        if found is None:
            raise RuntimeError("the broker has not been started")
        return found

    @property
    def log(self) -> str:
        """What it has said so far, over all its starts."""
        try:
            return self._log_file.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start it, and return when it serves.

        Raises:
            RuntimeError: it runs, or does not start; the message has the end of its log.
        """
        if self.is_running:
            raise RuntimeError("the broker runs already")
        if self._given is None and self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="odradek-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        ports = self.directory / "ports"
        ports.unlink(missing_ok=True)
        settings = {"log.dirs": str(self.directory / "data"), **self._settings}
        if self.port and settings["listeners"] == f"{self._protocol}://{HOST}:0":
            settings["listeners"] = f"{self._protocol}://{HOST}:{self.port}"
        command = [*PROGRAM, "serve", "--stop-with-stdin", "--port-file", str(ports)]
        if self._is_secure:
            self._make_secure()
            settings = {"advertised.listeners": settings["listeners"], **settings}
            command.append(str(self._secure / "server.properties"))
            settings["log.dirs"] = self._settings.get("log.dirs", str(self._secure / "data"))  # which has the user
        for key, value in settings.items():
            command += ["--override", f"{key}={value}"]
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        self._wait_until_serving(ports)
        self._write_client_properties()
        return self

    def stop(self) -> None:
        """Stop it in order; its data stay, and `start` goes on with them."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._ended()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL); its data stay, and `start` goes on with them."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def restart(self) -> None:
        """Stop it in order and start it again, on the same port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it, and remove its directory unless that was given."""
        self.stop()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def topic(self, name: str | None = None, partitions: int = 1, **configs: str) -> str:
        """Make a topic and return its name, a fresh one if none is given.

        Configs have `_` for `.`: `cleanup_policy="compact"`. Raises RuntimeError where the broker refuses it.
        """
        name = name or fresh_name()
        renamed = {key.replace("_", "."): value for key, value in configs.items()}
        create_topic((HOST, self.port), name, partitions, renamed, self.client_settings)
        return name

    @property
    def _is_secure(self) -> bool:
        return self._protocol != "PLAINTEXT"

    @property
    def _secure(self) -> Path:
        return self.directory / "secure"

    def _make_secure(self) -> None:
        if not self._secure.exists():
            command = [*PROGRAM, "secure", "init", str(self._secure), "--host", HOST]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode:
                raise RuntimeError(made.stderr.strip())

    def _write_client_properties(self) -> None:
        settings: dict[str, str] = {}
        if self._is_secure:
            settings = dict(javaproperties.loads((self._secure / "client-java.properties").read_text()))
        settings["bootstrap.servers"] = self.bootstrap_servers
        self.client_properties.touch(0o600)
        self.client_properties.write_text(javaproperties.dumps(settings, timestamp=None))

    @property
    def _log_file(self) -> Path:
        return self.directory / "broker.log"

    def _wait_until_serving(self, ports: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_timeout_s
        while not ports.exists():
            code = self._process.poll()
            if code is not None or time.monotonic() > deadline:
                self.kill()
                how = f"is not up after {self._start_timeout_s:g} s" if code is None else f"ended with exit code {code}"
                raise RuntimeError(f"the broker {how}:\n{self.log[-2000:]}")
            time.sleep(PAUSE_S)
        self.port = int(ports.read_text().split()[0])

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process = None
