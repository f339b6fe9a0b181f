"""A node with a compacted log, and the compaction process as a double that works in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from odradek.broker.compaction.frames import Message
from odradek.storage.compaction.round import compact
from odradek.storage.compaction.values import Cancel, Cancelled, Task
from odradek.storage.directories.manager import LogManager
from odradek.storage.log.log import Log
from odradek.storage.names import CLEANED_SUFFIX
from tests.support.compaction import unpaced
from tests.support.log_directories import open_log_directories
from tests.support.logs import NOW_MS, PARTITION, TOPIC_ID, append_values, contents, small_config
from tests.support.memory_files import MemoryFiles

CONFIG = replace(small_config(segment_bytes=600), cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0)


class ProcessInProcess:
    """Does the work of the compaction process when it is asked for the next message."""

    def __init__(self, fs: MemoryFiles, before: Callable[[int], None]) -> None:
        self._fs = fs
        self._before = before
        self._events: Iterator[Message] = iter(())
        self._asked = 0
        self.cancelled = False

    async def send(self, message: Message) -> None:
        if isinstance(message, Task):
            self._events = compact(self._fs, message, unpaced, lambda: 0.0)
        elif isinstance(message, Cancel):
            self._events = iter([Cancelled(message.number)])
            self.cancelled = True

    async def receive(self) -> Message:
        message = next(self._events)
        self._before(self._asked)  # what happens while the message is on its way
        self._asked += 1
        return message


class Scene(NamedTuple):
    """A node with one compacted log."""

    fs: MemoryFiles
    manager: LogManager
    log: Log

    def leftovers(self) -> list[str]:
        """Files that are half-written."""
        return [name for name in contents(self.fs, self.log.directory) if name.endswith(CLEANED_SUFFIX)]


def make_scene() -> Scene:
    """Return a log of some ten segments in which nearly everything is overwritten."""
    fs = MemoryFiles()
    manager = LogManager(fs, open_log_directories(fs, ["/data"], 1, lambda: UUID(int=1 << 100)), lambda: NOW_MS)
    manager.load_all(lambda _: (TOPIC_ID, CONFIG))
    log = manager.get_or_create(PARTITION, TOPIC_ID, CONFIG)
    for number in range(60):
        append_values(log, [b"%d" % number * 10, b"other"])
    log.roll(NOW_MS)
    log.flush()
    return Scene(fs, manager, log)
