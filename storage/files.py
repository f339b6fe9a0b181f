"""The one place where the log engine touches a file system.

`FileSystem` and `OpenFile` are what storage code is written against; `PosixFiles` and `PosixFile` are the real thing,
and thin, because appends go through them. Tests run the same engine on a file system in memory that crashes on demand.

Rules that callers rely on:

- Errors are the operating system's own `OSError`. A write that fails may have written a part: the caller, who knows
  the size that the file should have, cuts it back.
- Nothing is durable before `sync` (content and size of a file) or `sync_dir` (names created, renamed or unlinked).
- A descriptor is closed when the last reference to its `OpenFile` goes. A response may thus still be sent from a file
  that has been deleted; whoever deletes a segment only drops its reference. `close` is for those who own a file alone.
- Buffers are bytes-like objects of single bytes (`len(buffer)` is their size).
"""

import contextlib
import errno
import os
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from typing import NamedTuple, Protocol, TypeAlias

from odradek.storage.file_locks import FileLock, describe_lock_owner, take_file_lock

Buffer: TypeAlias = bytes | bytearray | memoryview
MappedFile: TypeAlias = mmap | bytes
"""The content of a file for reading; `bytes` where the file is empty or there is nothing to map."""

TEMPORARY_SUFFIX = ".tmp"
"""Kafka's suffix for a file that is written aside and then renamed to its final name."""

MAX_READ_BYTES = 1 << 30
"""Largest file that `read_bytes` takes into memory; a file of ours that is read whole is never nearly as large."""

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
"""Lets a read fail that would have to wait for the disk; Linux has it."""

_CACHE_LOOK_BYTES = 1 << 16

_sync_content = getattr(os, "fdatasync", os.fsync)


class DirectoryEntry(NamedTuple):
    """A name in a directory."""

    name: str
    is_directory: bool


class DiskSpace(NamedTuple):
    """Sizes in bytes of the file system that a path is on."""

    total: int
    usable: int


