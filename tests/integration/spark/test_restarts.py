"""A broker that goes away while a range is read, and comes back."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from pyspark_odradek.client.cluster import ClusterConnections
from pyspark_odradek.client.fetching import read_bodies
from pyspark_odradek.client.settings import cluster_options
from pyspark_odradek.columns.body import Body
from pyspark_odradek.columns.building import build
from pyspark_odradek.errors import BrokerUnreachableError
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.support.broker import OdradekProcess
from tests.support.ports import free_ports

COUNT = 20_000


def _fill(broker: OdradekProcess) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 500})
    for number in range(COUNT):
        producer.produce("restarted", b"%d" % number)
        producer.poll(0)
    assert producer.flush(60) == 0


def values_of(wanted: OffsetRange, bodies: list[Body]) -> list[bytes]:
    """Return the values of the records of some batches."""
    return [value for rows in build(wanted, bodies, include_headers=False) for value in rows["value"].to_pylist()]


def test_a_killed_broker_is_read_on_from_when_it_is_back(tmp_path: Path) -> None:
    """Every record is read once over a kill and a restart; without a restart the time-out ends with a clear error."""
    broker = OdradekProcess(tmp_path / "broker")
    broker.port = free_ports(1)[0]
    broker.start()
    settings = cluster_options(
        {"bootstrap.servers": broker.bootstrap, "max.partition.fetch.bytes": "10000"}, retry_timeout_s=60
    )
    cluster = ClusterConnections(dataclasses.replace(settings, first_retry_timeout_s=60))
    hasty = ClusterConnections(dataclasses.replace(settings, retry_timeout_s=0.5, first_retry_timeout_s=0.5))
    try:
        _fill(broker)
        wanted = OffsetRange(TopicPartition("restarted", 0), 0, COUNT)
        values: list[bytes] = []
        bodies = read_bodies(cluster, wanted, fail_on_data_loss=True)
        values += values_of(wanted, next(bodies))
        broker.kill()
        restart = threading.Thread(target=broker.start)
        restart.start()
        for some in bodies:
            values += values_of(wanted, some)
        restart.join()
        assert values == [b"%d" % number for number in range(COUNT)]

        bodies = read_bodies(hasty, wanted, fail_on_data_loss=True)
        next(bodies)
        broker.kill()
        with pytest.raises(BrokerUnreachableError, match="see that it runs"):
            list(bodies)
    finally:
        cluster.close()
        hasty.close()
        broker.discard()
