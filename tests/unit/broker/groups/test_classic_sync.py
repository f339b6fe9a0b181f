"""How the assignment of a classic group comes in and goes out, and what is written of it."""

from __future__ import annotations

import pytest

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import SyncResult
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataKey
from tests.unit.broker.groups.classic_world import RANGE, REBALANCE_MS, SESSION_MS, World


def generation(world: World, size: int) -> list[str]:
    """Bring an empty group to its first generation and return the ids, the leader's first."""
    joins = [world.join(version=3) for _ in range(size)]
    world.pass_time(6_000)
    return [request.joined.member_id for request in joins]


def test_all_wait_for_the_leader() -> None:
    """SyncGroup requests are parked until the leader's comes; then each gets its own part."""
    world = World()
    leader, second, third = generation(world, 3)
    waiting = world.sync(second)
    assert waiting.parked
    own = world.sync(leader, {leader: b"1", second: b"2"})
    assert own.synced == SyncResult(ErrorCode.NONE, "consumer", "range", b"1")
    assert waiting.synced.assignment == b"2"
    late = world.sync(third)
    assert late.synced == SyncResult(ErrorCode.NONE, "consumer", "range", b"")
    assert world.state is ClassicGroupState.STABLE


def test_what_followers_send_is_ignored() -> None:
    """Only the leader's assignment counts, and only for members."""
    world = World()
    leader, second = generation(world, 2)
    world.sync(second, {second: b"all mine"})
    own = world.sync(leader, {second: b"2", "nobody": b"x"})
    assert own.synced.assignment == b""
    assert [(member.member_id, member.assignment) for member in world.last_value.members] == [
        (leader, b""),
        (second, b"2"),
    ]


def test_record_tells_the_whole_generation() -> None:
    """What is written when the leader's assignment comes is all that a restart needs."""
    world = World()
    (leader,) = world.stable(1, ("here",))
    assert world.log[-1].key == GroupMetadataKey(group="g")
    value = world.last_value
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("consumer", 1, "range", leader)
    assert value.current_state_timestamp > 0
    (member,) = value.members
    assert (member.member_id, member.group_instance_id) == (leader, "here")
    assert (member.client_id, member.client_host) == ("c", "/127.0.0.1")
    assert (member.session_timeout, member.rebalance_timeout) == (SESSION_MS, REBALANCE_MS)
    assert (member.subscription, member.assignment) == (RANGE[0].metadata, b"part of 0")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "nowhere"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "instance": "here"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
        ({"instance": "here"}, ErrorCode.NONE),
    ],
)
def test_who_may_ask(fields: dict[str, object], error: ErrorCode) -> None:
    """SyncGroup is for members of the current generation that know its protocol."""
    world = World()
    (leader,) = world.stable(1, ("here",))
    request = world.sync(**{"member_id": leader, **fields})  # type: ignore[arg-type]  # fields of the tests
    assert request.synced.error is error


def test_sync_while_members_join() -> None:
    """During PreparingRebalance there is no assignment to ask for."""
    world = World()
    leader, follower = world.stable(2)
    world.join(leader)
    assert world.sync(follower).synced == SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)


def test_sync_of_an_empty_group() -> None:
    """An empty group knows nobody."""
    assert World().sync("c-1").synced == SyncResult(ErrorCode.UNKNOWN_MEMBER_ID)


def test_second_sync_takes_the_place_of_the_first() -> None:
    """Of a member that asks twice the first SyncGroup is told to join again, and the second counts."""
    world = World()
    leader, second = generation(world, 2)
    first, again = world.sync(second), world.sync(second)
    assert first.synced == SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)
    world.sync(leader, {second: b"2"})
    assert again.synced.assignment == b"2"


def test_failed_append_makes_all_join_again() -> None:
    """If the assignment cannot be written, all who wait are told the error, and a rebalance begins."""
    world = World()
    leader, second = generation(world, 2)
    waiting = world.sync(second)
    world.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    own = world.sync(leader, {leader: b"1", second: b"2"})
    assert own.synced == waiting.synced == SyncResult(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert world.state is ClassicGroupState.PREPARING_REBALANCE
    assert all(member.assignment == b"" for member in world.group.members.values())
    world.append_error = ErrorCode.NONE
    again = world.join(leader)
    world.join(second)
    assert again.joined.generation == 2


def test_assignment_that_is_written_too_late_is_dropped() -> None:
    """If the group rebalances while the assignment is being written, nobody gets it."""
    world = World()
    leader, _ = generation(world, 2)
    world.held = []
    own = world.sync(leader, {leader: b"1"})
    world.new_member()
    assert own.synced == SyncResult(ErrorCode.REBALANCE_IN_PROGRESS)
    world.release()
    assert world.state is ClassicGroupState.PREPARING_REBALANCE
    assert world.group.members[leader].assignment == b""


def test_sync_that_comes_during_the_append_gets_its_part() -> None:
    """Who asks while the assignment is being written is answered with all others."""
    world = World()
    leader, second = generation(world, 2)
    world.held = []
    world.sync(leader, {second: b"2"})
    late = world.sync(second)
    assert late.parked
    world.release()
    assert late.synced.assignment == b"2"
    assert TimerKey("sync") not in world.timers


def test_leader_that_asks_twice_during_the_append_is_bound_to_the_first() -> None:
    """What all are told is what was written, also if the leader sends another assignment meanwhile."""
    world = World()
    leader, second = generation(world, 2)
    world.held = []
    world.sync(leader, {second: b"first"})
    again = world.sync(leader, {second: b"other"})
    late = world.sync(second)
    world.release()
    assert again.synced.error is ErrorCode.NONE
    assert late.synced.assignment == b"first" == world.last_value.members[1].assignment
