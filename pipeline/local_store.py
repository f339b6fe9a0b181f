"""Files of an archive on a local file system, or one that is mounted: what was written outlives a power cut."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from odradek.pipeline.errors import PipelineError

_SCHEME: Final = "file"


def local_path(path: str) -> str:
    """Return the absolute path of a path that Spark understands: `file:` with or without slashes, or none of that."""
    return os.path.abspath(unquote(urlsplit(path).path) if path.startswith(f"{_SCHEME}:") else path)


@dataclass(frozen=True, slots=True)
class LocalStore:
    """A `pipeline.store.Store` on a file system with hard links; one without is refused when a file is created.

    Each method raises PipelineError where the file system refuses.
    """

    def read(self, path: str) -> bytes | None:
        """See Store."""
        with _in_a_sentence(path), suppress(FileNotFoundError, NotADirectoryError):
            return Path(local_path(path)).read_bytes()
        return None

    def create(self, path: str, data: bytes) -> bool:
        """See Store."""
        place = local_path(path)
        directory, name = os.path.split(place)
        scratch = f"{directory}/.{name}.{uuid4().hex}"
        with _in_a_sentence(path):
            _make_directory(directory)
            try:
                with open(scratch, "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                _link(scratch, place)
            except FileExistsError:
                return False
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(scratch)
            _sync(directory)
        return True

    def exists(self, path: str) -> bool:
        """See Store."""
        return os.path.lexists(local_path(path))

    def files(self, path: str) -> list[str]:
        """See Store."""
        root = local_path(path)
        with _in_a_sentence(path):
            found = (f"{directory}/{name}" for directory, _, names in os.walk(root, onerror=_raise) for name in names)
            return sorted(os.path.relpath(each, root) for each in found)

    def rename(self, source: str, target: str) -> bool:
        """See Store."""
        place = local_path(target)
        with _in_a_sentence(source):
            _make_directory(os.path.dirname(place))
            try:
                os.replace(local_path(source), place)
            except FileNotFoundError:
                return False
            _sync(os.path.dirname(place))
        return True

    def remove(self, path: str) -> None:
        """See Store."""
        place = local_path(path)
        with _in_a_sentence(path), suppress(FileNotFoundError):
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place, ignore_errors=True)  # another run may remove the same
            else:
                os.unlink(place)

    def size(self, path: str) -> int:
        """Return how many bytes a file has."""
        with _in_a_sentence(path):
            return os.path.getsize(local_path(path))

    def scratch(self, path: str) -> str:
        """Return where a task is to write a data file: in its place, which no reader looks into."""
        place = local_path(path)
        with _in_a_sentence(path):
            _make_directory(os.path.dirname(place))
        return place

    def keep(self, scratch: str, path: str) -> None:
        """Have a data file that was written to `scratch` on the disk."""
        with _in_a_sentence(path):
            _sync(scratch)
            _sync(os.path.dirname(scratch))

    def for_spark(self, path: str) -> str:
        """Return the path with its file system, which for Spark need not be that of paths without one."""
        return f"{_SCHEME}://{local_path(path)}"

    def settle(self, paths: Sequence[str]) -> None:
        """Have data files that Spark has written on the disk."""
        for path in paths:
            self.keep(local_path(path), path)


@contextmanager
def _in_a_sentence(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as refused:
        raise PipelineError(f"{path}: {refused.strerror or refused}") from refused


def _link(scratch: str, place: str) -> None:
    try:
        os.link(scratch, place)
    except FileExistsError:
        raise
    except OSError as refused:
        raise PipelineError(
            f"{place} cannot be made a hard link ({refused.strerror}), which is what keeps two runs of an archive"
            " apart: use a directory on another file system"
        ) from refused


def _make_directory(path: str) -> None:
    """Make a directory and those above it, each of them on the disk."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        os.makedirs(each, exist_ok=True)
        _sync(os.path.dirname(each))


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
