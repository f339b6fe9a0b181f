"""Three brokers of Apache Kafka and three of ours, for the comparison of what does not depend on one node.

The first broker of each is the controller, too, is asked everything, and leads what the scenarios make and what
coordinators keep. Which broker Metadata calls the controller is chance on both sides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.interop.differential.normalise import Comparable
from tests.support.apache_kafka_cluster import ApacheKafkaCluster, KafkaCluster, OdradekCluster
from tests.support.waiting import eventually
from tests.support.wire import WireClient

FIRST = 1
TIMEOUT_S = 60
SETTINGS = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
COORDINATED = ("__consumer_offsets", "__transaction_state")


@contextmanager
def pair_of_clusters() -> Iterator[tuple[int, int]]:
    """Yield the ports of the first broker of Apache Kafka's cluster and of ours, while both run."""
    with tempfile.TemporaryDirectory(prefix="odradek-differential-") as directory, ExitStack() as stack:
        clusters: list[KafkaCluster] = [
            ApacheKafkaCluster(Path(directory) / "kafka", SETTINGS),
            OdradekCluster(Path(directory) / "odradek", SETTINGS),
        ]
        for cluster in clusters:
            stack.callback(cluster.discard)
        for cluster in clusters:
            cluster.start()
            _prepare(cluster)
        kafka, ours = (cluster.brokers[FIRST].port for cluster in clusters)
        yield kafka, ours


def without_chance(answers: Mapping[str, Comparable]) -> dict[str, Comparable]:
    """Return answers without the ids of controllers, where there is one."""
    return {label: _without_controller(answer) for label, answer in answers.items()}


def _without_controller(value: Comparable) -> Comparable:
    if isinstance(value, list):
        return [_without_controller(each) for each in value]
    if isinstance(value, dict):
        return {
            key: "a broker" if key == "controller_id" and each != -1 else _without_controller(each)
            for key, each in value.items()
        }
    return value


def _prepare(cluster: KafkaCluster) -> None:
    """Wait until all brokers are there, and let the first one be every coordinator."""
    nodes = list(cluster.brokers)
    with WireClient(cluster.brokers[FIRST].port, TIMEOUT_S) as wire:

        def are_there() -> bool:
            answer = wire.ask("Metadata", 12, topics=[], allow_auto_topic_creation=False)
            return len(answer["brokers"]) == len(nodes)

        eventually(are_there, "all brokers have joined", TIMEOUT_S)
        for name in COORDINATED:
            here = [{"partition_index": 0, "broker_ids": nodes}]
            compacted = [{"name": "cleanup.policy", "value": "compact"}]
            new = {"name": name, "num_partitions": -1, "replication_factor": -1}
            topic = {**new, "assignments": here, "configs": compacted}
            answer = wire.ask("CreateTopics", 7, timeout_ms=TIMEOUT_S * 1000, topics=[topic])
            assert not answer["topics"][0]["error_code"], answer
