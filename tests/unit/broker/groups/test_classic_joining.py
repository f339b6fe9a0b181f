"""Who is let into a classic group, and what the others are told."""

from __future__ import annotations

import pytest

from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.joining import refusal
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    JoinRequest,
    JoinResult,
    LeavingMember,
    SupportedProtocol,
)
from odradek.protocol.errors import ErrorCode
from tests.unit.broker.groups.classic_world import RANGE, SESSION_MS, World

STICKY = SupportedProtocol("sticky", b"what sticky needs")


def request(**fields: object) -> JoinRequest:
    """Return a JoinGroup of a new member with some fields changed."""
    base = JoinRequest("", None, "c", "/127.0.0.1", 10_000, 60_000, "consumer", RANGE, 9, "id")
    return JoinRequest(*{**base._asdict(), **fields}.values())


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001, -1])
def test_session_timeout_outside_limits_is_refused(timeout_ms: int) -> None:
    """A session timeout outside group.min/max.session.timeout.ms is INVALID_SESSION_TIMEOUT, before all else."""
    refused = refusal(request(session_timeout_ms=timeout_ms, member_id="m"), ClassicGroupLimits(), group_exists=False)
    assert refused == JoinResult(ErrorCode.INVALID_SESSION_TIMEOUT, "m")


@pytest.mark.parametrize("timeout_ms", [6_000, 1_800_000])
def test_limits_of_session_timeout_are_inside(timeout_ms: int) -> None:
    """The limits themselves are accepted."""
    assert refusal(request(session_timeout_ms=timeout_ms), ClassicGroupLimits(), group_exists=False) is None


def test_member_of_unknown_group_is_unknown() -> None:
    """Only who has no member id yet can create a group."""
    refused = refusal(request(member_id="m"), ClassicGroupLimits(), group_exists=False)
    assert refused == JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, "m")


@pytest.mark.parametrize(
    "protocols",
    [
        (SupportedProtocol("range", b"x" * 101),),
        tuple(SupportedProtocol(str(number), b"") for number in range(4)),
    ],
)
def test_more_than_could_be_stored_is_refused(protocols: tuple[SupportedProtocol, ...]) -> None:
    """What a member says is bounded, in size and in number of protocols."""
    refused = refusal(
        request(protocols=protocols), ClassicGroupLimits(max_metadata_bytes=100, max_protocols=3), group_exists=True
    )
    assert refused == JoinResult(ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize("fields", [{"protocols": ()}, {"protocol_type": ""}])
def test_first_member_must_say_what_it_speaks(fields: dict[str, object]) -> None:
    """Without protocols or their type nobody founds a group: INCONSISTENT_GROUP_PROTOCOL."""
    world = World()
    refused = world.join(**fields)  # type: ignore[arg-type]  # fields of the tests
    assert refused.joined == JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert world.state is ClassicGroupState.EMPTY


def test_new_group_is_written_whatever_comes_of_its_first_request() -> None:
    """The first JoinGroup of a new group writes the record of an empty group, once."""
    world = World()
    world.join(protocols=())
    world.join()
    assert len(world.log) == 1
    value = world.last_value
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("", 0, None, None)
    assert value.members == []
    assert value.current_state_timestamp == world.now


def test_group_that_came_to_be_by_a_commit_needs_no_record() -> None:
    """The offsets of a simple group are record enough of it."""
    world = World(group=ClassicGroup("g", ClassicGroupLimits(), 0, is_new=False))
    world.join()
    assert world.log == []


@pytest.mark.parametrize("version", [3, 4])
def test_failed_record_of_a_new_group_ends_it(version: int) -> None:
    """If the record of a new group cannot be written the group is Dead, and whoever asked is told the error."""
    world = World()
    world.append_error = ErrorCode.NOT_COORDINATOR
    joined = world.join(version=version)
    assert joined.answer.error is ErrorCode.NOT_COORDINATOR
    assert world.state is ClassicGroupState.DEAD
    assert world.timers == {}


def test_member_without_id_has_to_come_again() -> None:
    """From version 4 on a dynamic member is given an id and told to come again with it; it is no member yet."""
    world = World()
    first = world.join()
    assert first.joined == JoinResult(ErrorCode.MEMBER_ID_REQUIRED, "c-1")
    assert (world.state, len(world.group.members)) == (ClassicGroupState.EMPTY, 0)
    second = world.join("c-1")
    assert second.parked
    assert (world.state, len(world.group.members)) == (ClassicGroupState.PREPARING_REBALANCE, 1)
    world.pass_time(6_000)
    assert second.joined.member_id == "c-1"


def test_old_versions_are_let_in_at_once() -> None:
    """Before version 4 a dynamic member is added by its first request, under a new id."""
    world = World()
    first = world.join(version=3)
    world.pass_time(6_000)
    assert (first.joined.error, first.joined.member_id) == (ErrorCode.NONE, "c-1")


def test_static_member_is_let_in_at_once() -> None:
    """A static member needs no second request; its id begins with its instance id."""
    world = World()
    first = world.join(instance="here")
    world.pass_time(6_000)
    assert (first.joined.error, first.joined.member_id) == (ErrorCode.NONE, "here-1")


def test_id_that_is_not_used_expires() -> None:
    """A member-to-be that does not come back within its session timeout is forgotten."""
    world = World()
    world.join()
    world.pass_time(SESSION_MS)
    assert world.join("c-1").joined.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.timers == {}


def test_rebalance_waits_for_ids_that_were_given_out() -> None:
    """A rebalance with all members present still waits for a member-to-be; when that expires it goes on."""
    world = World()
    (leader,) = world.stable(1)
    world.join()
    again = world.join(leader)
    assert again.parked
    world.pass_time(SESSION_MS)
    assert again.joined.generation == 2


def test_id_of_somebody_else_with_an_instance_is_no_member() -> None:
    """A member-to-be is dynamic: its id with an instance id is not accepted, and nothing breaks."""
    world = World()
    world.stable(1, ("here",))
    pending = world.join().joined.member_id
    assert world.join(pending, instance="here").joined.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.join(pending, instance="there").joined.error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("protocol_type", "protocols"), [("connect", RANGE), ("consumer", (STICKY,)), ("consumer", ())]
)
def test_who_shares_no_protocol_is_refused(protocol_type: str, protocols: tuple[SupportedProtocol, ...]) -> None:
    """A member must be of the group's type and share a protocol with all members, be it new or known."""
    world = World()
    leader, _ = world.stable(2)
    for member_id in ("", leader):
        refused = world.join(member_id, protocol_type=protocol_type, protocols=protocols)
        assert refused.joined == JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
    assert world.state is ClassicGroupState.STABLE


