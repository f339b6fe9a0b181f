"""Metrics and probes of a node, made of the settings: imported only where odradek.http.listener is set.

Part of the composition root: says what of a broker, and of a controller, is collected, and when it is ready.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.shared import SharedServer
from odradek.config.bind_errors import why_not_opened
from odradek.config.errors import ConfigError
from odradek.config.own_keys import HTTP_LISTENER
from odradek.metrics.samples import Samples

if TYPE_CHECKING:
    from odradek.broker.compaction.log_cleaner import LogCleaner
    from odradek.broker.group_services import GroupServices
    from odradek.broker.lifecycle.driver import LifecycleDriver
    from odradek.broker.monitoring.monitor import Monitor
    from odradek.broker.monitoring.traffic import TopicTraffic, Traffic
    from odradek.broker.partitions.table import PartitionTable
    from odradek.broker.replication.manager import ReplicaManager
    from odradek.broker.runtime.request_memory import RequestMemory
    from odradek.broker.servers.host import ServerNetwork
    from odradek.broker.transaction_services import TransactionServices

log = get_logger("broker")

NOT_INSTALLED = "needs the package prometheus-client, which is not installed: pip install 'odradek[metrics]'"
_ALONE_IN_STATE = 3
_TOPICS = "kafka_server_brokertopicmetrics_"


async def start_monitor(shared: SharedServer) -> Monitor | None:
    """Open the port for metrics and probes; None where none is set.

    Raises:
        ConfigError: a package is missing.
        OSError: the port cannot be opened; the message says why.
    """
    wanted = shared.settings.http_listener
    if wanted is None:
        return None
    try:
        from odradek.broker.monitoring.monitor import Monitor
    except ModuleNotFoundError as missing:
        if missing.name is None or not missing.name.startswith("prometheus_client"):
            raise
        values, origin = shared.settings.values, shared.settings.origin(HTTP_LISTENER)
        raise ConfigError(NOT_INSTALLED, key=HTTP_LISTENER, value=values.get(HTTP_LISTENER), origin=origin) from None
    from odradek import __version__

    monitor = Monitor(shared.loop, shared.host.executor("odradek-metrics", 1), __version__)
    try:
        port = await monitor.start(wanted.host, wanted.port)
    except OSError as failed:
        raise OSError(
            f"{HTTP_LISTENER}={shared.settings.values[HTTP_LISTENER]} cannot be opened: {why_not_opened(failed)}"
        ) from failed
    monitor.collect_on_thread(lambda samples: _of_directories(shared, samples))
    monitor.collect_on_thread(_of_disk)
    monitor.ready_unless(lambda: _unwritable(shared))
    log.info("metrics and probes", http=f"http://{f'[{wanted.host}]' if ':' in wanted.host else wanted.host}:{port}")
    return monitor


class BrokerSources(NamedTuple):
    """What of a broker is collected."""

    partitions: PartitionTable
    metadata: MetadataImages
    groups: GroupServices
    transactions: TransactionServices
    traffic: Traffic
    memory: RequestMemory
    network: ServerNetwork
    replicas: ReplicaManager | None
    """None for a broker that is in no cluster."""
    address: Callable[[], str]
    """Where its clients reach it."""


def collect_broker(monitor: Monitor, node_id: int, sources: BrokerSources) -> None:
    """Have everything of a broker collected."""
    from odradek.broker.monitoring.cluster import (
        ControllerCollector,
        MetadataCollector,
        QuorumCollector,
        UncleanElections,
    )
    from odradek.broker.monitoring.coordinators import GroupCollector, TransactionCollector
    from odradek.broker.monitoring.followers import FollowerCollector
    from odradek.broker.monitoring.partitions import IsrCounts, PartitionCollector

    def image() -> MetadataImage:
        return sources.metadata.image

    isr_counts = IsrCounts(node_id)
    sources.metadata.watch(isr_counts.on_metadata)
    monitor.collect(isr_counts.collect)
    monitor.collect(PartitionCollector(sources.partitions, image).collect)
    monitor.collect(lambda samples, _now_s: _traffic(sources.traffic, samples))
    monitor.collect(GroupCollector(sources.groups, sources.partitions).collect)
    monitor.collect(TransactionCollector(sources.transactions).collect)
    monitor.collect(FollowerCollector(sources.replicas).collect)
    is_alone = sources.replicas is None
    alone = (lambda: (node_id, sources.address())) if is_alone else None
    monitor.collect(MetadataCollector(image, alone).collect)
    monitor.collect(QuorumCollector(image).collect)
    if is_alone:
        monitor.collect(ControllerCollector(image, registers=False).collect)
        monitor.collect(UncleanElections().collect)  # a partition has one replica
    collect_requests(monitor, sources.memory)
    collect_network(monitor, sources.network)


def collect_running(monitor: Monitor, cleaner: LogCleaner, lifecycle: LifecycleDriver | None) -> None:
    """Have collected what there is once a broker serves."""

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        samples.add("odradek_compaction_rounds_total", cleaner.rounds)
        samples.add("odradek_compaction_failing_logs", cleaner.failing)
        state = lifecycle.state.value if lifecycle is not None else _ALONE_IN_STATE
        samples.add("kafka_server_kafkaserver_brokerstate", state)
        yield

    monitor.collect(collect)
    if lifecycle is not None:
        monitor.ready_unless(lambda: _not_in_cluster(lifecycle))
    monitor.serving(True)


def collect_controller(
    monitor: Monitor, metadata: MetadataImages, network: ServerNetwork, memory: RequestMemory | None
) -> None:
    """Have collected what a controller of a cluster knows; `memory` is None where a broker of the process tells that,
    and the rest of what every node knows."""
    from odradek.broker.monitoring.cluster import ControllerCollector, QuorumCollector, UncleanElections

    elections = UncleanElections()
    metadata.watch(elections.on_metadata)
    monitor.collect(elections.collect)
    monitor.collect(ControllerCollector(lambda: metadata.image, registers=True).collect)
    collect_network(monitor, network)
    if memory is not None:
        monitor.collect(QuorumCollector(lambda: metadata.image).collect)
        collect_requests(monitor, memory)


def collect_requests(monitor: Monitor, memory: RequestMemory) -> None:
    """Have the memory for requests collected."""

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        samples.add("odradek_request_memory_limit_bytes", memory.limit_bytes)
        samples.add_all("odradek_request_memory_bytes", memory.uses)
        samples.add("odradek_request_memory_waiting", memory.waiting)
        yield

    monitor.collect(collect)


def collect_network(monitor: Monitor, network: ServerNetwork) -> None:
    """Have the connections collected."""

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        for listener, (now, ever) in network.connection_counts.items():
            samples.add("kafka_server_socket_server_metrics_connection_count", now, listener, "0")
            samples.add("kafka_server_socket_server_metrics_connection_creation_total", ever, listener, "0")
        yield

    monitor.collect(collect)


def _traffic(traffic: Traffic, samples: Samples) -> Iterator[None]:
    total = traffic.total()
    for name, topic in (("", total), *traffic.by_topic.items()):
        labels = (name,) if name else ()
        for metric, value in _numbers(topic).items():
            samples.add(f"{_TOPICS}{metric}_total", value, *labels)
            samples.add(f"{_TOPICS}{metric}persec", value, *labels)
        yield
    samples.add(f"{_TOPICS}replicationbytesout_total", traffic.bytes_to_followers)
    samples.add("odradek_produce_batches_waited_total", traffic.waited)


def _numbers(topic: TopicTraffic) -> Mapping[str, int]:
    return {
        "messagesin": topic.messages_in,
        "bytesin": topic.bytes_in,
        "bytesout": topic.bytes_out,
        "totalproducerequests": topic.produces,
        "failedproducerequests": topic.failed_produces,
        "totalfetchrequests": topic.fetches,
        "failedfetchrequests": topic.failed_fetches,
    }


def _of_directories(shared: SharedServer, samples: Samples) -> None:
    """Ask the file systems, on a thread."""
    if not hasattr(shared, "directories"):
        return  # the node is not that far yet
    failed = 0
    for directory in shared.directories:
        path = os.path.abspath(directory.path)
        failed += bool(directory.failure)
        samples.add("kafka_log_logmanager_logdirectoryoffline", int(bool(directory.failure)), path)
        try:
            space = shared.fs.disk_space(directory.path)
        except OSError:
            continue
        samples.add("odradek_log_directory_free_bytes", space.usable, path)
        samples.add("odradek_log_directory_size_bytes", space.total, path)
    samples.add("kafka_log_logmanager_offlinelogdirectorycount", failed)


def _of_disk(samples: Samples) -> None:
    """Tell what the process reads from disks and writes to them, where the system says so."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            counted = dict(line.split(": ") for line in file.read().splitlines())
    except OSError:
        return
    samples.add("kafka_server_kafkaserver_linux_disk_read_bytes", int(counted["read_bytes"]))
    samples.add("kafka_server_kafkaserver_linux_disk_write_bytes", int(counted["write_bytes"]))


def _unwritable(shared: SharedServer) -> str | None:
    """Say which log directory cannot be written; asked on a thread."""
    for directory in shared.directories:
        if directory.failure:
            return f"log directory {directory.path} has failed: {directory.failure}"
        if not os.access(directory.path, os.W_OK):
            return f"log directory {directory.path} cannot be written"
    return None


def _not_in_cluster(lifecycle: LifecycleDriver) -> str | None:
    if lifecycle.state.name != "RUNNING":
        return f"the broker is {lifecycle.state.name.lower().replace('_', ' ')} in its cluster"
    return "the controller keeps this broker fenced: its heartbeats do not arrive" if lifecycle.is_fenced else None
