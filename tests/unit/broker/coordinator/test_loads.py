"""However a load fails, who asks is refused and not left waiting; it is said once, and tried until it succeeds."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from odradek.broker.coordinator import loads
from odradek.broker.coordinator.loader import Loader
from odradek.broker.coordinator.partition import CoordinatorPartition
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_commit
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.errors import StorageError
from tests.support.log_lines import LogLines
from tests.unit.broker.groups.coordinator_world import Cluster, RunningBroker

FAILURES = [
    CorruptRecord("the checksum is wrong"),
    StorageError("the disk has gone"),
    OSError(5, "Input/output error"),
    ValueError("nobody thought of this"),
    AssertionError(),
]


class World:
    """A broker whose groups are loaded, or cannot be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.logged = LogLines()
        monkeypatch.setattr(loads, "log", self.logged)
        monkeypatch.setattr(loads, "FIRST_RETRY_S", 0.001)
        monkeypatch.setattr(loads, "LAST_RETRY_S", 0.004)
        self.cluster = Cluster.new()
        before = RunningBroker(self.cluster)
        value = OffsetAndMetadata(5)
        assert (
            before.coordinator.shard("g").write_offsets([encode_commit(OffsetKey("g", "t", 0), value)])
            is ErrorCode.NONE
        )
        before.stop()
        self.broker = RunningBroker(self.cluster)

    def fail(self, where: str, failure: Exception, times: int) -> None:
        """Let a step of loading fail that often, where there is anything to load."""
        owner: type = CoordinatorPartition if where == "finish_loading" else Loader
        real: Callable[..., object] = getattr(owner, where)
        left = [times]

        def step(*args: object) -> object:
            partition = args[0]
            is_empty = isinstance(partition, CoordinatorPartition) and partition.writer.end == 0
            if left[0] and not is_empty:
                left[0] -= 1
                raise failure
            return real(*args)

        self.monkeypatch.setattr(owner, where, step)

    def ask(self) -> ErrorCode:
        """Return what somebody is told who wants the group's offset; it is the right one."""
        try:
            found = self.broker.coordinator.shard("g").offsets.get("g", "t", 0)
        except KafkaError as refused:
            return refused.code
        assert found is not None
        assert found.offset == 5
        return ErrorCode.NONE

    @property
    def errors(self) -> list[dict[str, object]]:
        """What was said of loads that failed."""
        return [line.fields for line in self.logged.lines if line.level == "error"]


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    made = World(monkeypatch)
    yield made
    made.broker.stop()


async def served(world: World) -> None:
    """Wait until the group is served."""
    async with asyncio.timeout(10):
        while world.ask() is not ErrorCode.NONE:
            await asyncio.sleep(0.001)


@pytest.fixture(params=[True, False], ids=["at once", "in the background"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the log is so short that a request waits for it."""
    if not request.param:
        monkeypatch.setattr(loads, "AT_ONCE_BYTES", 0)
    return bool(request.param)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("where", ["next_chunk", "take", "finish_loading"])
async def test_a_load_that_fails_is_said_once_and_tried_again(
    world: World, at_once: bool, where: str, failure: Exception
) -> None:
    """With the file and the place in it; whoever asks meanwhile is told to look for another coordinator."""
    world.fail(where, failure, times=4)
    world.broker.coordinator.start()
    codes = set()
    async with asyncio.timeout(10):
        while (code := world.ask()) is not ErrorCode.NONE:
            codes.add(code)
            await asyncio.sleep(0)
    assert codes <= {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    assert ErrorCode.NOT_COORDINATOR in codes
    [error] = world.errors
    assert "__consumer_offsets-" in str(error["place"])
    assert ".log at offset" in str(error["place"])
    assert type(failure).__name__ in str(error["reason"])
    assert world.logged.lines[-1].event == "a coordinator's partition is loaded after all" or not at_once


@pytest.mark.usefixtures("at_once")
async def test_other_partitions_are_served_although_one_is_not(world: World) -> None:
    """One partition that cannot be read does not hold up the others."""
    world.fail("finish_loading", ValueError("of one only"), times=1)
    world.broker.coordinator.start()
    async with asyncio.timeout(10):
        while not world.broker.coordinator.shards()[1]:
            await asyncio.sleep(0)
    await served(world)


async def test_a_stop_ends_the_trying(world: World) -> None:
    """No timer is left that would load for a broker that has gone."""
    world.fail("take", ValueError("always"), times=1 << 30)
    world.broker.coordinator.start()
    async with asyncio.timeout(10):
        while not world.errors:
            world.ask()
            await asyncio.sleep(0)
    world.broker.coordinator.stop()
    lines = len(world.logged.lines)
    await asyncio.sleep(0.02)
    assert len(world.logged.lines) == lines
    assert world.ask() is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_what_a_crash_left_is_served_when_it_is_on_the_disk(world: World) -> None:
    """With flush.messages, what was read back may not be: a power cut could still take it."""
    topic = world.broker.partitions.find("__consumer_offsets")
    assert topic is not None
    partitions = [partition for index in range(topic.count) if (partition := topic.get(index)) is not None]
    for partition in partitions:
        partition.high_watermark = 0
    world.broker.coordinator.start()
    for _ in range(10):
        assert world.ask() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await asyncio.sleep(0.002)
    for partition in partitions:
        partition.flushed()
    await served(world)
