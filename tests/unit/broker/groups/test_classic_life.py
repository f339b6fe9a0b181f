"""Leaving, committing, describing, deleting and restarting a classic group."""

from __future__ import annotations

import pytest

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    ClassicGroupView,
    ClassicMemberView,
    CommitRequest,
    JoinResult,
    LeavingMember,
    LeftMember,
    SupportedProtocol,
    SyncResult,
)
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from tests.unit.broker.groups.classic_world import RANGE, REBALANCE_MS, SESSION_MS, World

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def subscription(*topics: str, version: int = 1) -> tuple[SupportedProtocol, ...]:
    """Return what a consumer says that wants some topics."""
    body = encode(ConsumerProtocolSubscription(topics=list(topics)), version)
    return (SupportedProtocol("range", version.to_bytes(2, "big") + body),)


# leaving


def test_leaving_rebalances_the_others() -> None:
    """Who leaves is no member any more, and the others join again."""
    world = World()
    leader, follower = world.stable(2)
    left = world.leave(LeavingMember(follower), LeavingMember("nobody")).left
    assert left.error is NONE
    assert left.members == (LeftMember(follower, None, NONE), LeftMember("nobody", None, UNKNOWN))
    assert world.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.heartbeat(follower) is UNKNOWN
    assert TimerKey("session", follower) not in world.timers


def test_leaving_of_nobody_changes_nothing() -> None:
    """A LeaveGroup of strangers leaves the group alone."""
    world = World()
    leader, _ = world.stable(2)
    assert world.leave(LeavingMember("nobody"), LeavingMember("")).left.members[1].error is UNKNOWN
    assert world.leave().left.members == ()
    assert world.heartbeat(leader) is NONE


def test_last_member_leaves_the_group_empty() -> None:
    """When the last member leaves, the group is Empty at once, and that is written before the answer."""
    world = World()
    (leader,) = world.stable(1)
    world.held = []
    left = world.leave(LeavingMember(leader))
    assert left.parked
    world.release()
    assert left.left.members[0].error is NONE
    assert (world.state, world.last_value.generation, world.last_value.members) == (ClassicGroupState.EMPTY, 2, [])


def test_failed_record_of_a_leave_is_told() -> None:
    """If that the group is empty cannot be written, whoever left is told the error."""
    world = World()
    (leader,) = world.stable(1)
    world.append_error = ErrorCode.NOT_COORDINATOR
    assert world.leave(LeavingMember(leader)).answer.error is ErrorCode.NOT_COORDINATOR
    assert world.state is ClassicGroupState.EMPTY


def test_leaving_ends_the_time_to_join() -> None:
    """If the only one still missing leaves, the rebalance goes on without it."""
    world = World()
    leader, follower = world.stable(2)
    again = world.join(leader)
    world.leave(LeavingMember(follower))
    assert again.joined.generation == 2


def test_what_a_leaving_member_waits_for_is_answered() -> None:
    """A parked JoinGroup or SyncGroup of a member that leaves is told that it is no member."""
    world = World()
    leader, _ = world.stable(2)
    again = world.join(leader)
    world.leave(LeavingMember(leader))
    assert again.joined == JoinResult(UNKNOWN)

    world = World()
    joins = [world.join(version=3), world.join(version=3)]
    world.pass_time(6_000)
    waiting = world.sync(joins[1].joined.member_id)
    world.leave(LeavingMember(joins[1].joined.member_id))
    assert waiting.synced == SyncResult(UNKNOWN)


def test_member_to_be_can_leave() -> None:
    """An id that was given out can be given back, and a rebalance that waited for it goes on."""
    world = World()
    (leader,) = world.stable(1)
    pending = world.join().joined.member_id
    again = world.join(leader)
    assert world.leave(LeavingMember(pending)).left.members[0].error is NONE
    assert again.joined.generation == 2
    assert TimerKey("session", pending) not in world.timers


# commits


@pytest.mark.parametrize(
    ("commit", "error"),
    [
        (CommitRequest("leader", None, 1), NONE),
        (CommitRequest("leader", "here", 1), NONE),
        (CommitRequest("leader", None, 0), ErrorCode.ILLEGAL_GENERATION),
        (CommitRequest("leader", None, -1), ErrorCode.ILLEGAL_GENERATION),
        (CommitRequest("leader", "nowhere", 1), UNKNOWN),
        (CommitRequest("nobody", "here", 1), ErrorCode.FENCED_INSTANCE_ID),
        (CommitRequest("nobody", None, 1), UNKNOWN),
        (CommitRequest("", None, 1), UNKNOWN),
        (CommitRequest("", None, -1), UNKNOWN),
        (CommitRequest("", None, -1, transactional=True), NONE),
        (CommitRequest("nobody", None, -1, transactional=True), UNKNOWN),
        (CommitRequest("leader", None, 1, transactional=True), NONE),
    ],
)
def test_who_may_commit_to_a_stable_group(commit: CommitRequest, error: ErrorCode) -> None:
    """Members of the current generation may; so may transactions that name no member."""
    world = World()
    (leader,) = world.stable(1, ("here",))
    known = commit._replace(member_id=leader) if commit.member_id == "leader" else commit
    assert world.group.commit(known)[0] is error


