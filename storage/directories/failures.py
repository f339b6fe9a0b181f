"""When a log directory counts as failed: its disk or file system is gone, and what is in it with it.

Owns: which errors say so, and that each directory fails once, whoever meets the error first, on whatever thread. Must
not know: what becomes of the partitions in it. Kafka fails a directory at any error of a file operation
(`LogDirFailureChannel`, KIP-112). Here an error counts that does not pass by itself: a full disk, a quota that is used
up, and too many open files do pass, and then only the one operation is refused.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from odradek.storage.files import FileSystem

_LASTING: Final = frozenset(
    getattr(errno, name)
    for name in (
        "EIO",  # the disk, or the journal of its file system, has given up
        "EROFS",  # mounted read-only, as ext4 does after an error
        "ENODEV",  # the device is gone
        "ENXIO",
        "ENOMEDIUM",
        "ESTALE",  # network file systems whose server has gone or has forgotten the file
        "ENOTCONN",
        "ESHUTDOWN",
        "EHOSTDOWN",
        "EREMOTEIO",
        "ETIMEDOUT",
        "EUCLEAN",  # the file system has found itself damaged
        "EBADMSG",
    )
    if hasattr(errno, name)
)
_VANISHED: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


def is_lasting(error: BaseException) -> bool:
    """Return whether an error of a file operation says that disk or file system will not serve any more."""
    return isinstance(error, OSError) and error.errno in _LASTING


class DirectoryFailures:
    """The failed log directories of a node.

    Nothing is noted before `begin`, and never where that is not called: a single directory that is all a node has goes
    on serving what it can.
    """

    def __init__(self, fs: FileSystem, paths: Sequence[str]) -> None:
        self._fs = fs
        self._paths = tuple(paths)
        self._lock = Lock()
        self._failed: set[str] = set()
        self._tell: Callable[[str, str], object] | None = None

    def begin(self, tell: Callable[[str, str], object]) -> None:
        """Call `tell` with the path of a directory and the error once it has failed, on the thread that met it."""
        self._tell = tell

    def note(self, path: str, error: BaseException | None) -> None:
        """Take down what went wrong with a file or directory at `path`, which need not be of a log directory."""
        if self._tell is None or not isinstance(error, OSError):
            return
        directory = next((one for one in self._paths if path == one or path.startswith(f"{one}/")), None)
        if directory is None or not self._has_failed(directory, error):
            return
        with self._lock:
            if directory in self._failed:
                return
            self._failed.add(directory)
        self._tell(directory, str(error))

    def _has_failed(self, directory: str, error: OSError) -> bool:
        if error.errno in _VANISHED:
            return not self._fs.exists(directory)
        return is_lasting(error)
