"""The coordinator makes its topic, knows which shard has a group, and serves what it has loaded."""

import asyncio
import itertools

import pytest

from odradek.broker.coordinator.effects import OperationResult
from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.groups.administration import expire
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import JoinRequest, SupportedProtocol
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_commit
from odradek.broker.groups.settings import consumer_settings
from odradek.broker.groups.shard import GROUPS_PER_SLICE, OFFSETS_PER_SLICE
from odradek.broker.metadata.image import ResourceType
from odradek.broker.runtime.deferred import Deferred
from odradek.config.loading import load_settings
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionChangeRecord
from tests.unit.broker.groups.coordinator_world import OFFSETS, Cluster, RunningBroker
from tests.unit.broker.metadata.support import NODE, record_of


def commit(coordinator: GroupCoordinator, group: str, offset: int, topic: str = "t") -> None:
    value = OffsetAndMetadata(offset, metadata="m" * 100)
    assert coordinator.shard(group).write_offsets([encode_commit(OffsetKey(group, topic, 0), value)]) is ErrorCode.NONE


def committed(coordinator: GroupCoordinator, group: str, topic: str = "t") -> int | None:
    found = coordinator.shard(group).offsets.get(group, topic, 0)
    return None if found is None else found.offset


async def test_the_topic_is_made_when_it_is_first_needed() -> None:
    """By who asks for the coordinator, with Kafka's configs, once; who does not ask is sent to do so."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster, is_prepared=False)
    broker.coordinator.start()
    with pytest.raises(KafkaError) as caught:
        broker.coordinator.shard("g")
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    assert cluster.source.image.topic(OFFSETS) is None
    broker.coordinator.prepare()
    broker.coordinator.prepare()
    topic = cluster.source.image.topic(OFFSETS)
    assert topic is not None
    assert len(topic.partitions) == 3
    assert cluster.source.image.config(ResourceType.TOPIC, OFFSETS) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    broker.stop()


async def test_where_the_topic_cannot_be_made_there_is_no_coordinator() -> None:
    """COORDINATOR_NOT_AVAILABLE, and the next request tries again."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster, is_prepared=False)
    cluster.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    unavailable = broker.coordinator.prepare()
    assert isinstance(unavailable, KafkaError)
    assert unavailable.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.source.fail_with = None
    assert broker.coordinator.prepare() is None
    broker.coordinator.shard("g")
    broker.stop()


async def test_a_group_lives_in_the_partition_of_its_name() -> None:
    """So that every broker and tool finds it."""
    broker = RunningBroker(Cluster.new())
    for name in ("a", "b", "group", ""):
        assert broker.coordinator.shard(name).writer.partition.index == partition_for(name, 3)
    broker.stop()


async def test_a_short_log_is_loaded_when_it_is_asked_for() -> None:
    """While the request waits: nobody is told to come again."""
    cluster = Cluster.new()
    before = RunningBroker(cluster)
    commit(before.coordinator, "g", 5)
    before.stop()
    after = RunningBroker(cluster)
    after.coordinator.start()
    assert committed(after.coordinator, "g") == 5
    assert after.coordinator.shards()[1]
    after.stop()


@pytest.fixture
def no_short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.broker.coordinator.loads.AT_ONCE_BYTES", 0)


@pytest.mark.usefixtures("no_short_logs")
async def test_a_long_log_is_loaded_in_the_background() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS meanwhile; what is listed meanwhile is said to be incomplete."""
    cluster = Cluster.new()
    before = RunningBroker(cluster)
    for offset in range(300):
        commit(before.coordinator, f"g{offset % 7}", offset)
    before.stop()
    after = RunningBroker(cluster)
    after.coordinator.start()
    with pytest.raises(KafkaError) as caught:
        after.coordinator.shard("g1")
    assert caught.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert not after.coordinator.shards()[1]
    async with asyncio.timeout(10):
        while not after.coordinator.shards()[1]:
            await asyncio.sleep(0.001)
    assert [committed(after.coordinator, f"g{i}") for i in range(7)] == [294, 295, 296, 297, 298, 299, 293]
    after.stop()


async def test_a_log_that_cannot_be_read_is_not_served() -> None:
    """NOT_COORDINATOR for its groups, and the others are served."""
    cluster = Cluster.new()
    before = RunningBroker(cluster)
    names = [next(n for n in map(str, range(100)) if partition_for(n, 3) == index) for index in range(3)]
    for name in names:
        commit(before.coordinator, name, 5)
    before.stop()
    after = RunningBroker(cluster)
    path = f"/data/{OFFSETS}-0/{0:020d}.log"
    data = bytearray(cluster.logs.files.read_bytes(path))
    data[-2] ^= 1
    cluster.logs.files.write_bytes(path, data)
    after.coordinator.start()
    with pytest.raises(KafkaError) as caught:
        after.coordinator.shard(names[0])
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    assert committed(after.coordinator, names[1]) == 5
    after.stop()


async def test_deleted_topics_take_their_offsets_with_them() -> None:
    """A topic of the same name that is made later begins without."""
    cluster = Cluster.new("t", "u")
    broker = RunningBroker(cluster)
    commit(broker.coordinator, "g", 5)
    commit(broker.coordinator, "g", 6, topic="u")
    topic = cluster.source.image.topic("t")
    assert topic is not None
    broker.controller.delete_topics([topic])
    assert committed(broker.coordinator, "g") is None
    assert committed(broker.coordinator, "g", "u") == 6
    broker.stop()


async def test_with_its_own_topic_everything_is_forgotten() -> None:
    """And a new one begins empty."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster)
    commit(broker.coordinator, "g", 5)
    old = broker.coordinator.shard("g")
    topic = cluster.source.image.topic(OFFSETS)
    assert topic is not None
    broker.controller.delete_topics([topic])
    broker.coordinator.prepare()
    assert old is not broker.coordinator.shard("g")
    assert not old.groups
    assert committed(broker.coordinator, "g") is None
    broker.stop()


