"""A real Redis in a process of its own, for tests of what is kept there."""

import shutil
import signal
import subprocess
from pathlib import Path

from tests.support.ports import free_ports
from tests.support.waiting import eventually

STOP_TIMEOUT_S = 60


def missing() -> bool:
    """Return whether there is no redis-server on this machine."""
    return shutil.which("redis-server") is None


class RedisServer:
    """A redis-server that has on disk what it has acknowledged, and finds it there when it is started again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_ports(1)[0]

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server and return once it answers."""
        from redis import Redis
        from redis.exceptions import RedisError

        self._directory.mkdir(parents=True, exist_ok=True)
        settings = {"port": str(self.port), "bind": "127.0.0.1", "dir": str(self._directory)}
        settings |= {"appendonly": "yes", "appendfsync": "always", "save": "", "daemonize": "no"}
        command = ["redis-server", *(part for name, value in settings.items() for part in (f"--{name}", value))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)

        def answers() -> bool:
            try:
                with Redis.from_url(self.url) as client:
                    return bool(client.ping())
            except RedisError:
                return False

        eventually(answers, "redis-server answers")

    def kill(self) -> None:
        """End it as a crash would, if it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
