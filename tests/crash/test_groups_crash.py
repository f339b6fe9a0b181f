"""The power fails in the k-th file operation of a shard of groups, for every k: what was acknowledged is there, and no
group is half there.

What there is after each step is learned from a run without a crash. After a crash in step n there must be what was
there after step n - 1, which was acknowledged, or all that step n does as well: nothing in between, nothing else.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest

from odradek.broker.coordinator.effects import Effects, OperationResult, Token
from odradek.broker.groups.administration import delete_group, expire, remove_offsets
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import JoinRequest, JoinResult, LeavingMember, SupportedProtocol, SyncRequest
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.heartbeat import ClientInfo, ConsumerHeartbeatResult
from odradek.broker.groups.group import Group
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.consumer_group import image_of
from tests.support.memory_files import MemoryFiles, SimulatedCrash
from tests.unit.broker.groups.shard_world import World, offsets_of

SEEDS = range(2)
CLIENT = ClientInfo("tests", "/127.0.0.1")

Step = Callable[[World], None]


def _flush(world: World) -> None:
    while world.flusher.wanted:
        world.flusher.flush()


def _done(world: World, outcome: object) -> object:
    """Wait until what was done is safe, and return how it went."""
    told: list[object] = [] if isinstance(outcome, Deferred) else [outcome]
    if isinstance(outcome, Deferred):
        outcome.on_done(told.append)
    _flush(world)
    assert len(told) == 1, "everything is answered once it is safe"
    return told[0]


def _ask(world: World, group: Group, event: Callable[[Token], Effects]) -> OperationResult:
    answer = _done(world, world.shard.ask(group, event))
    assert answer.error is ErrorCode.NONE  # type: ignore[attr-defined]  # an Result
    return answer  # type: ignore[return-value]  # as above


def commit_one(world: World, group: str, offset: int) -> None:
    """Commit one partition."""
    assert _done(world, world.commit(group, 0, offset)) is ErrorCode.NONE


def join_classic(world: World) -> None:
    """A member joins a classic group, and is given a part."""
    group = world.shard.classic_group("classic", world.clock.now_ms())
    assert isinstance(group, ClassicGroup)
    protocols = (SupportedProtocol("range", b"what it wants"),)
    joining = JoinRequest("", None, "c", "/h", 10_000, 10_000, "consumer", protocols, 3, "id")
    waiting = world.shard.ask(group, lambda token: group.join(joining, token, world.clock.now_ms()))
    assert isinstance(waiting, Deferred)
    told: list[OperationResult] = []
    waiting.on_done(told.append)
    _flush(world)
    world.scheduler.advance(3)
    _flush(world)
    [joined] = told
    assert isinstance(joined, JoinResult)


def sync_classic(world: World) -> None:
    """The only member of the classic group hands in the assignment."""
    group = world.shard.groups["classic"]
    assert isinstance(group, ClassicGroup)
    [member_id] = group.members
    syncing = SyncRequest(member_id, None, group.generation, None, None, {member_id: b"its part"})
    _ask(world, group, lambda token: group.sync(syncing, token))


def leave_classic(world: World) -> None:
    """The member leaves."""
    group = world.shard.groups["classic"]
    assert isinstance(group, ClassicGroup)
    [member_id] = group.members
    _ask(world, group, lambda token: group.leave([LeavingMember(member_id)], token, world.clock.now_ms()))


def beat(world: World, member_id: str, epoch: int) -> None:
    """A member of a consumer group joins, goes on or leaves."""
    group = world.shard.consumer_group("consumer", create=True)
    assert group is not None
    consumer = group
    request = ConsumerGroupHeartbeatRequest(group_id="consumer", member_id=member_id, member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms, request.subscribed_topic_names, request.topic_partitions = 10_000, ["t"], []
    elif epoch > 0:
        request.member_epoch, request.topic_partitions = consumer.state.members[member_id].epoch, []
    answer = _ask(world, consumer, lambda token: consumer.heartbeat(request, CLIENT, token, world.clock.now_ms()))
    assert isinstance(answer, ConsumerHeartbeatResult)


def delete(world: World, group: str) -> None:
    """Delete a group with all its offsets."""
    assert _done(world, delete_group(world.shard, group)) is ErrorCode.NONE


def delete_offsets(world: World, group: str) -> None:
    """Delete an offset of a group."""
    assert _done(world, remove_offsets(world.shard, group, [("t", 0)])) == {("t", 0): ErrorCode.NONE}


def expire_all(world: World, group: str) -> None:
    """Let an offset of the group expire, with the group."""
    shard = world.shard
    others = {name: found for name, found in shard.groups.items() if name != group}
    for name in others:
        del shard.groups[name]
    world.clock.advance(1)
    list(expire(shard, 0))
    shard.groups.update(others)
    _flush(world)


STEPS: list[Step] = [
    partial(commit_one, group="g", offset=1),
    partial(commit_one, group="h", offset=5),
    join_classic,
    sync_classic,
    partial(commit_one, group="classic", offset=7),
    partial(beat, member_id="a", epoch=0),
    partial(beat, member_id="b", epoch=0),
    partial(beat, member_id="a", epoch=1),
    partial(beat, member_id="b", epoch=1),
    partial(commit_one, group="g", offset=2),
    partial(delete_offsets, group="h"),
    leave_classic,
    partial(beat, member_id="a", epoch=-1),
    partial(commit_one, group="k", offset=3),
    partial(delete, group="classic"),
    partial(commit_one, group="g", offset=3),
    partial(expire_all, group="k"),
    partial(commit_one, group="g", offset=4),
]


def _world(files: MemoryFiles) -> World:
    return World(files=files, flush_messages=1, segment_bytes=1500, image=image_of({"t": 4}))


def _seen(world: World) -> object:
    """Return all that a shard knows which is loaded from the log as it is."""
    shard = world.coordinate(world.shard.services).shard
    groups: dict[str, object] = {}
    for name, group in shard.groups.items():
        groups[name] = group.describe()
        if isinstance(group, ConsumerGroup):
            groups[name] = (group.describe(), dict(group.state.targets), dict(group.state.owners))
    offsets = {name: offsets_of(shard.offsets, name) for name in shard.offsets.groups}
    return groups, offsets


def _run(files: MemoryFiles, after: Callable[[World], None]) -> None:
    """Do all steps, and call `after` the start and after each."""
    world = _world(files)
    _flush(world)
    for directory in ("/", "/data"):
        files.sync_dir(directory)
    after(world)
    for step in STEPS:
        step(world)
        after(world)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_at_any_operation_takes_nothing_that_was_acknowledged(seed: int) -> None:
    """And leaves nothing by halves; the shard goes on from there."""
    expected: list[object] = []
    calm = MemoryFiles(seed)
    _run(calm, lambda world: expected.append(_seen(world)))
    assert len(expected) == len(STEPS) + 1
    assert all(before != after for before, after in pairwise(expected)), "each step counts"
    crashes = 0
    for crash_at in range(calm.operations):
        files = MemoryFiles(seed + 100 * crash_at, crash_at)
        done = [-1]

        def note(_: World, done: list[int] = done) -> None:
            done[0] += 1

        with pytest.raises(SimulatedCrash):
            _run(files, note)
        if done[0] < 0:
            continue
        crashes += 1
        world = _world(files.crash())
        _flush(world)
        assert _seen(world) in expected[done[0] : done[0] + 2], (crash_at, done[0])
        commit_one(world, "after", 9)
        world.restart()
        found = world.shard.offsets.get("after", "t", 0)
        assert found is not None
        assert found.offset == 9
    assert crashes > len(STEPS)
