"""Small files and renames: what the jobs need of a file system, and how those of Spark do it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from odradek.pipeline.errors import PipelineError, sentence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


THROUGH_PY4J_BYTES: Final = 1 << 20
"""Larger files come from the JVM through the local disk."""


class Store(Protocol):
    """What the jobs need of a file system; paths are those that Spark understands."""

    def read(self, path: str) -> bytes | None:
        """Return what a file holds, None where there is none."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that is there whole or not at all; False, and nothing done, where there is one already.

        Of several that create the same file at once one is told True: this is what keeps two runs apart.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a directory."""
        ...

    def files(self, path: str) -> list[str]:
        """Return the files below a directory, relative to it and sorted; none where there is no directory."""
        ...

    def rename(self, source: str, target: str) -> bool:
        """Move a file, and make the directory that it goes to; False, and nothing done, where there is no such file.

        At no moment there is a part of the file under the name of the target.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all in it, if it is there."""
        ...


@contextmanager
def _in_a_sentence(path: str) -> Iterator[None]:
    """Have what the JVM throws come out as PipelineError."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as thrown:
        raise PipelineError(f"{path}: {sentence(thrown)}") from thrown


class HadoopStore:
    """A Store on the file systems that Spark itself uses, for checkpoints on all of them and for archives in HDFS.

    `create` keeps two runs apart where a rename does not replace: in HDFS, not on local disks. Each method raises
    PipelineError where the file system refuses.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._conf: Any = spark.sparkContext._jsc.hadoopConfiguration()

    def scheme(self, path: str) -> str:
        """Return by which name Hadoop knows the file system of a path: file, hdfs."""
        with _in_a_sentence(path):
            _, files = self._open(path)
            return str(files.getUri().getScheme())

    def read(self, path: str) -> bytes | None:
        """See Store."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            if not files.exists(place):
                return None
            if files.getFileStatus(place).getLen() > THROUGH_PY4J_BYTES:
                return self._read_by_a_file(place, files)
            stream = files.open(place)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def create(self, path: str, data: bytes) -> bool:
        """See Store."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            if files.exists(place):
                return False
            scratch = self._jvm.org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}.{uuid4().hex}")
            stream = files.create(scratch, False)
            try:
                stream.write(bytearray(data))
                stream.hsync()
            finally:
                stream.close()
            if files.rename(scratch, place):
                return True
            files.delete(scratch, False)
            if files.exists(place):
                return False
            raise PipelineError(f"{path} cannot be written: the file system does not say why")

    def _read_by_a_file(self, place: Any, files: Any) -> bytes:
        """Return what a large file holds, which would take several times its size as text between two processes."""
        with tempfile.TemporaryDirectory(prefix="odradek-archive-") as scratch:
            local = f"{scratch}/file"
            files.copyToLocalFile(False, place, self._path_of_disk(local), True)
            return Path(local).read_bytes()

    def size(self, path: str) -> int:
        """Return how many bytes a file has."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            return int(files.getFileStatus(place).getLen())

    def scratch(self, path: str) -> str:
        """Return where a data file is to be written before it goes to its place."""
        del path
        handle, name = tempfile.mkstemp(prefix="odradek-archive-", suffix=".parquet")
        os.close(handle)
        return name

    def keep(self, scratch: str, path: str) -> None:
        """Bring a data file to its place, which no reader looks into."""
        try:
            with _in_a_sentence(path):
                place, files = self._open(path)
                files.copyFromLocalFile(False, True, self._path_of_disk(scratch), place)
        finally:
            os.unlink(scratch)

    def _path_of_disk(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"file://{path}")

    def for_spark(self, path: str) -> str:
        """Return the path as it is: Spark takes it as this store does."""
        return path

    def settle(self, paths: Sequence[str]) -> None:
        """Nothing: what a file system of Hadoop was given is as safe as it makes it when the file is closed."""

    def exists(self, path: str) -> bool:
        """See Store."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            return bool(files.exists(place))

    def files(self, path: str) -> list[str]:
        """See Store."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            if not files.exists(place):
                return []
            base = files.makeQualified(place).toUri()
            found, listed = [], files.listFiles(place, True)
            while listed.hasNext():
                found.append(base.relativize(listed.next().getPath().toUri()).getPath())
            return sorted(found)

    def rename(self, source: str, target: str) -> bool:
        """See Store."""
        with _in_a_sentence(source):
            before, files = self._open(source)
            after = self._jvm.org.apache.hadoop.fs.Path(target)
            if not files.exists(before):
                return False
            files.mkdirs(after.getParent())
            if files.rename(before, after):
                return True
            if files.exists(before):
                raise PipelineError(f"{source} cannot be renamed to {target}")
            return False

    def remove(self, path: str) -> None:
        """See Store."""
        with _in_a_sentence(path):
            place, files = self._open(path)
            files.delete(place, True)

    def _open(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place, place.getFileSystem(self._conf)
