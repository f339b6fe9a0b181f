"""The health check of the container image, run as the image runs it."""

import subprocess
import sys

from tests.conftest import BrokerFactory
from tests.support.broker import REPOSITORY
from tests.support.ports import free_ports


def _check(port: int) -> int:
    command = [sys.executable, str(REPOSITORY / "docker" / "healthcheck.py"), str(port)]
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode


def test_a_running_broker_is_healthy(new_broker: BrokerFactory) -> None:
    """The check succeeds against a broker that answers, and leaves no line in its log."""
    broker = new_broker()
    broker.start()
    assert _check(broker.port) == 0
    broker.stop()
    assert "connection closed" not in broker.log


def test_nothing_on_the_port_is_unhealthy() -> None:
    """The check fails where nobody listens."""
    [port] = free_ports(1)
    assert _check(port) != 0
