"""The lock of a log directory: one broker at a time, Apache Kafka included, which locks the same file (`.lock`)."""

from odradek.storage.errors import DirectoryLocked
from odradek.storage.files import FileSystem, HeldLock
from odradek.storage.names import LOCK_FILE


def lock_directory(fs: FileSystem, directory: str) -> HeldLock:
    """Lock the log directory, which must exist, until the lock is released or the process ends.

    Raises DirectoryLocked where another broker has it, OSError where the lock file cannot be made.
    """
    path = f"{directory}/{LOCK_FILE}"
    lock = fs.lock(path)
    if lock is None:
        owner = fs.lock_owner(path) or "another broker"
        raise DirectoryLocked(
            f"Log directory {directory} is in use: {owner} holds the lock {path}. "
            "Stop that broker, or choose another directory in log.dirs."
        )
    return lock
