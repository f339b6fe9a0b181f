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


def test_there_is_no_coordinator_of_transactions(broker: BrokerProcess) -> None:
    """Who asks for the coordinator of a transaction is told that there is none, and why."""
    with WireClient(broker.port) as wire:
        answer = wire.ask("FindCoordinator", 4, key_type=1, coordinator_keys=["mine"])
    [coordinator] = answer["coordinators"]
    assert coordinator["error_code"] == error_code("COORDINATOR_NOT_AVAILABLE")
    assert "odradek" in coordinator["error_message"]


def test_transactional_producers_are_refused(broker: BrokerProcess) -> None:
    """A producer with a transactional id gets no producer id."""
    wanted = {"transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    with WireClient(broker.port) as wire:
        answer = wire.ask("InitProducerId", 4, transactional_id="mine", **wanted)
    assert answer["error_code"] == error_code("COORDINATOR_NOT_AVAILABLE")
    assert answer["producer_id"] == -1
