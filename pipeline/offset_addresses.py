"""Which store of offsets a URL means: Redis or ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from odradek.pipeline import redis_offsets
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.offset_store import ApplicationProgress, JobOffsets
from odradek.pipeline.zookeeper_offsets import ZooKeeperOffsets, zookeeper_progress
from odradek.zookeeper.address import SCHEME, ZooKeeperAddress, parse_address
from odradek.zookeeper.errors import ZooKeeperError
from odradek.zookeeper.session import ZooKeeperSession, zookeeper_session

REDIS_SCHEMES: Final = ("redis", "rediss", "unix")


@contextmanager
def opened_offsets(url: str, application: str, job: str, clock_ms: Callable[[], int]) -> Iterator[JobOffsets]:
    """Give the store of offsets at a URL, closed afterwards. Raises WrongOptionError, and PipelineError."""
    address = _zookeeper(url)
    if address is None:
        yield redis_offsets.RedisOffsets(redis_offsets.connect(url), application, job, clock_ms)
        return
    with _session(address) as session:
        yield ZooKeeperOffsets(session, application, job, clock_ms)


def progress(url: str) -> list[ApplicationProgress]:
    """Return how far each application has come that keeps its offsets there. Raises WrongOptionError, PipelineError."""
    address = _zookeeper(url)
    if address is None:
        return redis_offsets.progress(redis_offsets.connect(url))
    with _session(address) as session:
        return zookeeper_progress(session)


def checked_address(url: str) -> None:
    """Raise WrongOptionError for what is no address of a store."""
    if _zookeeper(url) is None:
        redis_offsets.connect(url)


def _zookeeper(url: str) -> ZooKeeperAddress | None:
    """Return the address of a ZooKeeper, None for one of a Redis."""
    scheme = url.partition("://")[0].lower()
    if scheme == SCHEME:
        try:
            return parse_address(url)
        except ValueError as wrong:
            raise WrongOptionError(f"--offsets: {wrong}") from wrong
    if scheme not in REDIS_SCHEMES:
        raise WrongOptionError(
            f"--offsets {url!r} must be the address of a Redis or of a ZooKeeper, such as redis://127.0.0.1:6379/0 or"
            " zookeeper://127.0.0.1:2181/kafka"
        )
    return None


@contextmanager
def _session(address: ZooKeeperAddress) -> Iterator[ZooKeeperSession]:
    try:
        with zookeeper_session(address) as session:
            yield session
    except ZooKeeperError as failed:
        raise PipelineError(str(failed)) from failed
