"""A clock that jumps, and records from any time."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.fault.talk import assert_quiet, create_topic, delete_topic, fetch, produce, read_all, set_config, topics
from tests.support.broker import REPOSITORY, BrokerProcess, OdradekProcess
from tests.support.wire import BatchFields, WireClient, error_code

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FIRST, LAST = 0, 2**63 - 1
PATCH = '''
"""Moves the wall clock of the process by what a file says, in ms."""
import os, time
_now = time.time_ns
def time_ns():
    with open(os.environ["CLOCK_FILE"]) as file:
        return _now() + int(file.read() or 0) * 1_000_000
time.time_ns = time_ns
time.time = lambda: time_ns() / 1e9
'''


class TimeTraveller(OdradekProcess):
    """A broker whose wall clock the test moves."""

    def __init__(self, directory: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, overrides)
        self._patch = directory / "patch"
        self._patch.mkdir(parents=True)
        (self._patch / "sitecustomize.py").write_text(PATCH)
        self.jump(0)

    def jump(self, offset_ms: int) -> None:
        """Let the clock be so far from the real one."""
        aside = self._patch / "clock.new"
        aside.write_text(str(offset_ms))
        aside.rename(self._patch / "clock")

    def _environment(self) -> dict[str, str]:
        paths = f"{self._patch}:{REPOSITORY}"
        return {**super()._environment(), "PYTHONPATH": paths, "CLOCK_FILE": str(self._patch / "clock")}


@pytest.fixture
def traveller(tmp_path: Path) -> Iterator[TimeTraveller]:
    """A running broker at the present time, which flushes and expires often."""
    often = {
        "log.flush.scheduler.interval.ms": "50",
        "log.flush.interval.ms": "200",
        "producer.id.expiration.check.interval.ms": "50",
        "replica.high.watermark.checkpoint.interval.ms": "50",
        "log.flush.offset.checkpoint.interval.ms": "60000",
    }
    broker = TimeTraveller(tmp_path / "traveller", often)
    broker.start()
    yield broker
    broker.discard()


def test_a_clock_that_jumps(traveller: TimeTraveller, topic: str) -> None:
    """Back a day, on a day, back again: appends, long polls, admin requests and a kill go on as if nothing was."""
    number = 0
    with WireClient(traveller.port) as wire:
        assert create_topic(wire, topic, configs={"message.timestamp.type": "LogAppendTime"}) == 0
        for jump in (0, -DAY_MS, DAY_MS, -400 * DAY_MS, 0):
            traveller.jump(jump)
            for _ in range(5):
                assert produce(wire, topic, b"%d" % number) == (0, number)
                number += 1
            assert fetch(wire, topic, number, max_wait_ms=50)["error_code"] == 0
            assert create_topic(wire, f"{topic}{jump}") == 0
            assert delete_topic(wire, f"{topic}{jump}") == 0
            assert topics(wire) == {topic}
    traveller.kill()
    traveller.jump(-DAY_MS)
    traveller.start()
    with WireClient(traveller.port) as wire:
        assert [value for _, value in read_all(wire, topic)] == [b"%d" % index for index in range(number)]
        assert produce(wire, topic, b"after") == (0, number)
    assert traveller.stop() == 0
    assert_quiet(traveller)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_records_from_the_first_and_the_last_moment(running: BrokerProcess, topic: str, kind: str) -> None:
    """Timestamps at both ends of their range are kept where the topic allows them, found again, and recovered; no
    timestamp at all (-1) is one, too."""
    lax = {"message.timestamp.after.max.ms": str(LAST), "message.timestamp.type": kind, "index.interval.bytes": "0"}
    given = [-1, FIRST, 1, LAST, LAST - 1, -1, 5, LAST]
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, configs=lax) == 0
        for number, timestamp in enumerate(given):
            assert produce(wire, topic, b"%d" % number, fields=BatchFields(timestamp=timestamp)) == (0, number)
        assert set_config(wire, topic, "segment.ms", "1") == 0
        for number, timestamp in enumerate(given, len(given)):  # each of them begins a segment
            assert produce(wire, topic, b"%d" % number, fields=BatchFields(timestamp=timestamp)) == (0, number)
        found = [_search(wire, topic, timestamp) for timestamp in (FIRST, 2, 6, LAST, -3)]
        if kind == "CreateTime":
            assert found == [(FIRST, 1), (LAST, 3), (LAST, 3), (LAST, 3), (LAST, 3)]
    running.kill()
    running.start()
    with WireClient(running.port) as wire:
        assert [value for _, value in read_all(wire, topic)] == [b"%d" % number for number in range(2 * len(given))]
        assert [_search(wire, topic, timestamp) for timestamp in (FIRST, 2, 6, LAST, -3)] == found
    assert running.stop() == 0
    assert_quiet(running)


def test_records_from_the_future_are_refused_by_default(running: BrokerProcess, topic: str) -> None:
    """More than an hour ahead is INVALID_TIMESTAMP, any past is fine."""
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic) == 0
        refused = produce(wire, topic, b"x", fields=BatchFields(timestamp=LAST))
        assert refused.error_code == error_code("INVALID_TIMESTAMP")
        assert produce(wire, topic, b"x", fields=BatchFields(timestamp=FIRST)) == (0, 0)
    assert_quiet(running)


def _search(wire: WireClient, topic: str, timestamp: int) -> tuple[int, int]:
    """Timestamp and offset of the first record that is not earlier."""
    wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
    asked = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [wanted]}]}
    [answer] = wire.ask("ListOffsets", 7, **asked)["topics"][0]["partitions"]
    assert answer["error_code"] == 0
    return answer["timestamp"], answer["offset"]
