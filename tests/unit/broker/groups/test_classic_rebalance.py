"""How long a classic group waits, for whom, and who is left behind."""

from __future__ import annotations

import pytest

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.states import TRANSITIONS, ClassicGroupState, Event, moved
from odradek.broker.groups.classic.values import ClassicGroupLimits, ClassicHeartbeat, JoinResult, LeavingMember
from odradek.protocol.errors import ErrorCode
from tests.unit.broker.groups.classic_world import REBALANCE_MS, SESSION_MS, World

PREPARING = ClassicGroupState.PREPARING_REBALANCE
COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
STABLE = ClassicGroupState.STABLE
EMPTY = ClassicGroupState.EMPTY


def test_every_state_can_be_left_and_reached() -> None:
    """The table has every state, each leads to Dead, and nothing leads out of Dead."""
    assert set(TRANSITIONS) == set(ClassicGroupState)
    assert all(moved(state, Event.REMOVED) is ClassicGroupState.DEAD for state in ClassicGroupState)
    assert set(TRANSITIONS[ClassicGroupState.DEAD].values()) == {ClassicGroupState.DEAD}


def test_way_that_is_not_in_the_table_is_a_bug() -> None:
    """A group cannot become stable without a rebalance."""
    with pytest.raises(AssertionError, match="Empty cannot move"):
        moved(EMPTY, Event.ASSIGNED)


def test_first_rebalance_waits_for_more_members() -> None:
    """An empty group waits group.initial.rebalance.delay.ms for members; one alone is not made to wait longer."""
    world = World()
    joined = world.join(version=3)
    world.pass_time(2_999)
    assert joined.parked
    world.pass_time(1)
    assert joined.joined.generation == 1


def test_no_delay_still_waits_for_nothing_else() -> None:
    """With a delay of 0 the first member gets its generation as soon as timers run."""
    world = World(ClassicGroupLimits(initial_rebalance_delay_ms=0))
    joined = world.join(version=3)
    world.pass_time(0)
    assert joined.joined.generation == 1


def test_newcomers_extend_the_first_rebalance() -> None:
    """Each delay in which somebody came is followed by another one; one in which nobody came ends it."""
    world = World()
    first = world.join(version=3)
    world.pass_time(2_000)
    second = world.join(version=3)
    world.pass_time(3_999)
    assert first.parked
    assert second.parked
    world.pass_time(1)
    assert first.joined.generation == second.joined.generation == 1


def test_first_rebalance_is_not_extended_forever() -> None:
    """The extensions end when the rebalance timeout of the members that were there at first is used up."""
    world = World()
    first = world.join(version=3, rebalance_ms=7_000)
    for _ in range(6):
        world.pass_time(999)
        world.join(version=3, rebalance_ms=7_000)
    world.pass_time(6_999 - 6 * 999)
    assert first.parked
    world.pass_time(1)
    assert first.joined.generation == 1


def test_rebalance_ends_when_all_are_there() -> None:
    """A later rebalance does not wait longer than for the last member."""
    world = World()
    leader, follower = world.stable(2)
    newcomer = world.new_member()
    again = world.join(leader)
    assert newcomer.parked
    assert again.parked
    late = world.join(follower)
    assert [request.joined.generation for request in (newcomer, again, late)] == [2, 2, 2]
    assert again.joined.leader == leader


