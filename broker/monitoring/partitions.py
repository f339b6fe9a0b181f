"""Metrics of partitions: of all logs here, and of what this broker leads what clients and operators ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from odradek.broker.metadata.image import ImageDelta, MetadataImage, PartitionImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.broker.partitions.table import PartitionTable
from odradek.metrics.samples import Samples

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
            self._of_log(samples, partition)
            image = self._image().partition(partition.topic, partition.index)
            if image is not None and partition.role is Role.LEADER:
                counts.led += 1
                _count(counts, samples, partition, image)
                _of_leader(samples, partition, image)
            yield
        samples.add(f"{_MANAGER}partitioncount", self._partitions.replica_count)
        samples.add(f"{_MANAGER}leadercount", counts.led)
        samples.add(f"{_MANAGER}offlinereplicacount", self._partitions.offline_count)
        samples.add(f"{_MANAGER}underreplicatedpartitions", counts.under_replicated)
        samples.add(f"{_MANAGER}underminisrpartitioncount", counts.under_min_isr)
        samples.add(f"{_MANAGER}atminisrpartitioncount", counts.at_min_isr)
        samples.add(f"{_MANAGER}reassigningpartitions", counts.reassigning)
        samples.add("kafka_server_delayedoperationpurgatory_purgatorysize", len(waiting), "Fetch")

    def _of_log(self, samples: Samples, partition: Partition) -> None:
        log, labels = partition.log, (partition.topic, str(partition.index))
        samples.add("kafka_log_log_size", log.size, *labels)
        samples.add("kafka_log_log_logstartoffset", log.log_start_offset, *labels)
        samples.add("kafka_log_log_logendoffset", log.log_end_offset, *labels)
        samples.add("kafka_log_log_numlogsegments", len(log.segments), *labels)


def _count(counts: _Counts, samples: Samples, partition: Partition, image: PartitionImage) -> None:
    in_sync, least = len(image.isr), min(partition.log.config.min_insync_replicas, len(image.replicas))
    counts.under_replicated += _is_under_replicated(image)
    counts.under_min_isr += in_sync < least
    counts.at_min_isr += in_sync == least
    counts.reassigning += bool(image.adding_replicas or image.removing_replicas)
    labels = partition.topic, str(partition.index)
    samples.add("kafka_cluster_partition_replicascount", len(image.replicas), *labels)
    samples.add("kafka_cluster_partition_insyncreplicascount", in_sync, *labels)
    samples.add("kafka_cluster_partition_underreplicated", int(_is_under_replicated(image)), *labels)
    samples.add("kafka_cluster_partition_underminisr", int(in_sync < least), *labels)
    samples.add("kafka_cluster_partition_atminisr", int(in_sync == least), *labels)


def _is_under_replicated(image: PartitionImage) -> bool:
    return len(image.isr) < len(image.replicas) - len(image.adding_replicas)


def _of_leader(samples: Samples, partition: Partition, image: PartitionImage) -> None:
    labels = partition.topic, str(partition.index)
    prefix = "kafka_topic_partition_"
    samples.add(f"{prefix}current_offset", partition.high_watermark, *labels)
    samples.add(f"{prefix}oldest_offset", partition.log.log_start_offset, *labels)
    samples.add(f"{prefix}leader", image.leader, *labels)
    samples.add(f"{prefix}replicas", len(image.replicas), *labels)
    samples.add(f"{prefix}in_sync_replica", len(image.isr), *labels)
    samples.add(f"{prefix}leader_is_preferred", int(image.leader == image.replicas[0]), *labels)
    samples.add(f"{prefix}under_replicated_partition", int(_is_under_replicated(image)), *labels)


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
