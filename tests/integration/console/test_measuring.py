"""What the console measures of a real cluster."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.cluster.connection import connect
from odradek.console.history import History, SeriesKey, SeriesKind
from odradek.console.measuring import ClusterProbe, make_sampler
from odradek.console.settings import ConsoleSettings
from tests.support.broker import BrokerProcess


def test_rates_and_lags_of_a_cluster(broker: BrokerProcess, topic: str) -> None:
    """Two rounds tell what was written and committed in between, and what a group is behind."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(60)
    history = History()
    probe = ClusterProbe(lambda: connect(broker.bootstrap, {}))
    sampler = make_sampler(ConsoleSettings(broker.bootstrap), history, probe)
    group = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(60) == 0
    group.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    sampler.round()
    assert history.problem == ""
    assert history.latest(SeriesKey(SeriesKind.LAG, topic)) == 9
    for number in range(10):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(60) == 0
    group.commit(offsets=[TopicPartition(topic, 0, 16)], asynchronous=False)
    group.close()
    sampler.round()
    probe.close()
    assert history.latest(SeriesKey(SeriesKind.LAG, topic)) == 4
    written = history.latest(SeriesKey(SeriesKind.RECORDS_PER_S, topic))
    committed = history.latest(SeriesKey(SeriesKind.COMMITTED_PER_S, topic))
    assert written is not None
    assert committed is not None
    assert abs(committed / written - 1.5) < 0.001
