"""Files and directories in memory that know what a power failure would leave of them.

The model is as unkind as POSIX allows, within what journaling file systems do:

- The content of a file is safe up to its last sync. Of the writes after it each may survive, be lost, or survive in
  part; what lies between survivors reads as zeros.
- A sync that fails takes the writes since the last one for done, as Linux does: they can be read, but no later sync
  brings them to the disk.
- The names in a directory are safe up to its last sync. Of the changes after it, the first ones survive: a file system
  keeps their order within a directory, but nothing holds between directories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class MemoryFile:
    """The content of a file, whether or not it still has a name."""

    content: bytearray = field(default_factory=bytearray)
    mtime_ms: int = 0
    _durable: bytes = b""
    _unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(position, data) of each write, (size, None) of each truncation, since the last sync."""
    is_cold: bool = False
    """Whether the content is on the disk alone, as after memory was needed for something else."""

    def write(self, position: int, data: bytes) -> None:
        _overwrite(self.content, position, data)
        self._unsynced.append((position, data))

    def truncate(self, size: int) -> None:
        _resize(self.content, size)
        self._unsynced.append((size, None))

    def sync(self) -> None:
        durable = bytearray(self._durable)
        for position, data in self._unsynced:
            if data is None:
                _resize(durable, position)
            else:
                _overwrite(durable, position, data)
        self._durable = bytes(durable)
        self._unsynced.clear()

    def fail_to_sync(self) -> None:
        self._unsynced.clear()

    def survive(self, random: Random, kept: float) -> MemoryFile:
        """Return the file as it is found after a crash; `kept` is the chance of an unsynced change to survive."""
        content = bytearray(self._durable)
        for position, data in self._unsynced:
            if random.random() >= kept:
                continue
            if data is None:
                _resize(content, position)
                continue
            if kept < 1 and random.random() < 0.25:
                data = data[: random.randrange(len(data) + 1)]
            _overwrite(content, position, data)
        return MemoryFile(content, self.mtime_ms, bytes(content))


@dataclass(slots=True)
class MemoryDirectory:
    """The names in a directory."""

    entries: dict[str, MemoryFile | MemoryDirectory] = field(default_factory=dict)
    mtime_ms: int = 0
    _durable: dict[str, MemoryFile | MemoryDirectory] = field(default_factory=dict)
    _unsynced: list[tuple[str, str, MemoryFile | MemoryDirectory | None]] = field(default_factory=list)
    """(name that goes, or "", name that comes, or "", what comes) of each change since the last sync."""

    def link(self, name: str, node: MemoryFile | MemoryDirectory) -> None:
        self._change("", name, node)

    def unlink(self, name: str) -> None:
        self._change(name, "", None)

    def rename(self, old: str, new: str) -> None:
        self._change(old, new, self.entries[old])

    def sync(self) -> None:
        self._durable = dict(self.entries)
        self._unsynced.clear()

    def survive(self, random: Random, kept: float) -> MemoryDirectory:
        """Return the directory as it is found after a crash, with all that is in it."""
        entries = dict(self._durable)
        for change in self._unsynced:
            if random.random() >= kept:
                break
            _apply(entries, change)
        survivors = {name: node.survive(random, kept) for name, node in sorted(entries.items())}
        return MemoryDirectory(survivors, self.mtime_ms, dict(survivors))

    def _change(self, old: str, new: str, node: MemoryFile | MemoryDirectory | None) -> None:
        change = (old, new, node)
        _apply(self.entries, change)
        self._unsynced.append(change)


def _apply(
    entries: dict[str, MemoryFile | MemoryDirectory], change: tuple[str, str, MemoryFile | MemoryDirectory | None]
) -> None:
    old, new, node = change
    if old:
        entries.pop(old, None)
    if node is not None:
        entries[new] = node


def _overwrite(content: bytearray, position: int, data: bytes) -> None:
    if position > len(content):
        content.extend(bytes(position - len(content)))
    content[position : position + len(data)] = data


def _resize(content: bytearray, size: int) -> None:
    if size > len(content):
        content.extend(bytes(size - len(content)))
    else:
        del content[size:]
