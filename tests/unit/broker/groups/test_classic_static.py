"""Static members: they come back under a new id and take their old place (KIP-345)."""

from __future__ import annotations

import pytest

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import JoinResult, LeavingMember, SupportedProtocol, SyncResult
from odradek.protocol.errors import ErrorCode
from tests.unit.broker.groups.classic_world import RANGE, SESSION_MS, World

FENCED = ErrorCode.FENCED_INSTANCE_ID


def test_member_comes_back_without_a_rebalance() -> None:
    """In a stable group a static member keeps its assignment under a new id, and nobody else notices."""
    world = World()
    leader, follower = world.stable(2, ("here", "there"))
    back = world.join(instance="there").joined
    assert (back.error, back.generation, back.leader) == (ErrorCode.NONE, 1, leader)
    assert (back.skip_assignment, back.members) == (False, ())
    assert back.member_id != follower
    assert world.heartbeat(leader, instance="here") is ErrorCode.NONE
    assert world.sync(back.member_id, instance="there").synced.assignment == b"part of 1"
    assert world.heartbeat(follower, instance="there") is FENCED
    assert world.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID
    assert TimerKey("session", follower) not in world.timers
    assert TimerKey("session", back.member_id) in world.timers


def test_new_id_is_written_before_it_is_told() -> None:
    """The record has the new id with the old assignment, and the answer waits for it."""
    world = World()
    leader, _ = world.stable(2, ("here", "there"))
    world.held = []
    back = world.join(instance="here")
    assert back.parked
    world.release()
    new_id = back.joined.member_id
    assert world.last_value.leader == new_id
    assert [(member.member_id, member.assignment) for member in world.last_value.members][-1] == (new_id, b"part of 0")
    assert leader not in world.group.members


def test_leader_is_told_to_keep_the_assignment() -> None:
    """From version 9 on a leader that comes back gets the members, and the word to skip the assignment."""
    world = World()
    world.stable(2, ("here", "there"))
    back = world.join(instance="here", version=9).joined
    assert back.skip_assignment
    assert back.leader == back.member_id == world.group.leader
    assert {member.group_instance_id for member in back.members} == {"here", "there"}


def test_leader_of_old_versions_does_not_learn_that_it_leads() -> None:
    """Before version 9 the leader is told its old id as the leader's, so that it does not assign anew."""
    world = World()
    leader, _ = world.stable(2, ("here", "there"))
    back = world.join(instance="here", version=8).joined
    assert (back.leader, back.skip_assignment, back.members) == (leader, False, ())
    assert world.group.leader == back.member_id


def test_changed_choice_of_protocol_rebalances() -> None:
    """If the group would now choose another protocol, the static member's return starts a rebalance."""
    sticky = SupportedProtocol("sticky", b"")
    world = World()
    both = (*RANGE, sticky)
    joins = [world.join(instance=name, protocols=both) for name in ("here", "there")]
    world.pass_time(6_000)
    leader = joins[0].joined.member_id
    world.sync(leader)
    other = joins[1].joined.member_id
    world.join(instance="here", protocols=(sticky,))
    assert world.state is ClassicGroupState.PREPARING_REBALANCE
    assert world.join(other, instance="there", protocols=both).joined.protocol_name == "sticky"


def test_return_while_the_assignment_is_made_rebalances() -> None:
    """In CompletingRebalance the leader may know the old id, so all join again; the old holder is fenced."""
    world = World()
    joins = [world.join(instance=name) for name in ("here", "there")]
    world.pass_time(6_000)
    leader, follower = (request.joined.member_id for request in joins)
    waiting = world.sync(follower, instance="there")
    back = world.join(instance="there")
    assert waiting.synced == SyncResult(FENCED)
    assert back.parked
    assert world.heartbeat(leader, instance="here") is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.join(leader, instance="here").joined.generation == 2
    assert back.joined.generation == 2


