"""A file system in memory that fails on demand: the other implementation of `storage.files.FileSystem`.

- `MemoryFiles(crash_at=k)` raises SimulatedCrash in the k-th operation that changes something (counted from 0), which
  may have taken effect, in part or not at all, and in every one that follows. `crash()` then gives what a machine finds
  after the power failed; `crash(kept=1.0)` what it finds after only the process was killed.
- `capacity` limits the bytes of all files; writes beyond it fail with ENOSPC, after writing what still fits.
- `fail` makes chosen operations fail with an error. A sync that fails loses what it was about, if the power fails.

All chance comes from the seed, so a failure can be repeated from what a test prints.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from odradek.storage.files import TEMPORARY_SUFFIX, Buffer, DirectoryEntry, DiskSpace
from tests.support.memory_nodes import MemoryDirectory, MemoryFile

UNLIMITED = 1 << 60


class SimulatedCrash(BaseException):
    """The machine has stopped. Not an Exception, so that nothing in the code under test takes it for a failed write."""


@dataclass(slots=True)
class Fault:
    """Operations that are to fail."""

    operation: str
    error: int
    path_part: str
    times: int


class OpenMemoryFile:
    """A `storage.files.OpenFile` of a MemoryFiles."""

    def __init__(self, files: MemoryFiles, node: MemoryFile, path: str, writable: bool) -> None:
        self._files = files
        self._node = node
        self._writable = writable
        self._position = len(node.content)
        self._open = True
        self.path = path

    @property
    def fd(self) -> int:
        return -1

    def size(self) -> int:
        return len(self._content().content)

    def pread(self, length: int, position: int) -> bytes:
        node = self._content()
        node.is_cold = False
        return bytes(node.content[position : position + length])

    def pread_cached(self, length: int, position: int) -> bytes | None:
        if self._content().is_cold:
            return None
        data = self.pread(length, position)
        return data if len(data) == length else None

    def readinto(self, buffer: bytearray | memoryview, position: int) -> int:
        data = self.pread(len(buffer), position)
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Buffer) -> None:
        position = self._position
        try:
            self.pwrite(data, position)
            self._position = position + len(data)
        except OSError:
            self._position = len(self._node.content)  # as a descriptor stands after a part was written
            raise

    def writev(self, buffers: Sequence[Buffer]) -> None:
        self.write(b"".join(buffers))

    def pwrite(self, data: Buffer, position: int) -> None:
        self._content(writing=True)
        self._files.write_node(self._node, self.path, position, bytes(data))

    def truncate(self, size: int) -> None:
        node = self._content(writing=True)
        self._files.change("truncate", self.path, lambda: node.truncate(size))
        self._position = size

    def sync(self) -> None:
        node = self._content()
        try:
            self._files.change("sync", self.path, node.sync)
        except OSError:
            node.fail_to_sync()
            raise

    def close(self) -> None:
        self._open = False

    def _content(self, writing: bool = False) -> MemoryFile:
        if not self._open or (writing and not self._writable):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._node


class _Lock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        self._held.discard(self._path)


class MemoryFiles:
    """A `storage.files.FileSystem` in memory."""

    def __init__(self, seed: int = 0, crash_at: int | None = None, capacity: int = UNLIMITED) -> None:
        self.operations = 0
        self.crash_at = crash_at
        self.capacity = capacity
        self.now_ms = 1_700_000_000_000
        self._random = Random(seed)
        self._root = MemoryDirectory()
        self._faults: list[Fault] = []
        self._locks: set[str] = set()
        self._crashed = False

    def crash(self, kept: float | None = None) -> MemoryFiles:
        """Return the file system as it is found after a crash, with all its content durable.

        `kept` is the chance of an unsynced change to survive; drawn for this crash if None. This one is dead then.
        """
        self._crashed = True
        if kept is None:
            kept = self._random.choice((0.0, 0.5, 0.9, 1.0))
        survivor = MemoryFiles(self._random.randrange(1 << 32), capacity=self.capacity)
        survivor.now_ms = self.now_ms
        survivor._root = self._root.survive(self._random, kept)
        return survivor

    def handed_on(self) -> MemoryFiles:
        """Return the file system as the next process finds it after this one was killed: nothing is lost, and what was
        not synced is not yet safe either. This one is dead then."""
        self._crashed = True
        heir = MemoryFiles(self._random.randrange(1 << 32), capacity=self.capacity)
        heir.now_ms = self.now_ms
        heir._root = self._root
        return heir

    def fail(self, operation: str, error: int = errno.EIO, path_part: str = "", times: int = 1) -> None:
        """Let the next `times` operations of that name, on paths that contain `path_part`, fail with `error`.

        Operations are: create, write, truncate, sync, sync_dir, rename, unlink, mkdir, set_mtime, read.
        """
        self._faults.append(Fault(operation, error, path_part, times))

    @property
    def used(self) -> int:
        """Bytes of all files that have a name."""
        return sum(len(node.content) for node in _walk(self._root) if isinstance(node, MemoryFile))

    def change(self, operation: str, path: str, effect: Callable[[], None]) -> None:
        """Count an operation that changes something, fail it where it is to fail, or let it take effect."""
        if self._crashed:
            raise SimulatedCrash
        if self.operations == self.crash_at:
            self._crashed = True
            if self._random.random() < 0.5:
                effect()
            raise SimulatedCrash
        self.operations += 1
        self._fail_if_told(operation, path)
        effect()
        self.now_ms += 1

    def write_node(self, node: MemoryFile, path: str, position: int, data: bytes) -> None:
        """Write to a file, as far as the capacity allows."""
        fitting = data
        if self.capacity != UNLIMITED:
            fitting = data[: max(0, self.capacity - self.used + len(node.content) - position)]
        if self.operations == self.crash_at and not self._crashed:
            fitting = fitting[: self._random.randrange(len(fitting) + 1)]

        def effect() -> None:
            node.write(position, fitting)
            node.mtime_ms = self.now_ms

        self.change("write", path, effect)
        if len(fitting) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def open(self, path: str, create: bool = False, writable: bool = True) -> OpenMemoryFile:
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        if node is None and create:
            new = MemoryFile(mtime_ms=self.now_ms)
            self.change("create", path, lambda: directory.link(name, new))
            node = new
        return OpenMemoryFile(self, self._expect_file(node, path), path, writable)

    def read_bytes(self, path: str) -> bytes:
        self._fail_if_told("read", path)
        node = self._file(path)
        node.is_cold = False
        return bytes(node.content)

    def write_bytes(self, path: str, data: Buffer, sync: bool = False) -> None:
        file = self.open(path, create=True)
        if file.size():
            file.truncate(0)
        if len(data):
            file.pwrite(data, 0)
        if sync:
            file.sync()

    def write_atomic(self, path: str, data: Buffer, sync: bool = True) -> None:
        temporary = path + TEMPORARY_SUFFIX
        try:
            self.write_bytes(temporary, data, sync)
            self.rename(temporary, path)
        except OSError:
            self.unlink(temporary)
            raise
        if sync:
            self.sync_dir(posixpath.dirname(path))

    def rename(self, source: str, target: str) -> None:
        directory, old = self._parent(source)
        other, new = self._parent(target)
        node = directory.entries.get(old)
        if node is None:
            raise _missing(source)
        if directory is not other:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
        there = directory.entries.get(new)
        if isinstance(there, MemoryDirectory) and there.entries:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        if old != new:
            self.change("rename", source, lambda: directory.rename(old, new))

    def unlink(self, path: str) -> None:
        directory, name = self._parent(path)
        if name in directory.entries:
            self._expect_file(directory.entries[name], path)
            self.change("unlink", path, lambda: directory.unlink(name))

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def listdir(self, path: str) -> list[str]:
        return [entry.name for entry in self.scan(path)]

    def scan(self, path: str) -> list[DirectoryEntry]:
        entries = self._directory(path).entries
        return [DirectoryEntry(name, isinstance(node, MemoryDirectory)) for name, node in entries.items()]

    def mkdir(self, path: str) -> None:
        if self._find(path) is None:
            self.mkdir(posixpath.dirname(_normal(path)))
            directory, name = self._parent(path)
            self.change("mkdir", path, lambda: directory.link(name, MemoryDirectory(mtime_ms=self.now_ms)))
        self._directory(path)

    def rmtree(self, path: str) -> None:
        if self._find(path) is None:
            return
        for name, is_directory in self.scan(path):
            if is_directory:
                self.rmtree(f"{path}/{name}")
            else:
                self.unlink(f"{path}/{name}")
        directory, name = self._parent(path)
        self.change("unlink", path, lambda: directory.unlink(name))

    def sync_dir(self, path: str) -> None:
        self.change("sync_dir", path, self._directory(path).sync)

    def size(self, path: str) -> int:
        return len(self._file(path).content)

    def mtime_ms(self, path: str) -> int:
        node = self._find(path)
        if node is None:
            raise _missing(path)
        return node.mtime_ms

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        node = self._file(path)

        def effect() -> None:
            node.mtime_ms = mtime_ms

        self.change("set_mtime", path, effect)

    def make_cold(self, path: str) -> None:
        """Let the content of a file be on the disk alone, until it is read."""
        self._file(path).is_cold = True

    def is_cached(self, path: str) -> bool:
        return not (self.exists(path) and self._file(path).is_cold)

    def map_readonly(self, path: str) -> bytes:
        return self.read_bytes(path)

    def lock(self, path: str) -> _Lock | None:
        self.open(path, create=True)
        if _normal(path) in self._locks:
            return None
        self._locks.add(_normal(path))
        return _Lock(self._locks, _normal(path))

    def lock_owner(self, path: str) -> str | None:
        return "this very process" if _normal(path) in self._locks else None

    def disk_space(self, path: str) -> DiskSpace:
        self._directory(path)
        return DiskSpace(self.capacity, max(0, self.capacity - self.used))

    def _fail_if_told(self, operation: str, path: str) -> None:
        for fault in self._faults:
            if fault.operation == operation and fault.path_part in path and fault.times:
                fault.times -= 1
                raise OSError(fault.error, os.strerror(fault.error), path)

    def _find(self, path: str) -> MemoryFile | MemoryDirectory | None:
        node: MemoryFile | MemoryDirectory | None = self._root
        for name in _names(path):
            node = node.entries.get(name) if isinstance(node, MemoryDirectory) else None
        return node

    def _directory(self, path: str) -> MemoryDirectory:
        node = self._find(path)
        if node is None:
            raise _missing(path)
        if isinstance(node, MemoryFile):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return node

    def _file(self, path: str) -> MemoryFile:
        return self._expect_file(self._find(path), path)

    def _expect_file(self, node: MemoryFile | MemoryDirectory | None, path: str) -> MemoryFile:
        if node is None:
            raise _missing(path)
        if isinstance(node, MemoryDirectory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return node

    def _parent(self, path: str) -> tuple[MemoryDirectory, str]:
        directory, name = _split(path)
        return self._directory(directory), name


@lru_cache(maxsize=10_000)  # the same few files are asked for again and again
def _normal(path: str) -> str:
    return posixpath.normpath("/" + path)


@lru_cache(maxsize=10_000)
def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in _normal(path).split("/") if name)


@lru_cache(maxsize=10_000)
def _split(path: str) -> tuple[str, str]:
    return posixpath.split(_normal(path))


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _walk(directory: MemoryDirectory) -> Iterator[MemoryFile | MemoryDirectory]:
    for node in directory.entries.values():
        yield node
        if isinstance(node, MemoryDirectory):
            yield from _walk(node)
