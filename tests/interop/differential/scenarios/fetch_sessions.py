"""Fetch of several partitions: sessions that open, go on and end, and limits that leave nothing for some of them."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.support.wire import Record

MEGABYTE = 1 << 20
TIGHT = 600
"""Bytes: one batch of those that are written here, and a part of the next one."""
VERSIONS = (7, 12, 13, 17)
"""Sessions, flexible fields, topic ids, and the newest of them."""
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class _Part(NamedTuple):
    partition: int
    offset: int = 0
    max_bytes: int = MEGABYTE


ALL = (_Part(0), _Part(1), _Part(2))


def fetch_sessions() -> Steps:
    """Partition 0 has one batch, 1 and 2 have three, 3 has none."""
    topic_id = yield from topic("fs", 4)
    for partition, count in enumerate((1, 3, 3)):
        for _ in range(count):
            yield from put("fs", [Record(b"k", b"v" * 500)], NOW_MS, partition)
    for version in VERSIONS:
        request = _Request(version, topic_id)
        yield from _turns(request)
        yield from _endings(request)
        yield from _openings(request)
        for isolation in (READ_UNCOMMITTED, READ_COMMITTED):
            yield from _limits(request, isolation)


class _Request:
    def __init__(self, version: int, topic_id: uuid.UUID) -> None:
        self._version = version
        self._topic = {"topic": "fs", "topic_id": topic_id}

    def __call__(self, label: str, parts: Sequence[_Part] = (), **changed: object) -> Ask:
        asked = [
            {
                "partition": part.partition,
                "current_leader_epoch": -1,
                "fetch_offset": part.offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": part.max_bytes,
            }
            for part in parts
        ]
        fields = {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": MEGABYTE,
            "session_id": 0,
            "session_epoch": -1,
            "rack_id": "",
            "topics": [{**self._topic, "partitions": asked}] if asked else [],
        }
        return Ask(label, "Fetch", self._version, {**fields, **changed})

    def forget(self, label: str, *partitions: int, named: Sequence[_Part] = (), **changed: object) -> Ask:
        """Return a request that takes partitions out of a session, and perhaps names some as well."""
        forgotten = [{**self._topic, "partitions": list(partitions)}]
        return self(label, named, forgotten_topics_data=forgotten, **changed)


def _turns(request: _Request) -> Steps:
    opened = yield request("tight, opened", ALL, session_epoch=0, max_bytes=TIGHT)
    session = {"session_id": opened["session_id"], "max_bytes": TIGHT}
    for epoch in range(1, 6):
        yield request(f"tight, turn {epoch}", **session, session_epoch=epoch)
    unknown = yield request("tight, one unknown", (_Part(9), *ALL), session_epoch=0, max_bytes=TIGHT)
    session = {"session_id": unknown["session_id"], "max_bytes": TIGHT}
    for epoch in range(1, 4):
        yield request(f"tight, one unknown, turn {epoch}", **session, session_epoch=epoch)


def _endings(request: _Request) -> Steps:
    opened = yield request("to be emptied", ALL, session_epoch=0)
    session = {"session_id": opened["session_id"]}
    yield request.forget("forget all", 0, 1, 2, **session, session_epoch=1)
    yield request("after all are forgotten", **session, session_epoch=2)
    opened = yield request("to be emptied by naming", ALL[:1], session_epoch=0)
    session = {"session_id": opened["session_id"]}
    yield request.forget("name and forget", 0, named=[_Part(0, 1)], **session, session_epoch=1)
    yield request("after it was named and forgotten", **session, session_epoch=2)
    opened = yield request("to be closed", ALL[:1], session_epoch=0)
    yield request("close and read", [_Part(1)], session_id=opened["session_id"], session_epoch=-1)


def _openings(request: _Request) -> Steps:
    opened = yield request("to be replaced", ALL[:1], session_epoch=0)
    empty = yield request("replaced by an empty one", session_id=opened["session_id"], session_epoch=0)
    yield request("the replaced one", session_id=opened["session_id"], session_epoch=1)
    yield request("the empty one", session_id=empty["session_id"], session_epoch=1)
    yield request("empty without an old one", session_epoch=0)
    yield request("twice in a session", (_Part(1), _Part(0), _Part(1, 2)), session_epoch=0)
    yield request("twice without a session", (_Part(1), _Part(0), _Part(1, 2)))


def _limits(request: _Request, isolation: int) -> Steps:
    def limited(label: str, *parts: _Part, **changed: object) -> Ask:
        return request(f"{label}, isolation {isolation}", parts, isolation_level=isolation, **changed)

    yield limited("a part of a batch left", _Part(0), _Part(1), _Part(2), _Part(3), max_bytes=TIGHT)
    yield limited("nothing left", _Part(1), _Part(0), _Part(2), _Part(3), max_bytes=TIGHT)
    yield limited("more than all", _Part(1), _Part(0), _Part(3), max_bytes=100)
    yield limited("small partition limits", _Part(0, 0, 10), _Part(1, 0, 10), _Part(2, 0, 0), _Part(3, 0, 10))
    yield limited("partition limits of zero", _Part(0, 0, 0), _Part(1, 0, 0), _Part(3, 0, 10))
    yield limited("negative partition limits", _Part(0, 0, 10), _Part(1, 0, -1), _Part(3, 0, -3))
    yield limited("a negative limit first", _Part(1, 0, -1), _Part(1, 99, -1), _Part(2, 0, 10))
    yield limited("a negative limit", _Part(0), _Part(1), max_bytes=-4)
    yield limited("a negative limit and nothing to read", _Part(3), _Part(1), max_bytes=-4)
    yield limited("ends and errors", _Part(0, 1), _Part(3), _Part(9), _Part(2, 7), _Part(1, 0, 10))
