"""Metrics of the cluster as the metadata has it: what the active controller and clients are told of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from odradek import __version__
from odradek.broker.metadata.image import NO_LEADER, ImageDelta, MetadataImage
from odradek.metrics.samples import Samples

_CONTROLLER = "kafka_controller_kafkacontroller_"
AT_ONCE = 1_000
"""Partitions that are looked at in one step."""


class ControllerCollector:
    """What the active controller of a cluster knows, where it is in this process."""

    def __init__(self, image: Callable[[], MetadataImage], registers: bool) -> None:
        """`registers` is whether brokers register; a node that is alone does not."""
        self._image = image
        self._registers = registers

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the metrics of the controller."""
        image = self._image()
        partitions = offline = not_preferred = 0
        for topic in image.topics_by_id.values():
            for first in range(0, len(topic.partitions), AT_ONCE):
                some = topic.partitions[first : first + AT_ONCE]
                partitions += len(some)
                offline += sum(one.leader == NO_LEADER for one in some)
                not_preferred += sum(one.leader != one.replicas[0] for one in some)
                yield
        fenced = sum(one.fenced for one in image.brokers.values()) if self._registers else 0
        samples.add(f"{_CONTROLLER}activecontrollercount", 1)
        samples.add(f"{_CONTROLLER}offlinepartitionscount", offline)
        samples.add(f"{_CONTROLLER}preferredreplicaimbalancecount", not_preferred)
        samples.add(f"{_CONTROLLER}globaltopiccount", len(image.topics_by_id))
        samples.add(f"{_CONTROLLER}globalpartitioncount", partitions)
        samples.add(f"{_CONTROLLER}activebrokercount", len(image.brokers) - fenced if self._registers else 1)
        samples.add(f"{_CONTROLLER}fencedbrokercount", fenced)
        samples.add(f"{_CONTROLLER}lastappliedrecordoffset", image.offset - 1)


class UncleanElections:
    """Counts the elections of leaders that had not everything, by what the metadata says, as Kafka does."""

    def __init__(self) -> None:
        self._count = 0

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Look at partitions that have changed."""
        for topic, index in delta.changed_partitions:
            before, after = old.partition(topic.name, index), new.partition(topic.name, index)
            if before is None or after is None or after.leader in (NO_LEADER, before.leader):
                continue
            self._count += after.leader not in (*before.isr, *before.eligible_leader_replicas)

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the count."""
        samples.add("kafka_controller_controllerstats_uncleanleaderelections_total", self._count)
        yield


class MetadataCollector:
    """What every broker knows of the cluster."""

    def __init__(self, image: Callable[[], MetadataImage], alone: Callable[[], tuple[int, str]] | None = None) -> None:
        """`alone` gives id and address of a broker that is in no cluster, and not registered."""
        self._image = image
        self._alone = alone

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add topics and brokers."""
        samples.add("kafka_exporter_build_info", 1, __version__)
        image = self._image()
        for topic in image.topics_by_id.values():
            samples.add("kafka_topic_partitions", len(topic.partitions), topic.name)
            yield
        if self._alone is not None:
            node_id, own_address = self._alone()
            samples.add("kafka_brokers", 1)
            samples.add("kafka_broker_info", 1, str(node_id), own_address)
            return
        alive = [one for one in image.brokers.values() if not one.fenced]
        samples.add("kafka_brokers", len(alive))
        for broker in alive:
            for endpoint in broker.endpoints[:1]:
                address = f"{endpoint.host}:{endpoint.port}"
                samples.add("kafka_broker_info", 1, str(broker.broker_id), address)


class QuorumCollector:
    """How far the metadata is here."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add epoch and offset."""
        image = self._image()
        samples.add("kafka_server_raft_metrics_current_epoch", image.epoch)
        samples.add("kafka_server_raft_metrics_high_watermark", image.offset)
        yield
