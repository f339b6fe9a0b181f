"""A group coordinator on metadata and logs in memory, and its handlers: what tests of both share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from uuid import UUID

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.topics import NewTopic
from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import ThisNode
from odradek.config.loading import load_settings
from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.storage.deletions import PendingDeletions
from odradek.storage.directories.log_checkpoints import Forgetting
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from odradek.storage.opening.loader import Opening, open_log
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.groups.shard_world import ManualFlusher
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource

OFFSETS = "__consumer_offsets"


class MemoryLogs:
    """The part of the log manager that the table needs, without a disk."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.files.mkdir("/data")

    def get_or_create(self, tp: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        """Open the log, as after a kill of the process."""
        directory = f"/data/{tp.topic}-{tp.partition}"
        if not self.files.exists(directory):
            self.files.mkdir(directory)
        opening = Opening(tp, directory, config, 0, False, 0, 0, topic_id)
        return open_log(self.files, opening, PendingDeletions(self.files))[0]

    def delete(self, tp: TopicPartition) -> None:
        """Forget the files."""
        self.files.rmtree(f"/data/{tp.topic}-{tp.partition}")

    def is_outdated(self, tp: TopicPartition) -> bool:
        """There are no checkpoints."""
        return False

    def forget_outdated(self) -> Forgetting:
        """There is nothing to forget."""
        return Forgetting(lambda: None, lambda: None)


def topic_config(overrides: Mapping[str, str]) -> TopicConfig:
    """Return the config of a topic with these configs, its segments small."""
    return replace(kafka_defaults(), segment_bytes=1 << 20).with_overrides(overrides)


@dataclass
class Cluster:
    """What outlives the broker: its metadata and its files."""

    source: MemorySource
    logs: MemoryLogs
    clock: ManualClock

    @classmethod
    def new(cls, *topics: str) -> Cluster:
        """Return a cluster with topics of three partitions."""
        cluster = cls(MemorySource(), MemoryLogs(), ManualClock())
        for topic in topics:
            cluster.controller().create_topics([NewTopic(topic, 3, 1)])
        return cluster

    def controller(self) -> Controller:
        """Return what changes the metadata."""
        return Controller(self.source, RULES, BrokerConfigs(self.source, NODE, {}), ONE_BROKER)


class RunningBroker:
    """As much of a broker as groups need; to be made inside a running loop."""

    def __init__(self, cluster: Cluster, *overrides: str, is_prepared: bool = True) -> None:
        """`is_prepared`: somebody has asked for the coordinator before, so that its topic is there."""
        self.cluster = cluster
        self.partitions = PartitionTable(NODE, cluster.logs, ManualFlusher(), topic_config, lambda _: None, lambda: 0.0)
        self.partitions.apply(MetadataImage(), cluster.source.image)
        self.partitions.open_all()
        cluster.source.watch(lambda old, new, _: self.partitions.apply(old, new))
        self.controller = cluster.controller()
        self.threads = ThreadPoolExecutor(1)
        settings = load_settings(None, ["offsets.topic.num.partitions=3", *overrides])
        self.coordinator = GroupCoordinator(
            asyncio.get_running_loop(),
            self.threads,
            cluster.clock,
            settings,
            CoordinatorTopic(OFFSETS, 1, self.controller, self.partitions, settings),
            lambda: cluster.source.image,
        )
        cluster.source.watch(self.coordinator.on_metadata)
        self.node = ThisNode(NODE, "cluster", None, lambda context: (context.local_host, context.local_port))
        if is_prepared:
            self.coordinator.prepare()

    def stop(self) -> None:
        """Stop it."""
        self.coordinator.stop()
        self.threads.shutdown()