def test_members_that_do_not_come_are_left_behind() -> None:
    """After the longest rebalance timeout of any member, dynamic members that did not join are members no more."""
    world = World()
    leader, follower = world.stable(2)
    again = world.join(follower, rebalance_ms=1_000, protocols=())
    assert again.joined.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    newcomer = world.new_member()
    again = world.join(follower, rebalance_ms=1_000)
    for _ in range(REBALANCE_MS // 5_000 - 1):
        world.pass_time(5_000)
        assert world.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
        assert newcomer.parked
    world.pass_time(5_000)
    assert newcomer.joined.generation == again.joined.generation == 2
    assert again.joined.leader == follower
    assert {member.member_id for member in again.joined.members} == {follower, newcomer.joined.member_id}
    assert world.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID
    assert TimerKey("session", leader) not in world.timers


def test_absent_leader_is_replaced_by_one_who_joined() -> None:
    """A static leader that did not join in time stays a member, and somebody who did leads."""
    world = World()
    leader, follower = world.stable(2, ("here", "there"))
    newcomer = world.join(instance="third")
    again = world.join(follower, instance="there")
    for _ in range(REBALANCE_MS // 5_000):
        world.heartbeat(leader, instance="here")
        world.pass_time(5_000)
    assert again.joined.leader == newcomer.joined.leader == follower
    assert [member.group_instance_id for member in again.joined.members] == ["here", "there", "third"]


def test_nobody_there_waits_once_more() -> None:
    """If only static members are left and none joined, the group waits another rebalance timeout."""
    world = World()
    leader, follower = world.stable(2, ("here",))
    world.leave(LeavingMember(follower))
    assert world.state is PREPARING
    for _ in range(2 * REBALANCE_MS // 5_000):
        assert world.heartbeat(leader, instance="here") is ErrorCode.REBALANCE_IN_PROGRESS
        world.pass_time(5_000)
    assert (world.state, world.group.generation) == (PREPARING, 1)
    back = world.join(leader, instance="here")
    assert back.joined.generation == 2


def test_silent_members_empty_the_group() -> None:
    """When the last session ends the group is Empty, one generation on, and that is written."""
    world = World()
    world.stable(2)
    world.pass_time(SESSION_MS)
    assert (world.state, world.group.generation, world.group.leader) == (EMPTY, 2, None)
    value = world.last_value
    assert (value.generation, value.protocol_type, value.protocol, value.leader) == (2, "consumer", None, None)
    assert value.members == []
    assert value.current_state_timestamp == world.group.state_timestamp == world.now
    assert world.timers == {}


def test_failed_record_of_an_empty_group_changes_nothing() -> None:
    """Nobody waits for the record of an emptied group; if it fails the group is Empty all the same."""
    world = World()
    world.stable(1)
    world.append_error = ErrorCode.NOT_COORDINATOR
    world.pass_time(SESSION_MS)
    assert (world.state, world.group.generation) == (EMPTY, 2)


def test_heartbeat_keeps_a_session() -> None:
    """Heartbeats keep a member in; without them its session ends on time."""
    world = World()
    leader, follower = world.stable(2)
    for _ in range(10):
        world.pass_time(SESSION_MS - 1)
        assert world.heartbeat(leader) is ErrorCode.NONE
        assert world.heartbeat(follower) is ErrorCode.NONE
    world.pass_time(SESSION_MS - 1)
    assert world.heartbeat(leader) is ErrorCode.NONE
    world.pass_time(1)
    assert world.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_parked_member_is_alive() -> None:
    """No session ends while the member's request is parked; it begins anew with the answer."""
    world = World(ClassicGroupLimits())
    leader, follower = world.stable(2)
    again = world.join(leader, rebalance_ms=REBALANCE_MS)
    for _ in range(5):
        world.pass_time(SESSION_MS - 1)
        world.heartbeat(follower)
    assert again.parked
    world.join(follower)
    assert again.joined.generation == 2
    waiting = world.sync(follower)
    world.pass_time(SESSION_MS - 1)
    world.heartbeat(leader)
    world.pass_time(2)
    assert waiting.parked
    world.sync(leader, {follower: b"yours"})
    assert waiting.synced.assignment == b"yours"
    world.pass_time(SESSION_MS - 1)
    assert world.heartbeat(follower) is ErrorCode.NONE


def test_leader_that_falls_silent_is_followed_by_the_longest_member() -> None:
    """The member that joined first of those who remain leads."""
    world = World()
    leader, second, _ = world.stable(3)
    world.leave(LeavingMember(leader))
    assert world.group.leader == second


def test_first_rebalance_without_members_ends_empty() -> None:
    """If all who joined an empty group leave before its delay is over, it is Empty again, one generation on."""
    world = World()
    joined = world.join(version=3)
    (member_id,) = world.group.members
    world.leave(LeavingMember(member_id))
    assert joined.joined == JoinResult(ErrorCode.UNKNOWN_MEMBER_ID)
    assert world.state is PREPARING
    world.pass_time(3_000)
    assert (world.state, world.group.generation) == (EMPTY, 1)


@pytest.mark.parametrize("synced", [(), (0,), (1,)])
def test_members_that_do_not_sync_are_removed(synced: tuple[int, ...]) -> None:
    """Who does not send SyncGroup within the rebalance timeout is removed, and the others rebalance."""
    world = World()
    joins = [world.join(version=3, session_ms=REBALANCE_MS * 2) for _ in range(2)]
    world.pass_time(6_000)
    ids = [request.joined.member_id for request in joins]
    waiting = [world.sync(ids[number]) for number in synced]
    world.pass_time(REBALANCE_MS - 1)
    assert world.state is (STABLE if 0 in synced else COMPLETING)
    world.pass_time(1)
    assert set(world.group.members) == {ids[number] for number in synced}
    assert world.state is (PREPARING if synced else EMPTY)
    for number, request in zip(synced, waiting, strict=True):
        assert request.synced.error is (ErrorCode.NONE if number == 0 else ErrorCode.REBALANCE_IN_PROGRESS)


def test_sync_time_is_not_held_against_those_who_came() -> None:
    """Once all have sent SyncGroup nothing waits for them any more."""
    world = World()
    world.stable(2)
    assert TimerKey("sync") not in world.timers


def test_timer_that_comes_late_does_nothing() -> None:
    """Timers of what is over, and of members that are gone, change nothing."""
    world = World()
    leader, follower = world.stable(2)
    for key in (TimerKey("join"), TimerKey("sync"), TimerKey("session", "nobody"), TimerKey("other", leader)):
        world.carry_out(world.group.on_timer(key, world.now))
    assert (world.state, world.group.generation, list(world.group.members)) == (STABLE, 1, [leader, follower])


@pytest.mark.parametrize(
    ("member", "instance", "generation", "error"),
    [
        ("nobody", None, 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("nobody", "here", 1, ErrorCode.FENCED_INSTANCE_ID),
        ("leader", "nowhere", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("leader", "here", 0, ErrorCode.ILLEGAL_GENERATION),
        ("leader", "here", 2, ErrorCode.ILLEGAL_GENERATION),
        ("leader", None, 1, ErrorCode.NONE),
        ("leader", "here", 1, ErrorCode.NONE),
    ],
)
def test_who_may_send_heartbeats(member: str, instance: str | None, generation: int, error: ErrorCode) -> None:
    """Heartbeats are for members of the current generation; instance before member before generation."""
    world = World()
    leader, _ = world.stable(2, ("here",))
    assert world.heartbeat(leader if member == "leader" else member, generation, instance) is error


def test_heartbeat_while_the_assignment_is_made() -> None:
    """A member may send heartbeats as soon as it knows its generation."""
    world = World()
    joined = world.join(version=3)
    world.pass_time(3_000)
    assert world.state is COMPLETING
    assert world.heartbeat(joined.joined.member_id) is ErrorCode.NONE


def test_heartbeat_of_an_empty_group() -> None:
    """An empty group has no members to hear."""
    assert World().heartbeat("c-1", 0) is ErrorCode.UNKNOWN_MEMBER_ID


def test_rebalance_from_outside() -> None:
    """The service can make members of a stable group join again; where there are none it does nothing."""
    world = World()
    world.carry_out(world.group.rebalance(world.now))
    assert world.state is EMPTY
    (leader,) = world.stable(1)
    world.carry_out(world.group.rebalance(world.now))
    assert world.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_unloaded_group_answers_all_who_wait() -> None:
    """When the coordinator moves, every parked request is told so, and no timer is left."""
    world = World()
    leader, *_ = world.stable(3)
    again = world.join(leader)
    world.join()
    world.carry_out(world.group.unload(ErrorCode.NOT_COORDINATOR, world.now))
    assert again.joined == JoinResult(ErrorCode.NOT_COORDINATOR, leader)
    assert world.timers == {}

    world = World()
    leader, follower = (request.member_id for request in _generation(world, 2))
    waiting = world.sync(follower)
    world.carry_out(world.group.unload(ErrorCode.NOT_COORDINATOR, world.now))
    assert waiting.synced.error is ErrorCode.NOT_COORDINATOR


def test_heartbeat_is_cheap() -> None:
    """A heartbeat writes nothing and touches one timer."""
    world = World()
    (leader,) = world.stable(1)
    effects = world.group.heartbeat(ClassicHeartbeat(leader, None, 1), object())
    assert (effects.records, effects.after) == ([], None)
    assert effects.timers == [(TimerKey("session", leader), SESSION_MS)]


def _generation(world: World, size: int) -> list[JoinResult]:
    joins = [world.join(version=3) for _ in range(size)]
    world.pass_time(world.limits.initial_rebalance_delay_ms * 2)
    return [request.joined for request in joins]
