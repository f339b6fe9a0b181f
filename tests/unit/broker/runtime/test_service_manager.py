"""What a service manager is told, over real datagram sockets."""

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.runtime.service_manager import ServiceManager, find_service_manager

PID = 4711


def receiver(address: str) -> socket.socket:
    """Return the socket of a service manager; reading from it never waits."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(address)
    manager.setblocking(False)
    return manager


def test_states_go_to_a_path_with_a_status_of_one_line(tmp_path: Path) -> None:
    """State first, then the status, without line ends that would begin an assignment of their own."""
    path = str(tmp_path / "notify")
    with receiver(path) as manager:
        found = find_service_manager({"NOTIFY_SOCKET": path}, PID)
        found.ready("serves\nREADY=0  now")
        assert manager.recv(4096) == b"READY=1\nSTATUS=serves READY=0 now"
        found.stopping("x" * 100_000)
        assert manager.recv(200_000) == b"STOPPING=1\nSTATUS=" + b"x" * 1000


def test_abstract_names_begin_with_an_at_sign() -> None:
    """As systemd writes them into the environment."""
    with receiver("") as manager:  # a name of the kernel's choice
        name = manager.getsockname().decode()
        assert name.startswith("\0")
        find_service_manager({"NOTIFY_SOCKET": f"@{name[1:]}"}, PID).ready("serves")
        assert manager.recv(4096) == b"READY=1\nSTATUS=serves"


def test_children_do_not_inherit_the_manager() -> None:
    """The variables are taken out of the environment, whatever they say; others stay."""
    environment = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "2", "PATH": "/bin"}
    find_service_manager(environment, PID)
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize("address", ["", "@", "relative", "vsock:2:1", "/nowhere/at/all", "/" + "long" * 100])
def test_who_cannot_be_reached_is_told_nothing(address: str) -> None:
    """Neither a wrong address nor a manager that has gone is a failure."""
    found = find_service_manager({"NOTIFY_SOCKET": address}, PID)
    found.ready("serves")
    found.stopping("stops")


def test_a_manager_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    """When its buffer is full, statuses are dropped."""
    path = str(tmp_path / "notify")
    with receiver(path) as manager:
        found = find_service_manager({"NOTIFY_SOCKET": path}, PID)
        for _ in range(10_000):
            found.status("x" * 1000)
        assert manager.recv(4096)


def test_a_busy_manager_does_not_miss_that_the_broker_serves(tmp_path: Path) -> None:
    """While its buffer is full, readiness waits for it to read on."""
    path = str(tmp_path / "notify")
    with receiver(path) as manager:
        found = find_service_manager({"NOTIFY_SOCKET": path}, PID)
        for _ in range(10_000):
            found.status("x" * 1000)
        telling = threading.Thread(target=found.ready, args=("serves",))
        telling.start()
        manager.settimeout(60)
        while not (told := manager.recv(4096)).startswith(b"READY=1"):
            assert told.startswith(b"STATUS=")
        telling.join()


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(PID)}, 0.5),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(PID + 1)}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "٣"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_that_of_this_process(variables: dict[str, str], seconds: float | None) -> None:
    """Its period is in microseconds; one for another process, or that is no number, is none."""
    assert find_service_manager({"NOTIFY_SOCKET": "@x", **variables}, PID).watchdog_s == seconds


async def test_signs_of_life_come_while_the_loop_turns(tmp_path: Path) -> None:
    """Twice in each period, until they are to end."""
    path = str(tmp_path / "notify")
    loop = TurnsCounted(asyncio.get_running_loop())
    with receiver(path) as manager:
        found = ServiceManager(path, watchdog_s=0.02)
        found.watch(loop)  # type: ignore[arg-type]
        for _ in range(3):
            assert await asyncio.wait_for(loop.sock_recv(manager, 4096), 10) == b"WATCHDOG=1"
        found.end_watch()
    assert set(loop.delays) == {0.01}
    assert loop.turns[-1].cancelled()


class TurnsCounted:
    """A loop whose timers can be looked at."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.sock_recv = loop.sock_recv
        self.delays: list[float] = []
        self.turns: list[asyncio.TimerHandle] = []

    def call_later(self, delay: float, callback: Callable[..., object], *arguments: object) -> asyncio.TimerHandle:
        """As the loop's own."""
        self.delays.append(delay)
        self.turns.append(self._loop.call_later(delay, callback, *arguments))
        return self.turns[-1]
