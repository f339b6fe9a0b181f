"""The console that a broker starts beside itself (`odradek serve --console`): a process of its own.

It reaches the broker as any client does, and ends with it, whatever way that ends: its standard input is a pipe that
only the broker holds. If it fails, the broker goes on.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from odradek.broker.runtime.logging import get_logger
from odradek.config.errors import ConfigError
from odradek.config.listeners import Listener
from odradek.config.settings import BrokerSettings

log = get_logger("console")

STOP_TIMEOUT_S = 5.0
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  read, not bound


def console_arguments(settings: BrokerSettings, ports: Sequence[int], listen: str) -> list[str]:
    """Return the arguments of `odradek console` for this broker; `ports` are those of its listeners, in their order."""
    open_listener = _open_listener(settings)
    port = ports[list(settings.listeners).index(open_listener)]
    host = "127.0.0.1" if open_listener.host in _EVERYWHERE else open_listener.host
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    arguments = ["--bootstrap-server", address, "--listen", listen, "--stop-with-stdin"]
    for directory in settings.log_dirs:
        arguments += ["--log-dir", directory]
    http = settings.http_listener
    if http is not None and http.port:
        reached = "127.0.0.1" if http.host in _EVERYWHERE else http.host
        arguments += ["--metrics", f"http://{f'[{reached}]' if ':' in reached else reached}:{http.port}/metrics"]
    return arguments


def check_console(settings: BrokerSettings) -> None:
    """See that a console can reach this node; ConfigError says what to do where it cannot."""
    _open_listener(settings)


def _open_listener(settings: BrokerSettings) -> Listener:
    found = next((each for each in settings.listeners if each.protocol == "PLAINTEXT"), None)
    if found is None:
        raise ConfigError(
            "--console needs a listener without passwords and encryption (PLAINTEXT) on this node; run `odradek console"
            " --command-config FILE` beside it instead"
        )
    return found


class ConsoleProcess:
    """The process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._watch = asyncio.ensure_future(self._tell_of_the_end())

    @classmethod
    async def start(cls, arguments: Sequence[str]) -> ConsoleProcess:
        """Start it; what it prints goes where the broker's own lines go. OSError where there is no starting it."""
        command = [sys.executable, "-P", "-m", "odradek", "console", *arguments]
        # In a session of its own Ctrl-C reaches the broker alone, which then ends it.
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)
        return cls(process)

    async def stop(self) -> None:
        """Let it end, and wait a little for that."""
        self._watch.cancel()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _tell_of_the_end(self) -> None:
        code = await self._process.wait()
        log.warning("the console has ended; the broker goes on without it", exit_code=code)
