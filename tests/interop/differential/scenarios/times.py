"""Offsets by time, in logs of many segments that time has begun."""

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.support.wire import Record

ROLL_MS = 10_000
AHEAD_S = (0, 4, 3, 11, 10, 11, 22, 5, 17, 40, 41, 51)
"""When the records were made; a segment ends where one is more than ten seconds later than the first batch in it."""
LONG_AGO_MS = 86_400_000


def times() -> Steps:
    """Ask for every second, before and after records were deleted, and read segment by segment."""
    yield from topic("ti", segment_ms=ROLL_MS, message_timestamp_after_max_ms=LONG_AGO_MS)
    yield from topic("ti-idle", segment_ms=ROLL_MS, segment_jitter_ms=ROLL_MS)
    for number, ahead in enumerate(AHEAD_S):
        yield from put("ti", [Record(b"k", b"%d" % number), Record(None, b"second")], _time(ahead))
    yield from put("ti-idle", [Record(b"k", b"v")], _time(0))
    yield from _by_time("all")
    for offset in range(2 * len(AHEAD_S)):
        yield _read(offset)
    start = {"topics": [{"name": "ti", "partitions": [{"partition_index": 0, "offset": 8}]}], "timeout_ms": 5000}
    yield Ask("delete records up to a segment", "DeleteRecords", 2, start)
    yield from _by_time("the rest")


def _time(ahead_s: int) -> int:
    return NOW_MS - 3_600_000 + 1000 * ahead_s


def _by_time(label: str) -> Steps:
    for ahead in range(-1, AHEAD_S[-1] + 2):
        yield _ask(f"{label}, {ahead} s", _time(ahead))
        yield _ask(f"{label}, just before {ahead} s", _time(ahead) - 1)
    for timestamp in (-1, -2, -3, -4):
        yield _ask(f"{label}, {timestamp}", timestamp)


def _ask(label: str, timestamp: int) -> Ask:
    asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
    return Ask(label, "ListOffsets", 8, {"replica_id": -1, "topics": [{"name": "ti", "partitions": [asked]}]})


def _read(offset: int) -> Ask:
    wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
    fields = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [{"topic": "ti", "partitions": [wanted]}],
    }
    return Ask(f"read from {offset}", "Fetch", 11, fields)
