"""A file system that counts what is read of which file, over any other."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from odradek.storage.files import FileSystem, OpenFile


class _CountingFile:
    def __init__(self, file: OpenFile, read: Counter[str]) -> None:
        self._file = file
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def pread(self, length: int, position: int) -> bytes:
        data = self._file.pread(length, position)
        self._read[self._file.path] += len(data)
        return data

    def readinto(self, buffer: bytearray | memoryview, position: int) -> int:
        count = self._file.readinto(buffer, position)
        self._read[self._file.path] += count
        return count


class CountingFiles:
    """Hands everything on; `read` has the bytes that were read of each file that was opened."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.read: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open(self, path: str, create: bool = False, writable: bool = True) -> OpenFile:
        return cast(OpenFile, _CountingFile(self._files.open(path, create, writable), self.read))


def counting(files: FileSystem) -> tuple[FileSystem, Counter[str]]:
    """Return a file system that counts, and its counts."""
    made = CountingFiles(files)
    return cast(FileSystem, made), made.read