class OpenFile(Protocol):
    """An open file."""

    @property
    def fd(self) -> int:
        """The descriptor, for `os.sendfile` and the like; -1 once closed, or where there is none."""

    @property
    def path(self) -> str:
        """The name under which the file was opened; it may have been renamed since."""

    def size(self) -> int:
        """Return the size in bytes."""

    def pread(self, length: int, position: int) -> bytes:
        """Return up to `length` bytes from `position` on, fewer only where the file ends."""

    def pread_cached(self, length: int, position: int) -> bytes | bytearray | None:
        """Return the `length` bytes from `position` on if they are in memory, None if they are not, or the file ends.

        Like `pread` where nobody can tell.
        """

    def readinto(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on and return the number of bytes read, fewer only where the file ends."""

    def write(self, data: Buffer) -> None:
        """Write all of `data` where the last `write` ended; the first one starts at the end that the file had."""

    def writev(self, buffers: Sequence[Buffer]) -> None:
        """Write several buffers, like one `write` of all of them."""

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`; where `write` goes on stays as it was."""

    def truncate(self, size: int) -> None:
        """Cut the file, or extend it with zeros, to `size` bytes, and let `write` go on there."""

    def sync(self) -> None:
        """Make content and size durable. May be called from any thread."""

    def close(self) -> None:
        """Give the descriptor back at once; closing again does nothing."""


class HeldLock(Protocol):
    """The exclusive lock of a file."""

    def release(self) -> None:
        """Give the lock back; releasing again does nothing."""


class FileSystem(Protocol):
    """The operations on files and directories that storage needs; paths are strings as `os` takes them."""

    def open(self, path: str, create: bool = False, writable: bool = True) -> OpenFile:
        """Open a file; with `create`, make an empty one where there is none (FileNotFoundError otherwise)."""

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file; an OSError (EFBIG) if that is more than `MAX_READ_BYTES`."""

    def write_bytes(self, path: str, data: Buffer, sync: bool = False) -> None:
        """Create or overwrite a file in place; a crash may leave a part of it."""

    def write_atomic(self, path: str, data: Buffer, sync: bool = True) -> None:
        """Put a file in place of the one at `path`: aside under `.tmp`, then renamed.

        With `sync`, content and name are durable on return. Without it, a reader still sees the old or the new content
        as long as the machine stays up.
        """

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory; a file at `target` is replaced."""

    def unlink(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory."""

    def listdir(self, path: str) -> list[str]:
        """Return the names in a directory, in no order."""

    def scan(self, path: str) -> list[DirectoryEntry]:
        """Return the names in a directory, in no order, and which of them are directories."""

    def mkdir(self, path: str) -> None:
        """Make a directory and those above it; one that exists is no error."""

    def rmtree(self, path: str) -> None:
        """Remove a directory with all it holds; one that is not there is no error."""

    def sync_dir(self, path: str) -> None:
        """Make the names in a directory durable."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def mtime_ms(self, path: str) -> int:
        """Return the time of the last change of a file, in ms since 1970."""

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        """Set the time of the last change of a file, in ms since 1970."""

    def is_cached(self, path: str) -> bool:
        """Return whether all of a file is in memory; True where nobody can tell, or there is no such file."""

    def map_readonly(self, path: str) -> MappedFile:
        """Return the content of a file for reading, without loading it where that is possible.

        The file must not be cut short while the mapping is in use: the process would be killed by SIGBUS.
        """

    def lock(self, path: str) -> HeldLock | None:
        """Take the exclusive lock of a file (made where missing), or return None where another holds it."""

    def lock_owner(self, path: str) -> str | None:
        """Return who holds the lock of a file, such as "process 123 (java)", or None if that cannot be told."""

    def disk_space(self, path: str) -> DiskSpace:
        """Return the size of the file system that `path` is on, and what an ordinary user can still write."""


class PosixFile:
    """An `OpenFile` of the operating system."""

    __slots__ = ("__weakref__", "fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    def __repr__(self) -> str:
        return f"PosixFile({self.path!r}, fd={self.fd})"

    def __del__(self) -> None:
        self.close()

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def pread(self, length: int, position: int) -> bytes:
        data = os.pread(self.fd, length, position)
        if len(data) == length or not data:
            return data
        return data + self._pread_rest(length - len(data), position + len(data))

    def pread_cached(self, length: int, position: int) -> bytes | bytearray | None:
        buffer = bytearray(length)
        try:
            count = os.preadv(self.fd, (buffer,), position, _NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            return self.pread(length, position)
        return buffer if count == length else None

    def _pread_rest(self, length: int, position: int) -> bytes:
        """Go on after a read that came back short: the file may end there, or a signal came in between."""
        pieces = []
        while length and (data := os.pread(self.fd, length, position)):
            pieces.append(data)
            length -= len(data)
            position += len(data)
        return b"".join(pieces)

    def readinto(self, buffer: bytearray | memoryview, position: int) -> int:
        done = os.preadv(self.fd, (buffer,), position)
        while 0 < done < len(buffer):
            count = os.preadv(self.fd, (memoryview(buffer)[done:],), position + done)
            if not count:
                break
            done += count
        return done

    def write(self, data: Buffer) -> None:
        written = os.write(self.fd, data)
        while written != len(data):
            written += os.write(self.fd, memoryview(data)[written:])

    def writev(self, buffers: Sequence[Buffer]) -> None:
        total = sum(map(len, buffers))
        written = os.writev(self.fd, buffers)
        if written != total:
            self.write(memoryview(b"".join(buffers))[written:])

    def pwrite(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self.fd, data, position)
        while written != len(data):
            written += os.pwrite(self.fd, memoryview(data)[written:], position + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self.fd, size)
        os.lseek(self.fd, size, os.SEEK_SET)

    def sync(self) -> None:
        fd = self.fd
        if fd < 0:  # for which Python would raise ValueError, here alone
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        _sync_content(fd)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class PosixFiles:
    """The `FileSystem` of the operating system."""

    def open(self, path: str, create: bool = False, writable: bool = True) -> PosixFile:
        flags = os.O_RDWR if writable else os.O_RDONLY
        file = PosixFile(os.open(path, flags | os.O_CREAT if create else flags, 0o644), path)
        if writable:
            os.lseek(file.fd, 0, os.SEEK_END)
        return file

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > MAX_READ_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
            return file.read()

    def write_bytes(self, path: str, data: Buffer, sync: bool = False) -> None:
        file = PosixFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), path)
        try:
            file.write(data)
            if sync:
                file.sync()
        finally:
            file.close()

    def write_atomic(self, path: str, data: Buffer, sync: bool = True) -> None:
        temporary = path + TEMPORARY_SUFFIX
        try:
            self.write_bytes(temporary, data, sync)
            os.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # on a full disk the half-written file would keep space that is needed
            raise
        if sync:
            self.sync_dir(os.path.dirname(path))

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def scan(self, path: str) -> list[DirectoryEntry]:
        with os.scandir(path) as entries:
            return [DirectoryEntry(entry.name, entry.is_dir()) for entry in entries]

    def mkdir(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rmtree(self, path: str) -> None:
        # Not shutil's: importing that costs 6 ms of start-up, and it stops at the first name that vanished meanwhile.
        with contextlib.suppress(FileNotFoundError):
            with os.scandir(path) as scan:
                entries = list(scan)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self.rmtree(entry.path)
                else:
                    self.unlink(entry.path)
            os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def mtime_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def is_cached(self, path: str) -> bool:
        try:
            file = PosixFile(os.open(path, os.O_RDONLY), path)
        except OSError:
            return True
        try:
            size = file.size()
            return all(
                file.pread_cached(min(_CACHE_LOOK_BYTES, size - position), position) is not None
                for position in range(0, size, _CACHE_LOOK_BYTES)
            )
        except OSError:
            return True
        finally:
            file.close()

    def map_readonly(self, path: str) -> MappedFile:
        fd = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(fd).st_size
            return mmap(fd, size, access=ACCESS_READ) if size else b""  # an empty file cannot be mapped
        finally:
            os.close(fd)

    def lock(self, path: str) -> FileLock | None:
        return take_file_lock(path)

    def lock_owner(self, path: str) -> str | None:
        return describe_lock_owner(path)

    def disk_space(self, path: str) -> DiskSpace:
        status = os.statvfs(path)
        return DiskSpace(status.f_frsize * status.f_blocks, status.f_frsize * status.f_bavail)
