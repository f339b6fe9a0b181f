"""What a service manager is told: systemd's protocol for services of `Type=notify`.

Owns: the datagrams and the watchdog's turns. Must not know: what the broker does. A service manager that has gone is
nobody's loss. One that is too busy to read misses signs of life and statuses; only for what it must not miss, that the
broker serves or stops, it is waited for a moment. Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

_SOCKET, _WATCHDOG_US, _WATCHDOG_PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
_TURNS = 2
"""Signs of life in each period of the watchdog, as sd_watchdog_enabled(3) advises."""
_PATIENCE_S = 5.0
"""For a manager that has more to read than it comes to: one that never hears that a service is ready waits for ever."""
_LONGEST_STATUS = 1000
"""Characters: what is longer is of no use in a status line, and a datagram has its limit."""


class ServiceManager:
    """The one that has started this process, if it wants to be told anything."""

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = address
        self.watchdog_s = watchdog_s
        """A process that gives no sign of life for so many seconds is ended; None where nobody looks."""
        self._turn: asyncio.TimerHandle | None = None

    def ready(self, status: str) -> None:
        """The process serves from now on."""
        self._send("READY=1", status, _PATIENCE_S)

    def stopping(self, status: str) -> None:
        """The process has begun to stop in order."""
        self._send("STOPPING=1", status, _PATIENCE_S)

    def status(self, status: str) -> None:
        """What it is at, in a line for people."""
        self._send("", status)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give a sign of life in time as long as the loop turns, if somebody waits for it."""
        if self.watchdog_s is not None:
            self._send("WATCHDOG=1", None)
            self._turn = loop.call_later(self.watchdog_s / _TURNS, self.watch, loop)

    def end_watch(self) -> None:
        """Give no more signs of life."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _send(self, state: str, status: str | None, patience_s: float = 0.0) -> None:
        if self._address is None:
            return
        lines = [state] if state else []
        if status is not None:
            lines.append(f"STATUS={' '.join(status.split())[:_LONGEST_STATUS]}")
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(patience_s)
            sender.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


def find_service_manager(environment: MutableMapping[str, str], pid: int) -> ServiceManager:
    """Return the service manager that the environment names, and take its variables out, which are not for children.

    An address may be a path or, with `@`, an abstract name; other kinds count as none.
    """
    given = environment.pop(_SOCKET, "")
    period, for_pid = environment.pop(_WATCHDOG_US, ""), environment.pop(_WATCHDOG_PID, "")
    address = None
    if given.startswith("/"):
        address = given
    elif given.startswith("@") and len(given) > 1:
        address = "\0" + given[1:]
    watchdog_s = None
    if address is not None and period.isascii() and period.isdecimal() and for_pid in ("", str(pid)):
        watchdog_s = int(period) / 1e6 or None
    return ServiceManager(address, watchdog_s)


def service_manager_of_process() -> ServiceManager:
    """Return the service manager that has started this process."""
    return find_service_manager(os.environ, os.getpid())
