"""Topics and records that are deleted while they are written, read and flushed: clients are told, all goes on."""

import threading

import pytest

from tests.fault.talk import (
    MEGABYTE,
    assert_quiet,
    create_topic,
    delete_records,
    delete_topic,
    fetch,
    fetch_fields,
    produce,
    read_all,
    set_config,
    topics,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.process import open_descriptors
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code

GONE = {error_code("UNKNOWN_TOPIC_OR_PARTITION"), error_code("NOT_LEADER_OR_FOLLOWER")}
ROUNDS = 15
CHANGES = [
    ("segment.bytes", "1048576"),
    ("flush.messages", "1"),
    ("segment.bytes", "2000000"),
    ("flush.messages", "1000000"),
]


class Workers:
    """Threads that run until they are told to stop; what one of them raises is raised again at the end."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []

    def start(self, target: object, *arguments: object) -> None:
        """Run `target(*arguments)` on a thread."""

        def run() -> None:
            try:
                target(*arguments)  # type: ignore[operator]
            except BaseException as failed:  # noqa: BLE001 - raised again by `finish`
                self._failures.append(failed)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def finish(self) -> None:
        """Stop and join the threads."""
        self.stopping.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        if self._failures:
            raise self._failures[0]


def _produce_on(port: int, topic: str, workers: Workers) -> None:
    with WireClient(port) as wire:
        number = 0
        while not workers.stopping.is_set():
            code, _ = produce(wire, topic, b"%d" % number)
            assert code in {0, *GONE}, code
            number += code == 0


def _poll_on(port: int, topic: str, workers: Workers) -> None:
    offset = 0
    with WireClient(port) as wire:
        while not workers.stopping.is_set():
            answer = fetch(wire, topic, offset, max_wait_ms=500)
            code = answer["error_code"]
            assert code in {0, error_code("OFFSET_OUT_OF_RANGE"), *GONE}, code
            offset = max(answer["high_watermark"], 0) if code == 0 else 0


@pytest.mark.parametrize("flush", ["1", "9223372036854775807"], ids=["flush each", "default flush"])
def test_deleted_and_created_again_under_load(running: BrokerProcess, topic: str, flush: str) -> None:
    """A topic that is deleted and created again at once, while clients produce to it and poll it, is always one of the
    two: clients are told so, and each new one begins empty."""
    workers = Workers()
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, configs={"flush.messages": flush}) == 0
        for _ in range(3):
            workers.start(_produce_on, running.port, topic, workers)
        workers.start(_poll_on, running.port, topic, workers)
        for _ in range(ROUNDS):
            eventually(lambda: fetch(wire, topic, 0)["high_watermark"] > 3, "something was appended")
            assert delete_topic(wire, topic) == 0
            assert create_topic(wire, topic, configs={"flush.messages": flush}) == 0
        workers.finish()
        values = read_all(wire, topic)
        assert [offset for offset, _ in values] == list(range(len(values)))
    assert running.stop() == 0
    assert_quiet(running)
    assert "flush failed" not in running.log, running.log
    assert "not closed in order" not in running.log, running.log
    running.start()
    with WireClient(running.port) as wire:
        assert read_all(wire, topic) == values


def test_a_long_poll_ends_when_its_topic_does(running: BrokerProcess, topic: str) -> None:
    """Who waits for the next record of a topic learns of its deletion at once."""
    with WireClient(running.port) as wire, WireClient(running.port) as waiting:
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"x") == (0, 0)
        waiting.send("Fetch", 11, **fetch_fields(topic, 0, 1, max_wait_ms=60_000))
        wire.ask("ApiVersions", 0)
        assert delete_topic(wire, topic) == 0
        [answer] = waiting.answer("Fetch", 11)["responses"][0]["partitions"]
        assert answer["error_code"] in GONE
    assert_quiet(running)


def test_an_answer_on_its_way_outlives_its_topic(running: BrokerProcess, topic: str) -> None:
    """A large fetch that is half sent when the topic is deleted, and created anew, arrives whole and as it was."""
    value = b"v" * 900_000
    with WireClient(running.port) as wire, WireClient(running.port) as slow:
        assert create_topic(wire, topic) == 0
        for _ in range(30):
            assert produce(wire, topic, value).error_code == 0
        limits = {"max_bytes": 50 * MEGABYTE}
        slow.send("Fetch", 11, **fetch_fields(topic, 0, 0, **limits))
        slow.socket.recv(1)
        assert delete_topic(wire, topic) == 0
        assert create_topic(wire, topic) == 0
        assert produce(wire, topic, b"new") == (0, 0)
        rest = 0
        while rest < 27_000_000:
            rest += len(slow.socket.recv(MEGABYTE))
        assert values_of(read_all(wire, topic)) == [b"new"]
    assert_quiet(running)


def test_descriptors_of_deleted_topics_come_back(running: BrokerProcess, topic: str) -> None:
    """Making, filling and deleting topics over and over costs no descriptors."""
    with WireClient(running.port) as wire:

        def once() -> None:
            assert create_topic(wire, topic, 5, {"flush.messages": "1"}) == 0
            for partition in range(5):
                assert produce(wire, topic, b"x", partition=partition).error_code == 0
            assert delete_topic(wire, topic) == 0

        once()
        before = open_descriptors(running.pid)
        for _ in range(20):
            once()
        eventually(lambda: open_descriptors(running.pid) <= before + 2, "the descriptors come back")
        assert topic not in topics(wire)
    assert_quiet(running)


def test_records_are_deleted_while_they_are_read(running: BrokerProcess, topic: str) -> None:
    """Readers of records that are being deleted get them or are told that they are out of range; the log goes on."""
    workers = Workers()
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic, configs={"segment.bytes": "1048576"}) == 0
        workers.start(_poll_on, running.port, topic, workers)
        workers.start(_poll_on, running.port, topic, workers)
        for number in range(100):
            assert produce(wire, topic, b"%d:" % number + b"x" * 100_000) == (0, number)
            if number % 7 == 0:
                assert delete_records(wire, topic, number) == 0
        workers.finish()
        assert fetch(wire, topic, 0)["error_code"] == error_code("OFFSET_OUT_OF_RANGE")
        assert [offset for offset, _ in read_all(wire, topic, start=98)] == [98, 99]
    assert running.stop() == 0
    assert_quiet(running)
    running.start()
    with WireClient(running.port) as wire:
        assert [offset for offset, _ in read_all(wire, topic, start=98)] == [98, 99]


def test_segment_size_changes_under_load(running: BrokerProcess, topic: str) -> None:
    """The configs of segments and flushing change while producers write: no record is lost or stands twice."""
    workers = Workers()
    with WireClient(running.port) as wire:
        assert create_topic(wire, topic) == 0
        for _ in range(3):
            workers.start(_produce_on, running.port, topic, workers)
        for number in range(32):
            key, value = CHANGES[number % len(CHANGES)]
            assert set_config(wire, topic, key, value) == 0
            assert produce(wire, topic, b"x" * 500_000).error_code == 0
        workers.finish()
        before = read_all(wire, topic)
    running.kill()
    running.start()
    with WireClient(running.port) as wire:
        assert read_all(wire, topic) == before
    assert_quiet(running)