async def test_a_broker_that_stops_coordinates_nothing() -> None:
    """COORDINATOR_NOT_AVAILABLE: the client looks for another."""
    broker = RunningBroker(Cluster.new())
    broker.coordinator.shard("g")
    broker.stop()
    with pytest.raises(KafkaError) as caught:
        broker.coordinator.shard("g")
    assert caught.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_expired_offsets_are_looked_for_in_all_shards() -> None:
    """Behind the call, without a further one."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster, "offsets.retention.minutes=1")
    for number in range(100):
        commit(broker.coordinator, f"g{number}", 5)
    cluster.clock.advance(61)
    broker.coordinator.expire_offsets()
    shards = broker.coordinator.shards()[0]
    assert len([shard for shard in shards if len(shard.offsets)]) == 3
    async with asyncio.timeout(10):
        while any(len(shard.offsets) for shard in shards):
            await asyncio.sleep(0.001)
    broker.stop()


async def test_expired_offsets_are_removed_a_few_groups_at_a_time() -> None:
    """Between two slices others have their turn, however many groups there are."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster, "offsets.topic.num.partitions=1")
    shard = broker.coordinator.shard("g")
    for number in range(100):
        commit(broker.coordinator, f"g{number}", 5)
    cluster.clock.advance(61)
    left = [100, *(len(shard.offsets) for _ in expire(shard, 60_000)), len(shard.offsets)]
    assert left[-1] == 0
    assert max(before - after for before, after in itertools.pairwise(left)) <= GROUPS_PER_SLICE
    broker.stop()


async def test_expired_offsets_of_one_group_are_removed_a_few_at_a_time() -> None:
    """However many it has; the group goes with the last of them."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster, "offsets.topic.num.partitions=1")
    shard = broker.coordinator.shard("g")
    keys = [OffsetKey("g", "t", partition) for partition in range(3 * OFFSETS_PER_SLICE)]
    for key in keys:
        assert shard.write_offsets([encode_commit(key, OffsetAndMetadata(5, metadata=""))]) is ErrorCode.NONE
    cluster.clock.advance(61)
    left = [len(shard.offsets), *(len(shard.offsets) for _ in expire(shard, 60_000)), len(shard.offsets)]
    assert left[-1] == 0
    assert max(before - after for before, after in itertools.pairwise(left)) <= OFFSETS_PER_SLICE
    assert "g" not in shard.groups
    broker.stop()


async def test_a_group_may_have_configs_of_its_own() -> None:
    """Within the bounds that the broker sets, from the next event on."""
    cluster = Cluster.new("t")
    broker = RunningBroker(cluster)
    settings_of = broker.coordinator.shard("g").services.consumer_settings
    assert settings_of("g").session_timeout_ms == 45_000
    for key, text in (("consumer.session.timeout.ms", "50000"), ("consumer.heartbeat.interval.ms", "1")):
        record = ConfigRecord(resource_type=ResourceType.GROUP, resource_name="g", name=key, value=text)
        cluster.source.propose([record_of(record)], cluster.source.image)
    assert settings_of("g").session_timeout_ms == 50_000
    assert settings_of("g").heartbeat_interval_ms == 5000
    assert settings_of("other").session_timeout_ms == 45_000
    broker.stop()


@pytest.mark.parametrize(
    ("policy", "up", "down"),
    [("bidirectional", True, True), ("UPGRADE", True, False), ("downgrade", False, True), ("disabled", False, False)],
)
def test_the_migration_policy_says_which_way_groups_may_go(policy: str, up: bool, down: bool) -> None:
    """group.consumer.migration.policy, in any case."""
    settings = consumer_settings(load_settings(None, [f"group.consumer.migration.policy={policy}"]))
    assert (settings.may_upgrade, settings.may_downgrade) == (up, down)


async def test_groups_go_with_the_leadership_of_their_partition_and_come_back_with_it() -> None:
    """Who waits is told NOT_COORDINATOR, and so is who asks, until this broker leads again."""
    cluster = Cluster.new()
    broker = RunningBroker(cluster)
    commit(broker.coordinator, "g", 5)
    shard = broker.coordinator.shard("g")
    now = cluster.clock.now_ms()
    joining = JoinRequest("", None, "c", "/h", 10_000, 20_000, "consumer", (SupportedProtocol("range", b""),), 3, "id")
    group = shard.classic_group("g", now)
    assert isinstance(group, ClassicGroup)
    answer = shard.ask(group, lambda token: group.join(joining, token, now))
    assert isinstance(answer, Deferred)
    told: list[OperationResult] = []
    answer.on_done(told.append)
    move_offsets(cluster, NODE + 1)
    assert [one.error for one in told] == [ErrorCode.NOT_COORDINATOR]
    with pytest.raises(KafkaError) as caught:
        broker.coordinator.shard("g")
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    move_offsets(cluster, NODE)
    assert committed(broker.coordinator, "g") == 5
    assert broker.coordinator.shard("g") is not shard
    broker.stop()


def move_offsets(cluster: Cluster, leader: int) -> None:
    """Let a broker lead all partitions of the topic of committed offsets."""
    topic = cluster.source.image.topic(OFFSETS)
    assert topic is not None
    moved = (PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=leader) for index in range(3))
    cluster.source.propose([record_of(record) for record in moved], cluster.source.image)
