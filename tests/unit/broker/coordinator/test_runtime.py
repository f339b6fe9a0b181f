"""What a coordinator of any kind can rely on: it is where its partition leads, it keeps what it said, it answers once.

Driven by a kind that is not groups, see `epochs`.
"""

from __future__ import annotations

import asyncio

import pytest

from odradek.broker.coordinator import loads
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.coordinator.epochs import LONGEST_WAIT_MS, OTHER_NODE, EpochCoordinator, Told
from tests.unit.broker.groups.coordinator_world import Cluster
from tests.unit.broker.metadata.support import NODE


def code_of(coordinator: EpochCoordinator, name: str) -> ErrorCode:
    """Return what somebody is told who asks for a name."""
    try:
        coordinator.runtime.shard(name)
    except KafkaError as refused:
        return refused.code
    return ErrorCode.NONE


async def test_what_was_written_is_there_after_a_restart() -> None:
    """The records are all there is."""
    cluster = Cluster.new()
    before = EpochCoordinator(cluster)
    assert before.bump("a") == Told(ErrorCode.NONE, 1)
    assert before.bump("a") == Told(ErrorCode.NONE, 2)
    before.stop()
    after = EpochCoordinator(cluster)
    assert after.bump("a") == Told(ErrorCode.NONE, 3)
    after.stop()


async def test_who_waits_is_answered_by_another_s_request_or_by_time() -> None:
    """Exactly once; the timer of what was answered is gone."""
    coordinator = EpochCoordinator(Cluster.new())
    first = coordinator.wait("a")
    coordinator.bump("a")
    assert first == [Told(ErrorCode.NONE, 1)]
    second = coordinator.wait("a")
    coordinator.scheduler.advance(LONGEST_WAIT_MS / 1000)
    assert second == [Told(ErrorCode.REQUEST_TIMED_OUT)]
    assert coordinator.scheduler.pending == 0
    coordinator.stop()
    assert (len(first), len(second)) == (1, 1)


async def test_a_partition_that_another_broker_leads_is_unloaded() -> None:
    """Who waits and who asks is told to look for the coordinator; no timer is left."""
    coordinator = EpochCoordinator(Cluster.new())
    waiting = coordinator.wait("a")
    coordinator.move(OTHER_NODE)
    assert waiting == [Told(ErrorCode.NOT_COORDINATOR)]
    assert code_of(coordinator, "a") is ErrorCode.NOT_COORDINATOR
    assert coordinator.scheduler.pending == 0
    assert coordinator.runtime.shards() == ([], True)
    coordinator.stop()


async def test_who_comes_to_lead_loads_though_nobody_has_ever_asked_him() -> None:
    """What is to be done in time is in what is loaded."""
    cluster = Cluster.new()
    before = EpochCoordinator(cluster)
    before.bump("a")
    before.move(OTHER_NODE)
    before.stop()
    after = EpochCoordinator(cluster, is_prepared=False)
    after.move(NODE)
    async with asyncio.timeout(10):
        while not (after.runtime.shards()[0] and after.runtime.shards()[1]):
            await asyncio.sleep(0.001)
    assert [name for shard in after.runtime.shards()[0] for name in shard.epochs] == ["a"]
    after.stop()


async def test_a_partition_that_comes_back_is_loaded_without_being_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """COORDINATOR_LOAD_IN_PROGRESS until that is done; then all that any leader wrote is there."""
    monkeypatch.setattr(loads, "AT_ONCE_BYTES", 0)
    coordinator = EpochCoordinator(Cluster.new())
    coordinator.bump("a")
    coordinator.move(OTHER_NODE)
    coordinator.move(NODE)
    assert code_of(coordinator, "a") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    async with asyncio.timeout(10):
        while not coordinator.runtime.shards()[1]:
            await asyncio.sleep(0.001)
    assert len(coordinator.runtime.shards()[0]) == 2
    assert coordinator.bump("a") == Told(ErrorCode.NONE, 2)
    coordinator.stop()


async def test_a_leadership_that_goes_during_the_load_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was read serves."""
    monkeypatch.setattr(loads, "AT_ONCE_BYTES", 0)
    cluster = Cluster.new()
    before = EpochCoordinator(cluster)
    before.bump("a")
    before.stop()
    coordinator = EpochCoordinator(cluster)
    coordinator.runtime.start()
    assert code_of(coordinator, "a") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await asyncio.sleep(0)
    coordinator.move(OTHER_NODE)
    for _ in range(20):
        assert code_of(coordinator, "a") is ErrorCode.NOT_COORDINATOR
        await asyncio.sleep(0.001)
    coordinator.stop()


async def test_a_new_epoch_of_the_same_leader_changes_nothing() -> None:
    """What is loaded stays loaded, and who waits goes on waiting."""
    coordinator = EpochCoordinator(Cluster.new())
    waiting = coordinator.wait("a")
    coordinator.move(NODE)
    assert waiting == []
    coordinator.bump("a")
    assert waiting == [Told(ErrorCode.NONE, 1)]
    coordinator.stop()


async def test_a_write_that_is_not_safe_when_the_leadership_goes_is_refused() -> None:
    """It may never be: the next leader may not have it."""
    coordinator = EpochCoordinator(Cluster.new())
    coordinator.runtime.prepare()
    topic = coordinator.partitions.find(TRANSACTIONS_TOPIC)
    assert topic is not None
    for index in range(topic.count):
        partition = topic.get(index)
        assert partition is not None
        partition._flush_messages = 1
    answer = coordinator.bump("a")
    assert isinstance(answer, Deferred)
    told: list[object] = []
    answer.on_done(told.append)
    assert told == []
    coordinator.move(OTHER_NODE)
    assert [getattr(one, "error", None) for one in told] == [ErrorCode.NOT_COORDINATOR]
    coordinator.flusher.flush()
    assert len(told) == 1
    coordinator.stop()


async def test_what_is_to_be_done_with_every_shard_is_done_with_those_that_load_when_they_serve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And never with one that is closed before."""
    monkeypatch.setattr(loads, "AT_ONCE_BYTES", 0)
    cluster = Cluster.new()
    before = EpochCoordinator(cluster)
    before.bump("a")
    index = before.runtime.shard("a").writer.partition.index
    before.stop()
    coordinator = EpochCoordinator(cluster)
    coordinator.runtime.start()
    seen: list[int] = []
    coordinator.runtime.when_active(lambda shard: seen.append(shard.writer.partition.index))
    assert seen == [1 - index]
    async with asyncio.timeout(10):
        while not coordinator.runtime.shards()[1]:
            await asyncio.sleep(0.001)
    assert seen == [1 - index, index]
    coordinator.stop()
