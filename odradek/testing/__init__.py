"""Real brokers for tests: a process, a free port, a directory that goes when it ends, ready in a fraction of a second.

    from odradek.testing import Broker

    with Broker() as broker:
        topic = broker.topic()
        Producer({"bootstrap.servers": broker.bootstrap_servers}).produce(topic, b"hello")

`Cluster` is the same with several brokers. The fixtures `kafka_broker` and `kafka_topic` of pytest are in `plugin`,
which pytest finds by itself. docs/testing.md says more.
"""

from odradek.testing.broker import Broker
from odradek.testing.cluster import Cluster

__all__ = ["Broker", "Cluster"]
