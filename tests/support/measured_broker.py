"""A broker that measures its event loop: what `odradek serve` runs, with a stopwatch around every callback.

Processor time of the loop's thread, not time on the wall: other processes of the machine do not count. It runs on
asyncio's own loop, whose callbacks can be measured; what they do is the same. The longest one since the number was last
set back stands in a file that a test maps.

All of the broker is imported before it starts: which request happens to be the first for a handler, and pays for its
modules, would decide what that one costs.
"""

import asyncio.events
import mmap
import os
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import odradek.broker
import odradek.protocol
import odradek.storage
from tests.support.broker import NO_RETENTION, OdradekProcess

FILE = "longest-turn"
_NUMBER = struct.Struct("d")


class MeasuredBroker(OdradekProcess):
    """The process, and what it has measured."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, overrides)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / FILE).write_bytes(bytes(_NUMBER.size))
        with (directory / FILE).open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _NUMBER.size)

    def start_measuring(self) -> int:
        """Set the numbers back; returns how many bytes are resident now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        _NUMBER.pack_into(self._shared, 0, 0.0)
        return self._status("VmRSS:")

    @property
    def longest_turn_s(self) -> float:
        """Processor time of the longest callback since then, in seconds."""
        number: float = _NUMBER.unpack_from(self._shared)[0]
        return number

    @property
    def peak_bytes(self) -> int:
        """The most that was resident since then."""
        return self._status("VmHWM:")

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name} of process {self.pid}")

    def _command(self) -> Sequence[str]:
        settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.data),
            **NO_RETENTION,
            **self.overrides,
        }
        command = [sys.executable, "-P", "-m", "tests.support.measured_broker"]
        for key, value in settings.items():
            command += ["--override", f"{key}={value}"]
        return command


def _measure(path: str) -> None:
    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), _NUMBER.size)
    run = asyncio.events.Handle._run
    clock, pack, unpack = time.thread_time, _NUMBER.pack_into, _NUMBER.unpack_from

    def measured(handle: asyncio.events.Handle) -> None:
        began = clock()
        run(handle)
        took = clock() - began
        if took > unpack(shared)[0]:
            pack(shared, 0, took)

    asyncio.events.Handle._run = measured  # type: ignore[method-assign, assignment]


def _import_broker() -> None:
    for package in (odradek.broker, odradek.protocol, odradek.storage):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)


if __name__ == "__main__":
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # not to be imported
    _import_broker()
    _measure(os.path.join(os.getcwd(), FILE))
    from odradek.serving import serve

    sys.exit(serve(sys.argv[1:]))
