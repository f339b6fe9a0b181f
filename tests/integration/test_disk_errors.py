"""A disk that takes no more: the write is refused, reading goes on, and so does writing when there is space again.

The kernel's limit on the size of files stands in for a full disk; it can be set and lifted while the broker runs.
"""

import resource

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import BEGINNING, Confluent, ProduceSettings, Sent
from tests.support.broker import BrokerProcess
from tests.support.wire import Record, WireClient, build_batch, error_code

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka takes the directory offline and halts")

RECORDS = [Sent(None, b"%d" % number, (), 1_700_000_000_000 + number) for number in range(100)]
ROOM_BYTES = 10_000


def _limit_files(broker: BrokerProcess, size: int) -> None:
    _, hard = resource.prlimit(broker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (size, hard))


def _produce(wire: WireClient, topic: str, value: bytes) -> int:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": build_batch([Record(None, value)])}]}]
    answer = wire.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
    code: int = answer["responses"][0]["partition_responses"][0]["error_code"]
    return code


def test_a_full_disk_is_an_answer_and_not_an_end(new_broker: BrokerFactory, topic: str) -> None:
    """A batch that does not fit is KAFKA_STORAGE_ERROR and leaves nothing behind; what fits, and what was there, is
    served; with space again everything goes on, also after a restart."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    client.produce(topic, 0, RECORDS, ProduceSettings())
    segment = broker.data / f"{topic}-0" / "00000000000000000000.log"
    size = segment.stat().st_size
    with WireClient(broker.port) as wire:
        _limit_files(broker, size + ROOM_BYTES)
        assert _produce(wire, topic, b"x" * 2 * ROOM_BYTES) == error_code("KAFKA_STORAGE_ERROR")
        assert segment.stat().st_size == size
        assert _produce(wire, topic, b"fits") == 0
        assert _produce(wire, topic, b"x" * 2 * ROOM_BYTES) == error_code("KAFKA_STORAGE_ERROR")
        assert [item.record for item in client.read(topic, 0, BEGINNING, len(RECORDS))] == RECORDS
        _limit_files(broker, resource.RLIM_INFINITY)
        assert _produce(wire, topic, b"x" * 2 * ROOM_BYTES) == 0
    assert broker.stop() == 0
    broker.start()
    values = [item.record.value for item in client.read(topic, 0, BEGINNING, len(RECORDS) + 2)]
    assert values == [record.value for record in RECORDS] + [b"fits", b"x" * 2 * ROOM_BYTES]


def test_a_topic_that_cannot_be_recorded_is_not_created(new_broker: BrokerFactory, topic: str) -> None:
    """Where the metadata log cannot grow a new topic is refused, and what is there goes on; later it can be created."""
    broker = new_broker()
    broker.start()
    client = Confluent(broker.bootstrap)
    client.create_topic(topic)
    new = {"name": topic + "-new", "num_partitions": 1, "replication_factor": 1}
    with WireClient(broker.port) as wire:
        _limit_files(broker, 0)
        [refused] = wire.ask("CreateTopics", 5, timeout_ms=5000, topics=[new])["topics"]
        assert refused["error_code"] != 0
        asked = [{"name": topic}, {"name": topic + "-new"}]
        found = wire.ask("Metadata", 9, topics=asked, allow_auto_topic_creation=False)["topics"]
        assert [each["error_code"] for each in found] == [0, error_code("UNKNOWN_TOPIC_OR_PARTITION")]
        _limit_files(broker, resource.RLIM_INFINITY)
        [created] = wire.ask("CreateTopics", 5, timeout_ms=5000, topics=[new])["topics"]
        assert created["error_code"] == 0
    client.produce(topic + "-new", 0, RECORDS, ProduceSettings())
    broker.kill()
    broker.start()
    assert client.end_offset(topic + "-new", 0) == len(RECORDS)
