"""Records that a crash took away are noticed by those who had read them (KIP-320): the leader epoch tells."""

from collections.abc import Callable

import confluent_kafka

from tests.conftest import BrokerFactory
from tests.integration.clients import Confluent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import Record, WireClient, build_batch, error_code

BEFORE, KEPT, AFTER = 10, 6, 8
"""Records written before the crash, those of them that are left, and those written afterwards."""


def _append(broker: BrokerProcess, topic: str, values: list[bytes]) -> None:
    """Append each value as a batch of its own."""
    with WireClient(broker.port) as wire:
        for value in values:
            data = [{"name": topic, "partition_data": [{"index": 0, "records": build_batch([Record(None, value)])}]}]
            answer = wire.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
            assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0, answer


def _values(name: str, first: int, end: int) -> list[bytes]:
    return [b"%s-%02d" % (name.encode(), number) for number in range(first, end)]


def _crash_and_lose(broker: BrokerProcess, topic: str) -> None:
    """Kill the broker, and take away what a machine that went down with it would have lost."""
    broker.kill()
    segment = broker.data / f"{topic}-0" / "00000000000000000000.log"
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size // BEFORE * KEPT)
    broker.start()


def _epochs(broker: BrokerProcess, topic: str) -> tuple[int, int]:
    """Return leader epoch and partition count."""
    with WireClient(broker.port) as wire:
        [found] = wire.ask("Metadata", 12, topics=[{"name": topic}], allow_auto_topic_creation=False)["topics"]
    epochs = {partition["leader_epoch"] for partition in found["partitions"]}
    assert len(epochs) == 1
    return epochs.pop(), len(found["partitions"])


def _end_of_epoch(broker: BrokerProcess, topic: str, current: int, epoch: int) -> tuple[int, int, int]:
    """Return error code, epoch and offset where a leader epoch ends."""
    place = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}
    with WireClient(broker.port) as wire:
        answer = wire.ask("OffsetForLeaderEpoch", 4, replica_id=-1, topics=[{"topic": topic, "partitions": [place]}])
    [found] = answer["topics"][0]["partitions"]
    return found["error_code"], found["leader_epoch"], found["end_offset"]


def test_epoch_is_raised_by_a_crash_only(new_broker: BrokerFactory, topic: str) -> None:
    """After kill -9 all partitions go on in a new epoch, whose predecessor ends where the log was left; after a stop in
    order they go on as they were, and nothing is written."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic, partitions=3)
    _append(broker, topic, _values("old", 0, BEFORE))
    assert _epochs(broker, topic) == (0, 3)
    _crash_and_lose(broker, topic)
    assert _epochs(broker, topic) == (1, 3)
    assert _end_of_epoch(broker, topic, 0, 0)[0] == error_code("FENCED_LEADER_EPOCH")
    assert _end_of_epoch(broker, topic, 1, 0) == (0, 0, KEPT)
    _append(broker, topic, _values("new", KEPT, KEPT + AFTER))
    assert _end_of_epoch(broker, topic, 1, 0) == (0, 0, KEPT)
    assert _end_of_epoch(broker, topic, 1, 1) == (0, 1, KEPT + AFTER)
    assert broker.stop() == 0
    metadata = broker.data / "__cluster_metadata-0" / "00000000000000000000.log"
    written = metadata.read_bytes()
    broker.start()
    assert _epochs(broker, topic) == (1, 3)
    assert _end_of_epoch(broker, topic, 1, 0) == (0, 0, KEPT)
    assert metadata.read_bytes() == written


def test_epoch_is_raised_where_the_whole_log_is_gone(new_broker: BrokerFactory, topic: str) -> None:
    """A partition whose directory is not there any more begins empty, in an epoch that its readers do not know."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    _append(broker, topic, _values("old", 0, BEFORE))
    assert broker.stop() == 0
    (broker.data / f"{topic}-0").rename(broker.directory / "gone")
    broker.start()
    assert _epochs(broker, topic) == (1, 1)
    assert _end_of_epoch(broker, topic, 1, 0) == (0, 0, 0)


def _consumer(broker: BrokerProcess, topic: str) -> confluent_kafka.Consumer:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": f"readers-of-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 200,
        }
    )
    consumer.subscribe([topic])
    return consumer


def _read_until(consumer: confluent_kafka.Consumer, enough: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Return the values read until there are enough of them."""
    read: list[bytes] = []

    def go_on() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            read.append(message.value() or b"")
        return enough(read)

    eventually(go_on, "enough is read", 60)
    return read


def test_consumer_that_read_what_is_lost_does_not_pass_over_what_came_instead(
    new_broker: BrokerFactory, topic: str
) -> None:
    """librdkafka, whose connection comes back, asks where the epoch of its last record ended, finds that this is before
    its position, and goes on from there."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    _append(broker, topic, _values("old", 0, BEFORE))
    consumer = _consumer(broker, topic)
    try:
        assert _read_until(consumer, lambda read: len(read) == BEFORE) == _values("old", 0, BEFORE)
        _crash_and_lose(broker, topic)
        after = _values("new", KEPT, KEPT + AFTER)
        _append(broker, topic, after)
        read = _read_until(consumer, lambda read: after[-1] in read)
        assert read == after
    finally:
        consumer.close()
