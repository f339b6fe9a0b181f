"""Files of an archive in S3, and in servers that speak its protocol as a whole, conditional writes too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from odradek.pipeline.errors import PipelineError, WrongOptionError, sentence

if TYPE_CHECKING:
    from obstore.store import S3Store as Bucket

SCHEMES: Final = ("s3", "s3a")
OPTIONS: Final = {
    "endpoint": "aws_endpoint_url",
    "region": "aws_region",
    "access-key-id": "aws_access_key_id",
    "secret-access-key": "aws_secret_access_key",
    "session-token": "aws_session_token",
    "virtual-hosted-style": "aws_virtual_hosted_style_request",
}
"""Names of --storage, and what the libraries call them; what is not given is found where AWS' own tools look for it: in
variables of the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and so on), then in the machine's role."""
DELETED_AT_ONCE: Final = 1_000
REQUEST_TIMEOUT: Final = "120s"
RETRIES: Final = 5
RETRY_TIMEOUT_S: Final = 60


def storage_options(given: Mapping[str, str]) -> dict[str, str]:
    """Return options of --storage by the names that libraries have for them. Raises WrongOptionError."""
    for name in given:
        if name not in OPTIONS:
            raise WrongOptionError(f"--storage {name} is unknown; there are {', '.join(OPTIONS)}")
    options = {OPTIONS[name]: value for name, value in given.items()}
    endpoint = options.get("aws_endpoint_url", os.environ.get("AWS_ENDPOINT_URL", ""))
    return options | ({"aws_allow_http": "true"} if endpoint.startswith("http://") else {})


@dataclass(frozen=True, slots=True)
class S3Store:
    """A `pipeline.store.Store` in S3; paths are `s3://<bucket>/<key>`. Each method raises PipelineError.

    It goes to Spark's workers, and connects there.
    """

    options: dict[str, str] = field(default_factory=dict, repr=False)
    """What `storage_options` returns; not shown, since keys are in it."""

    def read(self, path: str) -> bytes | None:
        """See Store."""
        bucket, key = self._open(path)
        with _in_a_sentence(path), suppress(FileNotFoundError):
            return bytes(bucket.get(key).bytes())
        return None

    def create(self, path: str, data: bytes) -> bool:
        """See Store. The server is asked to write only where there is nothing (`If-None-Match: *`)."""
        from obstore.exceptions import AlreadyExistsError

        bucket, key = self._open(path)
        with _in_a_sentence(path):
            try:
                bucket.put(key, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def exists(self, path: str) -> bool:
        """See Store."""
        bucket, key = self._open(path)
        with _in_a_sentence(path):
            try:
                bucket.head(key)
            except FileNotFoundError:
                return any(page for page in bucket.list(f"{key}/", chunk_size=1))
            return True

    def files(self, path: str) -> list[str]:
        """See Store."""
        bucket, key = self._open(path)
        with _in_a_sentence(path):
            found = [str(each["path"]) for page in bucket.list(f"{key}/") for each in page]
        return sorted(each.removeprefix(f"{key}/") for each in found)

    def rename(self, source: str, target: str) -> bool:
        """See Store. S3 copies, then removes: between the two there are both."""
        bucket, before = self._open(source)
        _, after = self._open(target)
        with _in_a_sentence(source):
            try:
                bucket.copy(before, after)
            except FileNotFoundError:
                return False
            bucket.delete(before)
        return True

    def remove(self, path: str) -> None:
        """See Store."""
        bucket, key = self._open(path)
        below = [f"{key}/{name}" for name in self.files(path)]
        with _in_a_sentence(path):
            for first in range(0, len(below), DELETED_AT_ONCE):
                bucket.delete(below[first : first + DELETED_AT_ONCE])
            with suppress(FileNotFoundError):
                bucket.delete(key)

    def size(self, path: str) -> int:
        """Return how many bytes a file has."""
        bucket, key = self._open(path)
        with _in_a_sentence(path):
            return int(bucket.head(key)["size"])

    def scratch(self, path: str) -> str:
        """Return where a task is to write a data file before it goes to its place."""
        del path
        handle, name = tempfile.mkstemp(prefix="odradek-archive-", suffix=".parquet")
        os.close(handle)
        return name

    def keep(self, scratch: str, path: str) -> None:
        """Bring a data file to its place, whole or not at all."""
        bucket, key = self._open(path)
        try:
            with _in_a_sentence(path), open(scratch, "rb") as file:
                bucket.put(key, file)
        finally:
            os.unlink(scratch)

    def check(self, path: str) -> None:
        """Raise PipelineError for a server that takes a conditional write and does not heed the condition."""
        probe = f"{path.rstrip('/')}/_odradek/probe-{uuid4().hex}"
        self.create(probe, b"1")
        heeded = not self.create(probe, b"2")
        with suppress(PipelineError):
            self.remove(probe)
        if not heeded:
            raise PipelineError(
                f"the server of {path} writes over what is there although it is asked not to (If-None-Match), so that"
                " two runs would not notice each other: use one that has conditional writes, as S3 does"
            )

    def _open(self, path: str) -> tuple[Bucket, str]:
        parts = urlsplit(path)
        if not parts.netloc:
            raise WrongOptionError(f"{path} names no bucket: give s3://<bucket>/<directory>")
        with _in_a_sentence(path):
            return _bucket(parts.netloc, tuple(sorted(self.options.items()))), parts.path.strip("/")


@lru_cache
def _bucket(name: str, options: tuple[tuple[str, str], ...]) -> Bucket:
    try:
        from obstore.store import S3Store as Bucket
    except ImportError as missing:
        raise PipelineError("an archive in S3 needs obstore: pip install 'odradek[s3]'") from missing

    config: Any = dict(options)
    allowed = config.pop("aws_allow_http", "false") == "true"  # obstore takes it for a setting of HTTP
    client: Any = {"allow_http": allowed, "timeout": REQUEST_TIMEOUT}
    retries: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_TIMEOUT_S)}
    return Bucket(name, config=config, client_options=client, retry_config=retries)


@contextmanager
def _in_a_sentence(path: str) -> Iterator[None]:
    try:
        yield
    except PipelineError:
        raise
    except Exception as refused:
        raise PipelineError(f"{path}: {sentence(refused)}") from refused
