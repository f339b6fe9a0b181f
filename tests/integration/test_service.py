"""The unit of `odradek service`, started as systemd starts it: its command, a socket for what the broker tells."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

from odradek.service.unit import ServiceUnit, unit_text
from tests.support.broker import REPOSITORY, START_TIMEOUT_S, STOP_TIMEOUT_S
from tests.support.wire import WireClient


def test_a_broker_tells_systemd_when_it_serves_and_when_it_stops(tmp_path: Path) -> None:
    """Clients are served when READY comes, signs of life follow, SIGTERM is answered with STOPPING and exit code 0."""
    listener = "listeners=PLAINTEXT://127.0.0.1:0"
    unit = ServiceUnit(sys.executable, None, (listener, f"log.dirs={tmp_path}/data"), (f"{tmp_path}/data",))
    [command] = [each for each in unit_text(unit).splitlines() if each.startswith("ExecStart=")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("")  # an abstract name, as a manager of containers may have
        manager.settimeout(START_TIMEOUT_S)
        name = "@" + manager.getsockname()[1:].decode()
        environment = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "500000", "PYTHONPATH": str(REPOSITORY)}
        broker = subprocess.Popen(
            shlex.split(command.removeprefix("ExecStart=")),
            env={**os.environ, **environment},
            cwd="/",
            stderr=subprocess.DEVNULL,
        )
        try:
            assert manager.recv(4096).startswith(b"STATUS=starting")
            ready, _, status = manager.recv(4096).decode().partition("\n")
            assert ready == "READY=1"
            with WireClient(int(status.rpartition(" ")[2])) as client:
                client.ask("ApiVersions", 0)
            assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
            broker.send_signal(signal.SIGTERM)
            while (told := manager.recv(4096)) == b"WATCHDOG=1":
                pass
            assert told == b"STOPPING=1\nSTATUS=stopping in order: SIGTERM"
            assert broker.wait(STOP_TIMEOUT_S) == 0
        finally:
            broker.kill()
            broker.wait()