def test_name_listed_twice_is_one_vote() -> None:
    """A member that lists a protocol twice neither shuts others out nor leaves traces when it goes."""
    world = World()
    twice = world.join(version=3, protocols=(*RANGE, *RANGE))
    other = world.join(version=3)
    world.pass_time(6_000)
    assert other.joined.generation == 1
    world.leave(LeavingMember(twice.joined.member_id))
    assert world.join(other.joined.member_id).joined.protocol_name == "range"


def test_full_group_lets_nobody_in() -> None:
    """At group.max.size a new member is told GROUP_MAX_SIZE_REACHED, at every stage; members may come again."""
    world = World(ClassicGroupLimits(max_size=2))
    joins = [world.join(version=3), world.join(version=3)]
    full = JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert world.join().joined == full
    world.pass_time(6_000)
    leader, follower = (request.joined.member_id for request in joins)
    assert world.state is ClassicGroupState.COMPLETING_REBALANCE
    assert world.join().joined == full
    world.sync(leader)
    assert world.join().joined == full
    assert world.join(follower).joined.generation == 1


def test_id_given_out_is_no_seat() -> None:
    """A member-to-be that comes back to a full group is turned away and forgotten."""
    world = World(ClassicGroupLimits(max_size=2))
    (leader,) = world.stable(1)
    late = world.join().joined.member_id
    early = world.new_member()
    world.join(leader)
    assert world.join(late).joined == JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert early.joined.generation == 2


def test_group_that_is_too_large_shrinks_to_those_who_come_first() -> None:
    """When the limit is below the size, the last members to join again are removed."""
    world = World()
    ids = world.stable(3)
    world.limits = ClassicGroupLimits(max_size=2)
    restored = ClassicGroup.from_record("g", world.last_value, world.limits)
    world.group = restored
    world.carry_out(restored.loaded(world.now))
    assert restored.state is ClassicGroupState.PREPARING_REBALANCE
    first, second, third = (world.join(member_id) for member_id in ids)
    assert third.joined == JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert first.joined.generation == second.joined.generation == 2
    assert list(restored.members) == ids[:2]


