"""Where an archive lies: the file systems that keep two runs apart, and how tasks write to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from odradek.pipeline.data_files import DataWriter, SparkFiles, TaskFiles
from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.local_store import LocalStore, local_path
from odradek.pipeline.s3_store import SCHEMES, S3Store, storage_options
from odradek.pipeline.store import HadoopStore, Store

HDFS: Final = "hdfs"
LOCAL: Final = "file"


def is_s3(output: str) -> bool:
    """Return whether an archive is in S3, where Spark's own checkpoints cannot be without a connector."""
    return urlsplit(output).scheme in SCHEMES


def archive_path(output: str) -> str:
    """Return the path of an archive in one form: without a slash at the end, of S3 and local disks with one scheme."""
    if is_s3(output):
        parts = urlsplit(output)
        return f"s3://{parts.netloc}/{parts.path.strip('/')}"
    return output.rstrip("/")


def open_store(hadoop: HadoopStore, output: str, storage: Mapping[str, str]) -> tuple[Store, str]:
    """Return the file system of an archive, and the archive's path in it.

    Raises:
        WrongOptionError: the archive cannot be there, or options of storage are unknown.
        PipelineError: the file system does not answer, or does not keep two runs apart.
    """
    path = archive_path(output)
    if is_s3(path):
        s3 = S3Store(storage_options(storage))
        s3.check(path)
        return s3, path
    if storage:
        raise WrongOptionError(f"--storage is for archives in S3, and {output} is not there")
    scheme = hadoop.scheme(path)
    if scheme == LOCAL:
        return LocalStore(), local_path(path)
    if scheme == HDFS:
        return hadoop, path
    raise WrongOptionError(
        f"an archive cannot be in {scheme}: of that file system it is not known whether two runs would notice each"
        " other; give a local directory, hdfs:// or s3://"
    )


def writer_for(store: Store, compression: str) -> DataWriter:
    """Return how data files get to a file system."""
    if isinstance(store, LocalStore | S3Store):
        return TaskFiles(store, compression)
    return SparkFiles(store, compression)
