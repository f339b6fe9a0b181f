"""Exclusive locks on files that exclude other processes, Java's `FileLock` (and so Apache Kafka) among them.

Owns the operating system's side only; what a locked directory means is `storage.directories.directory_lock`'s. A POSIX
record lock belongs to the process: the same process would get it twice, and loses it when it closes *any* descriptor of
the file. So the locks held here are kept in a set, and nothing else in the project may open a lock file.
"""

import fcntl
import os
import struct
import sys

_FLOCK_LAYOUTS = {
    # struct flock: type, whence, start, length, pid (and the padding of the machine); where the type and pid stand
    "linux": (struct.Struct("hhqqi4x"), 0, 4),
    "darwin": (struct.Struct("qqihh"), 3, 2),
}

_held: set[tuple[int, int]] = set()
"""Device and inode of each file that this process has locked."""


class FileLock:
    """A lock that is held until `release`, or until the process ends, however it ends."""

    __slots__ = ("_fd", "_identity")

    def __init__(self, fd: int, identity: tuple[int, int]) -> None:
        self._fd = fd
        self._identity = identity

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        """Give the lock back; releasing again does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            _held.discard(self._identity)
            os.close(fd)


def take_file_lock(path: str) -> FileLock | None:
    """Lock the file, made empty where missing; return None where another process, or this one, has it locked.

    Raises OSError where the file cannot be made or opened.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        pass
    else:
        if (status.st_dev, status.st_ino) in _held:
            return None  # before opening it: closing the descriptor would release the lock that we have
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    status = os.fstat(fd)
    identity = (status.st_dev, status.st_ino)
    _held.add(identity)
    return FileLock(fd, identity)


def describe_lock_owner(path: str) -> str | None:
    """Return who holds the lock of the file, such as "process 123 (java)", or None if that cannot be told."""
    layout = _FLOCK_LAYOUTS.get(sys.platform)
    if layout is None:
        return None
    form, type_at, pid_at = layout
    fields = [0] * 5
    fields[type_at] = fcntl.F_WRLCK
    try:
        status = os.stat(path)
        if (status.st_dev, status.st_ino) in _held:
            return "this very process"
        fd = os.open(path, os.O_RDWR)
        try:
            answer = form.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, form.pack(*fields)))
        finally:
            os.close(fd)
    except OSError:
        return None
    pid: int = answer[pid_at]
    if answer[type_at] == fcntl.F_UNLCK or pid <= 0:
        return None
    try:
        with open(f"/proc/{pid}/comm") as file:
            return f"process {pid} ({file.readline(100).strip()})"
    except (OSError, UnicodeDecodeError):
        return f"process {pid}"
