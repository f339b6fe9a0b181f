"""Metrics of partitions: of all logs here, and of what this broker leads what clients and operators ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from odradek.broker.metadata.image import ImageDelta, MetadataImage, PartitionImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.broker.partitions.table import PartitionTable
from odradek.metrics.samples import Labels, Samples

_MANAGER = "kafka_server_replicamanager_"


@dataclass(slots=True)
class _Counts:
    """Numbers over all partitions."""

    led: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    reassigning: int = 0


class PartitionCollector:
    """Goes through the partitions of a broker, in small steps."""

    def __init__(self, partitions: PartitionTable, image: Callable[[], MetadataImage]) -> None:
        self._partitions = partitions
        self._image = image

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the metrics of partitions, those of one in each step."""
        counts = _Counts()
        waiting: set[int] = set()
        for partition in self._partitions.in_steps():
            waiting.update(map(id, partition.delayed_fetches))
            labels = partition.topic, str(partition.index)
            _of_log(samples, labels, partition)
            image = self._image().partition(partition.topic, partition.index)
            if image is not None and partition.role is Role.LEADER:
                counts.led += 1
                _count(counts, samples, labels, partition, image)
                _of_leader(samples, labels, partition, image)
            yield
        samples.add(f"{_MANAGER}partitioncount", self._partitions.replica_count)
        samples.add(f"{_MANAGER}leadercount", counts.led)
        samples.add(f"{_MANAGER}offlinereplicacount", self._partitions.offline_count)
        samples.add(f"{_MANAGER}underreplicatedpartitions", counts.under_replicated)
        samples.add(f"{_MANAGER}underminisrpartitioncount", counts.under_min_isr)
        samples.add(f"{_MANAGER}atminisrpartitioncount", counts.at_min_isr)
        samples.add(f"{_MANAGER}reassigningpartitions", counts.reassigning)
        samples.add("kafka_server_delayedoperationpurgatory_purgatorysize", len(waiting), "Fetch")


def _of_log(samples: Samples, labels: Labels, partition: Partition) -> None:
    log = partition.log
    samples.add_at(labels, "kafka_log_log_size", log.size)
    samples.add_at(labels, "kafka_log_log_logstartoffset", log.log_start_offset)
    samples.add_at(labels, "kafka_log_log_logendoffset", log.log_end_offset)
    samples.add_at(labels, "kafka_log_log_numlogsegments", len(log.segments))


def _count(counts: _Counts, samples: Samples, labels: Labels, partition: Partition, image: PartitionImage) -> None:
    in_sync, least = len(image.isr), min(partition.log.config.min_insync_replicas, len(image.replicas))
    counts.under_replicated += _is_under_replicated(image)
    counts.under_min_isr += in_sync < least
    counts.at_min_isr += in_sync == least
    counts.reassigning += bool(image.adding_replicas or image.removing_replicas)
    samples.add_at(labels, "kafka_cluster_partition_replicascount", len(image.replicas))
    samples.add_at(labels, "kafka_cluster_partition_insyncreplicascount", in_sync)
    samples.add_at(labels, "kafka_cluster_partition_underreplicated", int(_is_under_replicated(image)))
    samples.add_at(labels, "kafka_cluster_partition_underminisr", int(in_sync < least))
    samples.add_at(labels, "kafka_cluster_partition_atminisr", int(in_sync == least))


def _is_under_replicated(image: PartitionImage) -> bool:
    return len(image.isr) < len(image.replicas) - len(image.adding_replicas)


def _of_leader(samples: Samples, labels: Labels, partition: Partition, image: PartitionImage) -> None:
    prefix = "kafka_topic_partition_"
    samples.add_at(labels, f"{prefix}current_offset", partition.high_watermark)
    samples.add_at(labels, f"{prefix}oldest_offset", partition.log.log_start_offset)
    samples.add_at(labels, f"{prefix}leader", image.leader)
    samples.add_at(labels, f"{prefix}replicas", len(image.replicas))
    samples.add_at(labels, f"{prefix}in_sync_replica", len(image.isr))
    samples.add_at(labels, f"{prefix}leader_is_preferred", int(image.leader == image.replicas[0]))
    samples.add_at(labels, f"{prefix}under_replicated_partition", int(_is_under_replicated(image)))


class IsrCounts:
    """Counts how often the ISRs of partitions that this broker leads shrink and grow, by what the metadata says."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._shrinks = self._expands = 0

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Look at partitions that have changed."""
        for topic, index in delta.changed_partitions:
            before, after = old.partition(topic.name, index), new.partition(topic.name, index)
            if before is None or after is None or after.leader != self._node_id:
                continue
            self._shrinks += not set(before.isr) <= set(after.isr)
            self._expands += not set(after.isr) <= set(before.isr)

    def collect(self, samples: Samples, _now_s: float) -> Iterator[None]:
        """Add the counts."""
        samples.add(f"{_MANAGER}isrshrinks_total", self._shrinks)
        samples.add(f"{_MANAGER}isrexpands_total", self._expands)
        yield
