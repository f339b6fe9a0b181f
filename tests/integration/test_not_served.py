"""What is not served yet says so, with an error that a client's log shows."""

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import BrokerProcess
from tests.support.wire import WireClient, error_code

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka serves it, or does not answer")


def test_a_produce_without_records_is_answered(broker: BrokerProcess, topic: str) -> None:
    """Null records are INVALID_RECORD; Apache Kafka 4.3 leaves the client without an answer."""
    with WireClient(broker.port) as wire:
        new = {"name": topic, "num_partitions": 1, "replication_factor": 1}
        wire.ask("CreateTopics", 5, timeout_ms=5000, topics=[new])
        data = [{"name": topic, "partition_data": [{"index": 0, "records": None}]}]
        answer = wire.ask("Produce", 9, acks=-1, timeout_ms=1000, topic_data=data)
    [partition] = answer["responses"][0]["partition_responses"]
    assert partition["error_code"] == error_code("INVALID_RECORD")