@pytest.mark.parametrize(
    ("commit", "error"),
    [
        (CommitRequest("", None, -1), NONE),
        (CommitRequest("anybody", None, -1), NONE),
        (CommitRequest("anybody", None, 0), UNKNOWN),
        (CommitRequest("", None, 0), UNKNOWN),
    ],
)
def test_who_may_commit_to_an_empty_group(commit: CommitRequest, error: ErrorCode) -> None:
    """A group without members takes offsets from anybody who claims no generation."""
    assert World().group.commit(commit)[0] is error


def test_commits_during_a_rebalance() -> None:
    """While members join, the old generation may still commit; while the assignment is made, only transactions."""
    world = World()
    leader, follower = world.stable(2)
    world.join(leader)
    assert world.group.commit(CommitRequest(follower, None, 1))[0] is NONE
    world.join(follower)
    assert world.state is ClassicGroupState.COMPLETING_REBALANCE
    commit = CommitRequest(follower, None, 2)
    assert world.group.commit(commit)[0] is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.commit(commit._replace(transactional=True))[0] is NONE
    assert world.group.commit(commit._replace(generation=1))[0] is ErrorCode.ILLEGAL_GENERATION


def test_commit_is_a_sign_of_life() -> None:
    """A commit that is accepted begins the member's session anew; a transaction's does not."""
    world = World()
    (leader,) = world.stable(1)
    _, effects = world.group.commit(CommitRequest(leader, None, 1))
    assert effects.timers == [(TimerKey("session", leader), SESSION_MS)]
    assert world.group.commit(CommitRequest(leader, None, 7))[1].timers == []
    assert world.group.commit(CommitRequest(leader, None, 1, transactional=True))[1].timers == []


def test_commit_to_a_dead_group() -> None:
    """A group that was just removed takes nothing."""
    world = World()
    world.carry_out(world.group.unload(ErrorCode.NOT_COORDINATOR, world.now))
    assert world.group.commit(CommitRequest("", None, -1))[0] is ErrorCode.COORDINATOR_NOT_AVAILABLE


# what is shown


def test_description_of_a_stable_group() -> None:
    """A stable group shows its protocol, and of each member what it says in it and what it has."""
    world = World()
    (leader,) = world.stable(1, ("here",))
    member = ClassicMemberView(leader, "here", "c", "/127.0.0.1", RANGE[0].metadata, b"part of 0")
    assert world.group.describe() == ClassicGroupView("g", ClassicGroupState.STABLE, "consumer", "range", (member,))