def test_return_while_members_join_takes_the_place_in_the_queue() -> None:
    """In PreparingRebalance the old holder's parked JoinGroup is fenced, and the group goes on waiting."""
    world = World()
    leader, follower = world.stable(2, ("here", "there"))
    world.join(leader, instance="here")
    third = world.new_member()
    first = world.join(follower, instance="there")
    assert third.joined.generation == 2
    assert first.joined.generation == 2

    world = World()
    early = world.join(instance="here")
    late = world.join(instance="here")
    (old_id, new_id) = ("here-1", "here-2")
    assert early.joined == JoinResult(FENCED, old_id)
    world.pass_time(6_000)
    assert late.joined.member_id == late.joined.leader == new_id
    assert list(world.group.members) == [new_id]


@pytest.mark.parametrize("api", ["join", "sync", "heartbeat", "leave"])
def test_holder_of_an_instance_is_checked_first(api: str) -> None:
    """An id that does not hold the instance it names is fenced; an instance nobody has is unknown."""
    world = World()
    world.stable(2, ("here", "there"))
    for instance, error in (("here", FENCED), ("nowhere", ErrorCode.UNKNOWN_MEMBER_ID)):
        if api == "join":
            assert world.join("old", instance=instance).joined == JoinResult(error, "old")
        elif api == "sync":
            assert world.sync("old", instance=instance).synced == SyncResult(error)
        elif api == "heartbeat":
            assert world.heartbeat("old", instance=instance) is error
        else:
            assert world.leave(LeavingMember("old", instance)).left.members[0].error is error


def test_failed_append_leaves_the_old_holder_in_place() -> None:
    """If the new id cannot be written, the old one holds the instance as before, and the newcomer gets the error."""
    world = World()
    leader, follower = world.stable(2, ("here", "there"))
    world.append_error = ErrorCode.NOT_COORDINATOR
    back = world.join(instance="here", protocols=(SupportedProtocol("range", b"new"),), session_ms=7_000)
    assert back.joined == JoinResult(ErrorCode.NOT_COORDINATOR, "", 1, "consumer", "range", leader)
    assert world.state is ClassicGroupState.STABLE
    assert world.group.leader == leader
    assert world.heartbeat(leader, instance="here") is ErrorCode.NONE
    member = world.group.members[leader]
    assert (member.protocols, member.session_timeout_ms, member.assignment) == (RANGE, SESSION_MS, b"part of 0")
    assert set(world.timers) == {TimerKey("session", leader), TimerKey("session", follower)}


def test_return_overtaken_by_a_rebalance_is_answered_by_it() -> None:
    """If a rebalance begins while the new id is being written, the newcomer is in it."""
    world = World()
    leader, _ = world.stable(2, ("here", "there"))
    world.held = []
    back = world.join(instance="there")
    again = world.join(leader, instance="here")
    assert back.joined.generation == again.joined.generation == 2
    world.append_error = ErrorCode.NOT_COORDINATOR
    world.release()
    assert back.joined.member_id in world.group.members


def test_newcomer_fenced_during_its_append() -> None:
    """Of two that claim an instance at the same time the later wins, and each is answered once."""
    world = World()
    world.stable(1, ("here",))
    world.held = []
    early, late = world.join(instance="here"), world.join(instance="here")
    world.release()
    assert early.joined.error is FENCED
    assert late.joined.error is ErrorCode.NONE
    assert list(world.group.members) == [late.joined.member_id]


def test_administrator_removes_by_instance() -> None:
    """LeaveGroup with an instance id and no member id removes whoever holds the instance."""
    world = World()
    leader, _ = world.stable(2, ("here", "there"))
    left = world.leave(LeavingMember("", "there"), LeavingMember("", "nowhere"), LeavingMember("")).left
    assert left.error is ErrorCode.NONE
    assert [member.error for member in left.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(world.group.members) == [leader]
    assert world.state is ClassicGroupState.PREPARING_REBALANCE


def test_static_member_that_stays_away_loses_its_place() -> None:
    """The session timeout ends a static membership too, also after a restart."""
    world = World()
    world.stable(1, ("here",))
    world.group = ClassicGroup.from_record("g", world.last_value, world.limits)
    world.timers.clear()
    world.carry_out(world.group.loaded(world.now))
    world.pass_time(SESSION_MS)
    assert world.state is ClassicGroupState.EMPTY
