"""Offsets of finished micro-batches in Redis, for a start without a checkpoint and for whoever wants to know.

Keys of an application; the braces keep them in one slot of a cluster:

    odradek:pipeline:{<application>}:until   hash, `<topic>:<partition>` -> next offset
    odradek:pipeline:{<application>}:from    hash, `<topic>:<partition>` -> first offset of the last batch that had any
    odradek:pipeline:{<application>}:batch   hash: number, run, job, finished_at_ms
    odradek:pipeline:{<application>}:topics  hash, topic -> its id: one that is made anew has another
    odradek:pipeline:{<application>}:run     a number, one higher with each start: only the newest run may write
    odradek:pipeline:applications            set of the names of applications
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from odradek.pipeline.batches import Batch, TopicIds
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.offset_store import ApplicationProgress
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition

if TYPE_CHECKING:
    from redis import Redis

PREFIX: Final = "odradek:pipeline"
APPLICATIONS: Final = f"{PREFIX}:applications"
TIMEOUT_S: Final = 5.0

_COMMIT: Final = """
local run = redis.call('GET', KEYS[4])
if not run then return 'GONE' end
if run ~= ARGV[1] then return 'TAKEN' end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[3], 'number', ARGV[2], 'run', ARGV[1], 'job', ARGV[3], 'finished_at_ms', ARGV[4])
local rest = 6 + 2 * tonumber(ARGV[5])
for i = 6, rest - 1, 2 do
    redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
end
for i = rest, #ARGV, 3 do
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
end
return 'DONE'
"""
"""One script, so that Redis has all of a batch or nothing of it. A second time it changes nothing."""


def connect(url: str) -> Redis:
    """Return a client that waits for some seconds at most. Raises WrongOptionError for what is no URL of a Redis."""
    from redis import Redis

    try:
        client = Redis.from_url(url, decode_responses=True, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    except ValueError as wrong:
        raise WrongOptionError(f"{url!r} is no address of a Redis, such as redis://127.0.0.1:6379/0") from wrong
    return client


class RedisOffsets:
    """The offsets of one run of an application. Methods raise PipelineError where Redis does not do its part."""

    def __init__(self, client: Redis, application: str, job: str, clock_ms: Callable[[], int]) -> None:
        self._client = client
        self._application = application
        self._job = job
        self._clock_ms = clock_ms
        self._run = 0
        self._topic_ids: dict[str, str] = {}

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that these offsets are of, as far as they were told; known once it has begun."""
        return self._topic_ids

    def begin(self) -> Offsets:
        """Take over from whatever run there was, and return the next offset of each partition."""
        until, _, _, run, topics = _keys(self._application)
        with in_a_sentence(self._client):
            self._client.sadd(APPLICATIONS, self._application)
            self._run = int(self._client.incr(run))
            self._topic_ids = _hash(self._client, topics)
            return _offsets(_hash(self._client, until))

    def commit(self, batch: Batch) -> None:
        """Store a finished batch, whole or not at all."""
        values: list[Any] = [self._run, batch.number, self._job, self._clock_ms(), len(batch.topic_ids)]
        for told in batch.topic_ids.items():
            values += told
        for (topic, partition), first, until in batch.ranges:
            values += [f"{topic}:{partition}", first, until]
        keys = _keys(self._application)
        with in_a_sentence(self._client):
            answer = self._client.eval(_COMMIT, len(keys), *keys, *values)
        if answer == "TAKEN":
            raise PipelineError(
                f"another run of {self._application} has started meanwhile; end it, or use another --application"
            )
        if answer == "GONE":
            raise PipelineError(f"Redis has lost what it had of {self._application}; start again to go on")


def progress(client: Redis) -> list[ApplicationProgress]:
    """Return how far each application has come that has finished a batch. Raises PipelineError."""
    found = []
    with in_a_sentence(client):
        names: Any = client.smembers(APPLICATIONS)
        for application in sorted(map(str, names)):
            until_key, from_key, batch_key, *_ = _keys(application)
            with client.pipeline(transaction=True) as together:
                for key in (until_key, from_key, batch_key):
                    together.hgetall(key)
                until, first, batch = together.execute()
            if batch:
                found.append(_progress(application, _offsets(until), _offsets(first), batch))
    return found


def _progress(application: str, until: Offsets, first: Offsets, batch: dict[str, str]) -> ApplicationProgress:
    ranges = [OffsetRange(name, first.get(name, 0), end) for name, end in sorted(until.items())]
    number, run, at = (int(batch.get(name, 0)) for name in ("number", "run", "finished_at_ms"))
    return ApplicationProgress(application, batch.get("job", ""), number, run, at, ranges)


def _keys(application: str) -> tuple[str, str, str, str, str]:
    base = f"{PREFIX}:{{{application}}}"
    return f"{base}:until", f"{base}:from", f"{base}:batch", f"{base}:run", f"{base}:topics"


def _hash(client: Redis, key: str) -> dict[str, str]:
    found: Any = client.hgetall(key)
    return dict(found)


def _offsets(found: dict[str, str]) -> Offsets:
    offsets: Offsets = {}
    for name, value in found.items():
        topic, _, partition = name.rpartition(":")
        try:
            offsets[TopicPartition(topic, int(partition))] = int(value)
        except ValueError:
            raise PipelineError(f"Redis has {value!r} for {name!r}, where an offset belongs") from None
    return offsets


@contextmanager
def in_a_sentence(client: Redis) -> Iterator[None]:
    """Have errors of Redis come out as PipelineError."""
    from redis.exceptions import RedisError

    try:
        yield
    except RedisError as failed:
        where = client.connection_pool.connection_kwargs
        address = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"
        why = " ".join(str(failed).split()).rstrip(".")
        raise PipelineError(
            f"Redis at {address} does not do its part: {why}. Nothing is lost: start again once it is back, and the"
            " batch is done again"
        ) from failed
