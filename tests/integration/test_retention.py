"""Old data goes while clients write and read: by size, by age, live, and whole for those who are being sent it."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.record import iter_records
from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.fault.talk import MEGABYTE, create_topic, fetch, fetch_fields, produce, set_config
from tests.support.broker import BrokerProcess
from tests.support.process import open_descriptors
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka first looks 30 seconds after its start")

CHECK_MS = 100
VALUE = bytes(500_000)
BATCHES = 9
SETTINGS = {
    "log.retention.check.interval.ms": str(CHECK_MS),
    "socket.send.buffer.bytes": "65536",  # little of an answer is on its way before the client has begun to read
}


@pytest.fixture
def looking(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker that looks for old segments ten times a second."""
    broker = new_broker(SETTINGS)
    broker.start()
    return broker


def _fill(wire: WireClient, topic: str, **configs: str) -> None:
    """Make a topic of segments of two batches."""
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    assert create_topic(wire, topic, configs={"segment.bytes": str(MEGABYTE), **settings}) == 0
    for number in range(BATCHES):
        assert produce(wire, topic, b"%d" % number + VALUE) == (0, number)


def _offset(wire: WireClient, topic: str, timestamp: int) -> int:
    wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}
    topics = [{"name": topic, "partitions": [wanted]}]
    answer = wire.ask("ListOffsets", 4, replica_id=-1, isolation_level=0, topics=topics)
    offset: int = answer["topics"][0]["partitions"][0]["offset"]
    return offset


def _start_moves_to(wire: WireClient, topic: str, offset: int) -> None:
    eventually(lambda: _offset(wire, topic, -2) == offset, f"{topic} starts at {offset}")


def _files(broker: BrokerProcess, topic: str, suffix: str) -> list[Path]:
    return sorted((broker.data / f"{topic}-0").glob(f"*{suffix}"))


def test_log_is_kept_at_its_size(looking: BrokerProcess, topic: str) -> None:
    """retention.bytes: the oldest segments go, the log line says which and why, the files follow, and all survives."""
    with WireClient(looking.port) as wire:
        _fill(wire, topic, retention_bytes=str(2 * MEGABYTE), file_delete_delay_ms="0")
        _start_moves_to(wire, topic, 4)
        assert fetch(wire, topic, 3)["error_code"] == error_code("OFFSET_OUT_OF_RANGE")
        assert fetch(wire, topic, 4)["error_code"] == 0
        eventually(lambda: not _files(looking, topic, ".deleted"), "the files are gone", 60)
    assert len(_files(looking, topic, ".log")) == 3
    assert "old segments deleted" in looking.log
    assert f"the log is larger than retention.bytes={2 * MEGABYTE}" in looking.log
    looking.kill()
    looking.start()
    with WireClient(looking.port) as wire:
        assert (_offset(wire, topic, -2), _offset(wire, topic, -1)) == (4, BATCHES)


def test_age_counts_from_the_change_of_a_running_topic(looking: BrokerProcess, topic: str) -> None:
    """retention.ms set while the broker runs takes even the segment that is written to; the topic goes on."""
    with WireClient(looking.port) as wire:
        _fill(wire, topic)
        assert set_config(wire, topic, "retention.ms", "1") == 0
        _start_moves_to(wire, topic, BATCHES)
        assert _offset(wire, topic, -1) == BATCHES
        assert set_config(wire, topic, "retention.ms", "-1") == 0
        assert produce(wire, topic, b"new") == (0, BATCHES)
        assert fetch(wire, topic, BATCHES)["error_code"] == 0


def test_long_poll_below_the_new_start_is_answered_at_once(looking: BrokerProcess, topic: str) -> None:
    """It waits for more than there is; when its offset goes, it is told so, long before its deadline."""
    with WireClient(looking.port) as wire, WireClient(looking.port) as other:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"x") == (0, 0)
        wire.send("Fetch", 11, **fetch_fields(topic, 0, 0, min_bytes=MEGABYTE, max_wait_ms=600_000))
        assert set_config(other, topic, "retention.ms", "1") == 0
        [answer] = wire.answer("Fetch", 11)["responses"][0]["partitions"]
        assert answer["error_code"] == error_code("OFFSET_OUT_OF_RANGE")


def test_segment_that_is_being_sent_arrives_whole(looking: BrokerProcess, topic: str) -> None:
    """A client that reads slowly gets all of its answer, though the file was unlinked when it had hardly begun."""
    with WireClient(looking.port) as wire, WireClient(looking.port) as slow:
        _fill(wire, topic, file_delete_delay_ms="0")
        before = open_descriptors(looking.pid)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        slow.send("Fetch", 11, **fetch_fields(topic, 0, 0, max_bytes=50 * MEGABYTE))
        eventually(_has_begun(slow.socket), "the answer has begun")
        assert set_config(wire, topic, "retention.bytes", "0") == 0
        _start_moves_to(wire, topic, BATCHES)
        eventually(lambda: len(_files(looking, topic, "")) < 12, "the files are unlinked", 60)
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MEGABYTE)
        [answer] = slow.answer("Fetch", 11)["responses"][0]["partitions"]
        assert answer["error_code"] == 0
        data = answer["records"]
        values = [
            record.value
            for position, header in iter_batches(data)
            for record in iter_records(data[position : position + header.size])
        ]
        assert values == [b"%d" % number + VALUE for number in range(2)]
        eventually(lambda: open_descriptors(looking.pid) <= before, "the broker lets go of the file")


def _has_begun(connection: socket.socket) -> Callable[[], bool]:
    return lambda: len(connection.recv(1, socket.MSG_PEEK)) == 1