def test_description_of_a_rebalancing_group() -> None:
    """While a group rebalances neither protocol nor metadata are shown."""
    world = World()
    leader, _ = world.stable(2)
    world.join(leader)
    view = world.group.describe()
    assert (view.state.value, view.protocol_type, view.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [member.metadata for member in view.members] == [b"", b""]


def test_description_of_a_new_group() -> None:
    """A group that never had members has no protocol type."""
    world = World()
    assert world.group.describe() == ClassicGroupView("g", ClassicGroupState.EMPTY, "", "", ())
    assert world.group.leader is None


def test_topics_of_consumers_are_known() -> None:
    """The group knows what its consumers subscribe to, whatever version they speak, from one generation to the next."""
    world = World()
    joins = [
        world.join(version=3, protocols=subscription("a", "b", version=3)),
        world.join(version=3, protocols=subscription("b", "c", version=0)),
    ]
    world.pass_time(6_000)
    assert world.group.subscribed_topics == frozenset("abc")
    assert [world.group.subscribes(topic) for topic in "abd"] == [True, True, False]
    for request in joins:
        world.leave(LeavingMember(request.joined.member_id))
    assert world.group.subscribed_topics == frozenset()


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x00\xff\xff\xff\xff\xff", b"\x80\x00\x00\x00\x00\x00"])
def test_consumer_that_does_not_speak_clearly_may_read_anything(metadata: bytes) -> None:
    """What cannot be read is not guessed: any topic may be subscribed to."""
    world = World()
    world.join(version=3, protocols=(SupportedProtocol("range", metadata),))
    world.pass_time(6_000)
    assert world.group.subscribed_topics is None
    assert world.group.subscribes("t")


def test_others_than_consumers_read_no_topics() -> None:
    """The metadata of other types of group is not looked into."""
    world = World()
    world.join(version=3, protocol_type="connect", protocols=subscription("t"))
    world.pass_time(6_000)
    assert world.group.subscribed_topics is None
    assert not world.group.subscribes("t")


# deletion


def test_group_with_members_is_not_deleted() -> None:
    """Only an empty group can be deleted; of a group of consumers offsets can be, topic by topic."""
    world = World()
    assert (world.group.delete_error(), world.group.delete_offsets_error()) == (NONE, NONE)
    world.stable(1)
    assert world.group.delete_error() is ErrorCode.NON_EMPTY_GROUP
    assert world.group.delete_offsets_error() is NONE


def test_offsets_of_other_groups_with_members_are_not_deleted() -> None:
    """A group of another type with members keeps its offsets."""
    world = World()
    world.join(version=3, protocol_type="connect")
    assert world.group.delete_offsets_error() is ErrorCode.NON_EMPTY_GROUP


def test_deleted_group_is_dead() -> None:
    """Deletion writes a tombstone; once that is written the group is Dead and nothing of it is left."""
    world = World()
    pending = world.join()
    assert pending.joined.error is ErrorCode.MEMBER_ID_REQUIRED
    world.carry_out(world.group.delete())
    assert (world.log[-1].key, world.log[-1].value) == (GroupMetadataKey(group="g"), None)
    assert world.state is ClassicGroupState.DEAD
    assert world.timers == {}
    assert world.group.delete_error() is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.group.delete_offsets_error() is ErrorCode.GROUP_ID_NOT_FOUND


def test_group_whose_deletion_failed_lives_on() -> None:
    """If the tombstone cannot be written, the group is as before."""
    world = World()
    world.append_error = ErrorCode.NOT_COORDINATOR
    world.carry_out(world.group.delete())
    assert world.state is ClassicGroupState.EMPTY


# restart


def restart(world: World, limits: ClassicGroupLimits | None = None) -> World:
    """Return a new world in which the group is read from the last record."""
    after = World(limits, ClassicGroup.from_record("g", world.last_value, limits or world.limits))
    after.carry_out(after.group.loaded(after.now))
    return after


def test_members_go_on_after_a_restart() -> None:
    """After a restart the members of the last generation send heartbeats, sync and commit as if nothing had been."""
    before = World()
    joins = [before.join(version=3, protocols=subscription("t")) for _ in range(2)]
    before.pass_time(6_000)
    leader, follower = (request.joined.member_id for request in joins)
    before.sync(leader, {leader: b"1", follower: b"2"})
    before.sync(follower)
    world = restart(before)
    assert world.group.describe() == before.group.describe()
    assert (world.group.generation, world.group.leader, world.group.protocol_name) == (1, leader, "range")
    assert world.group.state_timestamp == before.last_value.current_state_timestamp
    assert world.group.subscribed_topics == frozenset("t")
    assert world.heartbeat(leader) is NONE
    assert world.sync(follower).synced.assignment == b"2"
    assert world.group.commit(CommitRequest(follower, None, 1))[0] is NONE
    assert world.join(follower, protocols=subscription("t")).joined.generation == 1
    world.pass_time(SESSION_MS)
    assert (world.state, world.group.generation) == (ClassicGroupState.EMPTY, 2)


def test_rebalance_under_way_is_forgotten_by_a_restart() -> None:
    """What was not written never was: members of the newer generation have to join again."""
    before = World()
    leader, follower = before.stable(2)
    before.join(leader)
    before.join(follower)
    assert before.group.generation == 2
    world = restart(before)
    assert world.heartbeat(leader, 2) is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat(leader, 1) is NONE


def test_empty_group_after_a_restart() -> None:
    """An empty group keeps its generation, its type and the time since when it is empty."""
    before = World()
    before.stable(1)
    before.pass_time(SESSION_MS)
    world = restart(before)
    assert (world.state, world.group.generation, world.group.protocol_type) == (ClassicGroupState.EMPTY, 2, "consumer")
    assert world.group.state_timestamp == before.group.state_timestamp
    assert world.timers == {}
    assert world.new_member().parked
    assert world.log == []


def test_old_records_are_understood() -> None:
    """Versions of the record without some fields are read as Kafka reads them."""
    member = MemberMetadata(member_id="m", session_timeout=9_000, subscription=b"s")
    value = GroupMetadataValue(protocol_type="x", generation=4, protocol="p", leader=None, members=[member])
    group = ClassicGroup.from_record("g", value, ClassicGroupLimits())
    assert group.members["m"].rebalance_timeout_ms == 9_000
    assert (group.state_timestamp, group.leader, group.state) == (-1, "m", ClassicGroupState.STABLE)


def test_record_that_names_a_member_twice_does_no_harm() -> None:
    """Of members that a damaged record names twice the first counts."""
    members = [
        MemberMetadata(member_id="m", group_instance_id="here", session_timeout=1),
        MemberMetadata(member_id="m", session_timeout=2),
        MemberMetadata(member_id="n", group_instance_id="here", session_timeout=3),
    ]
    value = GroupMetadataValue(protocol_type="x", generation=4, protocol="p", leader="n", members=members)
    group = ClassicGroup.from_record("g", value, ClassicGroupLimits())
    assert [member.session_timeout_ms for member in group.members.values()] == [1]
    assert group.leader == "m"


def test_member_may_say_more_again_after_a_restart() -> None:
    """The record keeps only the chosen protocol, so a member that lists all of its own is taken to have changed."""
    before = World()
    both = (*RANGE, SupportedProtocol("sticky", b""))
    joined = before.join(version=3, protocols=both)
    before.pass_time(3_000)
    leader = joined.joined.member_id
    before.sync(leader)
    world = restart(before)
    again = world.join(leader, protocols=both, rebalance_ms=REBALANCE_MS)
    assert (again.joined.generation, again.joined.protocol_name) == (2, "range")
