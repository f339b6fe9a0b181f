"""Files of an Iceberg table's own, as the library is to treat them, which finds these classes by their names.

What a snapshot is made of stays where a catalog says that it did not take the snapshot: the library would remove it at
once, and after an answer that was lost on its way the table could not be read any more. Such files are small, and go
with the orphans at the table's upkeep.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from pyiceberg.io import OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFileIO


class KeptFiles(PyArrowFileIO):
    """The library's own way to files, which removes none."""

    def delete(self, location: object) -> None:
        """Leave the file."""


class SyncedFiles(KeptFiles):
    """On a local disk: synced with their directories when they are closed, so before a catalog names them."""

    def new_output(self, location: str) -> Any:
        """Return a file to write."""
        return _SyncedFile(super().new_output(location))


class _SyncedFile(OutputFile):
    def __init__(self, file: Any) -> None:
        super().__init__(file.location)
        self._file = file

    def __len__(self) -> int:
        return len(self._file)

    def exists(self) -> bool:
        return bool(self._file.exists())

    def to_input_file(self) -> Any:
        return self._file.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:
        return _SyncedStream(self._file.create(overwrite), unquote(urlsplit(self.location).path))


class _SyncedStream:
    """A stream of the library, of which a protocol says what is needed."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream = stream
        self._path = path

    def __enter__(self) -> OutputStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, b: bytes) -> int:
        return int(self._stream.write(b))

    def close(self) -> None:
        self._stream.close()
        for path in (self._path, os.path.dirname(self._path)):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
