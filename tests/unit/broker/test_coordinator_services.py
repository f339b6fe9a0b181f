"""When a coordinator is made: when it is first needed, which may be before anybody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.coordinator_services import CoordinatorServiceParts, CoordinatorServices
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.broker.partitions.table import PartitionTable
from odradek.config.loading import load_settings
from odradek.config.settings import BrokerSettings
from tests.unit.broker.coordinator.epochs import OTHER_NODE, EpochCoordinator
from tests.unit.broker.groups.coordinator_world import Cluster, topic_config
from tests.unit.broker.groups.shard_world import ManualFlusher
from tests.unit.broker.metadata.support import NODE


class LifeAlone:
    """A coordinator that notes what becomes of it."""

    def __init__(self) -> None:
        self.life: list[str] = []

    def start(self) -> None:
        """Note it."""
        self.life.append("started")

    def stop(self) -> None:
        """Note it."""
        self.life.append("stopped")

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Note it."""
        self.life.append("told")

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Note it."""
        self.life.append("settings")


class Services(CoordinatorServices[LifeAlone]):
    """Makes it."""

    def _make_coordinator(self, settings: BrokerSettings, topic: Callable[[int], CoordinatorTopic]) -> LifeAlone:
        return LifeAlone()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """For what the coordinator reads."""
    with ThreadPoolExecutor(1) as made:
        yield made


def services_of(cluster: Cluster, threads: ThreadPoolExecutor) -> Services:
    """Return the services of a broker that nobody has asked for a coordinator."""
    table = PartitionTable(NODE, cluster.logs, ManualFlusher(), topic_config, lambda _: None, lambda: 0.0)
    table.apply(MetadataImage(), cluster.source.image)
    cluster.source.watch(lambda old, new, _: table.apply(old, new))
    settings = load_settings(None, [])
    loop = asyncio.get_running_loop()
    made = Services(
        CoordinatorServiceParts(
            loop, threads, cluster.clock, lambda: settings, cluster.controller(), 1, table, lambda: cluster.source.image
        ),
        TRANSACTIONS_TOPIC,
    )
    cluster.source.watch(made.on_metadata)
    return made


async def test_the_coordinator_is_made_when_its_broker_comes_to_lead(threads: ThreadPoolExecutor) -> None:
    """A transaction whose producer is gone is aborted in time though nobody asks for it; other changes make nothing."""
    cluster = Cluster.new("other")
    asked = EpochCoordinator(cluster)  # has the topic made
    asked.move(OTHER_NODE)
    services = services_of(cluster, threads)
    lives = []
    for leader in (OTHER_NODE, OTHER_NODE, NODE, OTHER_NODE):
        asked.move(leader)
        lives.append(list(services.made.life) if services.made is not None else None)
    assert lives == [None, None, ["started"], ["started", "told"]]
    asked.stop()
