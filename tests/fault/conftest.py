"""Fixtures of the fault tests."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, IN_CI, BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.wire import WireClient

SMALL_DISK_BYTES = 4 << 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Apache Kafka halts where this broker goes on: these tests are not for it."""
    if AGAINST_APACHE_KAFKA:
        for item in items:
            if "tests/fault/" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason="Apache Kafka halts where this broker goes on"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory that is a real file system of 4 MiB.

    Where none can be mounted the test is left out; in continuous integration that is a failure.
    """
    directory = tmp_path / "small disk"
    directory.mkdir()
    become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    options = f"size={SMALL_DISK_BYTES},uid={os.getuid()},gid={os.getgid()}"
    try:
        command = [*become_root, "mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory)]
        mounted = subprocess.run(command, capture_output=True, check=False)
        problem = mounted.stderr.decode() if mounted.returncode else ""
    except OSError as missing:
        problem = str(missing)
    if problem:
        assert not IN_CI, f"no file system can be mounted here: {problem}"
        pytest.skip(f"no file system can be mounted here: {problem}")
    yield directory
    subprocess.run([*become_root, "umount", "--lazy", str(directory)], check=True)
    shutil.rmtree(directory)


@pytest.fixture
def running(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker with default settings, started."""
    broker = new_broker()
    broker.start()
    return broker


@pytest.fixture
def connect() -> Iterator[Callable[[BrokerProcess], WireClient]]:
    """Open connections to brokers that are closed after the test."""
    clients: list[WireClient] = []

    def open_to(broker: BrokerProcess) -> WireClient:
        clients.append(WireClient(broker.port))
        return clients[-1]

    yield open_to
    for client in clients:
        client.close()
