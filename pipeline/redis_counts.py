"""Counts of words in Redis, for whoever wants to look them up: a hash of words, or one for each window of time.

odradek:wordcount:{<application>}              hash, word -> count
odradek:wordcount:{<application>}:<start>      the same of the window that begins then, such as 2026-11-21T10:00:00Z
odradek:wordcount:{<application>}:windows      sorted set of these starts, by seconds since 1970
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from odradek.pipeline.redis_offsets import in_a_sentence
from odradek.pipeline.wordcount import CountedWord

if TYPE_CHECKING:
    from redis import Redis

PREFIX: Final = "odradek:wordcount"
_AT_ONCE: Final = 1000


class RedisCounts:
    """Counts of one application. Setting one again changes nothing, so a micro-batch may come twice."""

    def __init__(self, client: Redis, application: str) -> None:
        self._client = client
        self._base = f"{PREFIX}:{{{application}}}"

    def put(self, counts: Iterator[CountedWord]) -> None:
        """Set counts. Raises PipelineError where Redis does not do its part."""
        while some := list(islice(counts, _AT_ONCE)):
            with in_a_sentence(self._client), self._client.pipeline(transaction=False) as together:
                for each in some:
                    if each.start is None:
                        together.hset(self._base, each.word, each.count)
                    else:
                        start = window_name(each.start)
                        together.hset(f"{self._base}:{start}", each.word, each.count)
                        together.zadd(f"{self._base}:windows", {start: each.start.timestamp()})
                together.execute()


def window_name(start: datetime) -> str:
    """Return the beginning of a window in UTC, to the millisecond where it is not on a second."""
    precise = "milliseconds" if start.microsecond else "seconds"
    return start.isoformat(timespec=precise).replace("+00:00", "Z")
