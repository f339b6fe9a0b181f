"""Fetch, fetch sessions and DeleteRecords."""

import uuid

from tests.interop.differential.play import Ask, Step, Steps
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.support.wire import Record, served_versions

MEGABYTE = 1 << 20
LOG_END = 12


def fetch() -> Steps:
    """Read six batches from every kind of place, in sessions and without, then delete some of them."""
    topic_id = yield from topic("fe", 2)
    for index in range(LOG_END // 2):
        yield from put("fe", [Record(b"k%d" % index, b"v" * 500), Record(b"j", b"w")], NOW_MS + index)
    for version in served_versions("Fetch", 4):
        request = _Request(version, topic_id)
        yield from _places(request)
        yield from _errors(request)
        if version >= 7:
            yield from _session(request)
    yield from _deletions(topic_id)


class _Request:
    """Makes fetch requests for one partition of the topic."""

    def __init__(self, version: int, topic_id: uuid.UUID) -> None:
        self.version = version
        self.topic = {"topic": "fe", "topic_id": topic_id}

    def __call__(self, label: str, offset: int = 0, partition: int = 0, **changed: object) -> Ask:
        asked = {
            "partition": partition,
            "current_leader_epoch": changed.pop("epoch", -1),
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": changed.pop("partition_max_bytes", MEGABYTE),
        }
        topics = [{**self.topic, "partitions": [asked]}]
        return self.whole(label, **{"topics": topics, **changed})

    def whole(self, label: str, **changed: object) -> Ask:
        """Return a request with all fields of the top level at the caller's choice."""
        fields = {
            "replica_id": -1,
            "max_wait_ms": 20,
            "min_bytes": 1,
            "max_bytes": MEGABYTE,
            "session_id": 0,
            "session_epoch": -1,
            "rack_id": "",
            "topics": [],
        }
        return Ask(label, "Fetch", self.version, {**fields, **changed})


def _places(request: _Request) -> Steps:
    yield request("from the start")
    yield request("from the middle", 4)
    yield request("inside a batch", 5)
    yield request("at the end", LOG_END)
    yield request("beyond the end", LOG_END + 1)
    yield request("negative offset", -1)
    yield request("empty partition", partition=1)
    yield request("small partition limit", partition_max_bytes=10)
    yield request("small limit", max_bytes=10)
    yield request("limit of two batches", partition_max_bytes=1300)
    yield request("limit of zero", partition_max_bytes=0)
    yield request("more than there is", 10, min_bytes=100_000)
    yield request("read committed", isolation_level=1)


def _errors(request: _Request) -> Steps:
    yield request("unknown partition", partition=6)
    unknown = _Request(request.version, uuid.UUID(int=9))
    unknown.topic["topic"] = "fe-none"
    yield unknown("unknown topic")
    if request.version >= 9:
        yield request("epoch ahead", epoch=40)
        yield request("epoch right", epoch=0)
    yield request.whole("nothing")


def _session(request: _Request) -> Steps:
    opened = yield request("open a session", session_epoch=0)
    session = {"session_id": opened.get("session_id", 0)}
    yield request.whole("nothing changed", **session, session_epoch=1)
    yield request("another partition", partition=1, **session, session_epoch=2)
    yield request("wrong session epoch", **session, session_epoch=9)
    yield request("unknown session", session_id=12345, session_epoch=3)
    forgotten = [{**request.topic, "partitions": [0]}]
    yield request.whole("forget one", **session, session_epoch=3, forgotten_topics_data=forgotten)
    yield request("from another offset", 4, **session, session_epoch=4)
    yield request.whole("close the session", **session, session_epoch=-1)
    yield request.whole("after closing", **session, session_epoch=5)


def _deletions(topic_id: uuid.UUID) -> Steps:
    def delete(label: str, version: int, name: str, *places: tuple[int, int]) -> Step:
        partitions = [{"partition_index": partition, "offset": offset} for partition, offset in places]
        fields = {"timeout_ms": 3000, "topics": [{"name": name, "partitions": partitions}]}
        return Ask(label, "DeleteRecords", version, fields)

    versions = served_versions("DeleteRecords")
    for version in versions:
        yield delete("before an offset", version, "fe", (0, 2 + version), (9, 0))
        yield delete("before an earlier offset", version, "fe", (0, 1))
        yield delete("beyond the end", version, "fe", (0, LOG_END + 1))
        yield delete("negative", version, "fe", (0, -2))
        yield delete("of an unknown topic", version, "fe-none", (0, 1))
        yield delete("twice", version, "fe", (0, 99), (1, 0), (0, 1))
        yield delete("twice, the last one bad", version, "fe", (0, 1), (0, 99))
        yield delete("twice unknown", version, "fe", (9, 1), (9, 1))
        yield delete("of no partition", version, "fe")
    request = _Request(12, topic_id)
    yield request("below the start")
    yield request("at the start", 2 + versions[-1])
    yield delete("all", versions[-1], "fe", (0, -1))
    yield request("after all is gone", LOG_END)
    yield from topic("fe-compact", cleanup_policy="compact")
    yield delete("of a compacted topic", versions[-1], "fe-compact", (0, 0))
