"""Names that public dashboards of Kafka ask for and that there is nothing to say of here, each with the reason."""

from collections.abc import Mapping
from typing import Final

NOT_THERE: Final[Mapping[str, str]] = {
    "kafka_network_socketserver_networkprocessoravgidle_percent": (
        "There are no threads for the network, one event loop does it all: see `odradek_loop_lag_seconds`."
    ),
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent": (
        "There are no threads for requests, one event loop does it all: see `odradek_loop_lag_seconds`."
    ),
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent": "As the one before, by Confluent's rules.",
    "kafka_network_socketserver_networkprocessoravgidlepercent": "As the one for the network, by Confluent's rules.",
    "kafka_network_requestchannel_requestqueuesize": "Requests do not queue, they wait in their sockets.",
    "kafka_network_requestmetrics_requestqueuetimems": "Requests do not queue, they wait in their sockets.",
    "kafka_network_requestmetrics_responsequeuetimems": "Responses do not queue, but for clients that do not read.",
    "kafka_log_log_tiersize": "There is no tiered storage.",
    "kafka_server_sessionexpirelistener_*": "There is no ZooKeeper.",
    "kafka_server_zookeeperclientmetrics_*": "There is no ZooKeeper.",
    "kafka_consumergroup_lag_zookeeper": "There is no ZooKeeper.",
    "kafka_consumergroupzookeeper_lag_zookeeper": "There is no ZooKeeper.",
    "jvm_*": "There is no JVM: see `process_*`.",
    "java_lang_*": "There is no JVM: see `process_*`.",
    "container_*": "Told by Kubernetes, not by a broker.",
    "kubelet_*": "Told by Kubernetes, not by a broker.",
}
"""By name, or by a beginning of names that ends in `*`."""
