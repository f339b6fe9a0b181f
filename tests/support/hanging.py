"""Leaving a transaction open in a partition that no coordinator knows of, as a broker of old could be left with."""

from __future__ import annotations

from odradek.cluster.configs import ConfigResourceType, alter_configs
from odradek.cluster.connection import connect
from tests.support.broker import BrokerProcess
from tests.support.wire import BatchFields, Record, WireClient, build_batch

TRANSACTIONAL = 16
"""The attribute of a batch that is part of a transaction."""
VERIFICATION = "transaction.partition.verification.enable"
"""What keeps such records out since Kafka 3.6 (KIP-890); it is off meanwhile."""


def leave_hanging(broker: BrokerProcess, topic: str, producer_id: int) -> None:
    """Write a record of a transaction of epoch 3 to partition 0 of a topic that exists."""
    fields = BatchFields(producer_id=producer_id, producer_epoch=3, base_sequence=0, attributes=TRANSACTIONAL)
    data = [{"name": topic, "partition_data": [{"index": 0, "records": build_batch([Record(b"k", b"v")], fields)}]}]
    cluster = connect(broker.bootstrap, {})
    try:
        alter_configs(cluster, ConfigResourceType.BROKER, "1", [(VERIFICATION, "false")], ())
        with WireClient(broker.port) as wire:
            answer = wire.ask("Produce", 11, transactional_id="late", acks=-1, timeout_ms=9_000, topic_data=data)
    finally:
        alter_configs(cluster, ConfigResourceType.BROKER, "1", (), [VERIFICATION])
        cluster.close()
    assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0