def test_new_member_waits_five_minutes_at_most() -> None:
    """A new member cannot send heartbeats while its JoinGroup is parked; after 300 s it is told to begin anew."""
    world = World(ClassicGroupLimits(initial_rebalance_delay_ms=400_000))
    joined = world.join(version=3, rebalance_ms=400_000)
    world.pass_time(299_999)
    assert joined.parked
    world.pass_time(1)
    assert joined.joined == JoinResult(ErrorCode.UNKNOWN_MEMBER_ID)


def test_answers_of_a_generation() -> None:
    """All are told generation, protocol and leader; only the leader is told the members."""
    world = World()
    joins = [world.join(version=3), world.join(version=3)]
    world.pass_time(6_000)
    leader, follower = (request.joined for request in joins)
    assert (leader.generation, leader.protocol_type, leader.protocol_name) == (1, "consumer", "range")
    assert leader[:6] == follower._replace(member_id=leader.member_id)[:6]
    assert leader.leader == leader.member_id
    assert [(member.member_id, member.metadata) for member in leader.members] == [
        (leader.member_id, RANGE[0].metadata),
        (follower.member_id, RANGE[0].metadata),
    ]
    assert follower.members == ()


def test_lost_answer_is_given_again() -> None:
    """In a generation that just began, and to a follower in a stable group, the same JoinGroup gets the same answer."""
    world = World()
    joins = [world.join(version=3), world.join(version=3)]
    world.pass_time(6_000)
    leader, follower = (request.joined for request in joins)
    assert world.join(leader.member_id).joined == leader
    assert world.join(follower.member_id).joined == follower
    world.sync(leader.member_id)
    assert world.join(follower.member_id).joined == follower
    assert world.group.generation == 1


@pytest.mark.parametrize("stable", [False, True])
def test_changed_metadata_rebalances(stable: bool) -> None:
    """A member that says something else than before starts a rebalance."""
    world = World()
    joins = [world.join(version=3), world.join(version=3)]
    world.pass_time(6_000)
    leader, follower = (request.joined.member_id for request in joins)
    waiting = world.sync(follower)
    if stable:
        world.sync(leader)
    changed = world.join(follower, protocols=(SupportedProtocol("range", b"something else"),))
    assert changed.parked
    assert waiting.synced.error is (ErrorCode.NONE if stable else ErrorCode.REBALANCE_IN_PROGRESS)
    again = world.join(leader)
    assert again.joined.members[1].metadata == b"something else"


def test_leader_that_comes_again_rebalances() -> None:
    """The leader of a stable group rebalances it by joining again, though it says nothing new."""
    world = World()
    leader, follower = world.stable(2)
    assert world.join(leader).parked
    assert world.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS


def test_second_request_takes_the_place_of_the_first() -> None:
    """Of a member that asks twice the first JoinGroup is answered, and the second counts."""
    world = World()
    leader, _ = world.stable(2)
    first = world.join(leader)
    second = world.join(leader)
    assert first.joined == JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, leader)
    assert second.parked


def test_votes_choose_the_protocol() -> None:
    """Each member votes for the first it lists of those that all speak; most votes win."""
    world = World()
    r, s, o = RANGE[0], STICKY, SupportedProtocol("only mine", b"")
    joins = [world.join(version=3, protocols=protocols) for protocols in ((r, s), (s, r), (o, s, r))]
    world.pass_time(9_000)
    assert {request.joined.protocol_name for request in joins} == {"sticky"}
    assert [member.metadata for member in joins[0].joined.members] == [STICKY.metadata] * 3


def test_version_0_has_one_timeout() -> None:
    """In version 0 the session timeout is the rebalance timeout."""
    world = World()
    world.join(version=0, rebalance_ms=-1)
    (member,) = world.group.members.values()
    assert member.rebalance_timeout_ms == SESSION_MS


def test_dead_group_sends_everybody_to_look_for_the_coordinator() -> None:
    """Every request to a group that was just removed is told COORDINATOR_NOT_AVAILABLE."""
    world = World()
    (leader,) = world.stable(1)
    world.carry_out(world.group.unload(ErrorCode.NOT_COORDINATOR, world.now))
    gone = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.join().joined.error is gone
    assert world.join(leader).joined == JoinResult(gone, leader)
    assert world.sync(leader).synced.error is gone
    assert world.heartbeat(leader) is gone
    assert world.leave(LeavingMember(leader)).left.error is gone
