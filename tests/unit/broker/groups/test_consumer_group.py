"""The machine of consumer groups (KIP-848), event by event; answers are those of Apache Kafka 4.3."""

from __future__ import annotations

from time import thread_time

import pytest

from odradek.broker.coordinator.effects import CoordinatorRecord, TimerKey
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.state import GroupData, subscribed_topics
from odradek.broker.groups.classic.values import ClassicGroupLimits, SupportedProtocol
from odradek.broker.groups.consumer import regexes
from odradek.broker.groups.consumer.heartbeat import ConsumerHeartbeatResult, owned_partitions
from odradek.broker.groups.consumer.member import MemberState
from odradek.broker.groups.consumer.requests import MAX_TOPICS, check_heartbeat
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from tests.support.consumer_group import GROUP, FakeMember, GroupUnderTest, image_of, owned, settle, topic_id

T = topic_id("t")
U = topic_id("u")


def test_first_member_gets_all_partitions_at_once() -> None:
    """A fresh group's only member is assigned everything in the answer to its first heartbeat, in epoch 2."""
    under_test = GroupUnderTest({"t": 3})
    answer = under_test.join("a", "t")
    assert answer == ConsumerHeartbeatResult(ErrorCode.NONE, None, "a", 2, 5_000, {T: frozenset({0, 1, 2})})
    assert under_test.group.state.name == "Stable"


def test_first_join_writes_records_in_kafkas_order() -> None:
    """A join writes the member, the group's epoch, targets, their epoch, and what the member has now."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    assert [type(record.key) for record in under_test.log] == [
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMetadataKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupCurrentMemberAssignmentKey,
    ]


def test_heartbeat_that_changes_nothing_writes_nothing() -> None:
    """A member that has its target is told nothing new, and nothing is written."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    written = len(under_test.log)
    assert under_test.beat("a", 2) == ConsumerHeartbeatResult(ErrorCode.NONE, None, "a", 2, 5_000, None)
    assert len(under_test.log) == written


def test_full_request_is_told_its_assignment_again() -> None:
    """Whoever says all of itself, as after a lost answer, is told all."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    full = {"rebalance_timeout_ms": 1, "subscribed_topic_names": ["t"], "topic_partitions": []}
    assert under_test.beat("a", 2, **full).assignment == {T: frozenset({0})}


def test_second_member_waits_until_the_first_gives_up() -> None:
    """A partition is revoked before it is assigned: the newcomer gets it after the old owner reports it no more."""
    under_test = GroupUnderTest({"t": 2})
    a = FakeMember(under_test, "a", "t")
    a.obey()
    b = FakeMember(under_test, "b", "t")
    assert b.told == {}
    assert b.epoch == 3
    told = under_test.beat("a", 2)
    assert told.member_epoch == 2
    assert told.assignment is not None
    assert len(told.assignment[T]) == 1
    assert under_test.group.state.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert under_test.beat("b", 3).assignment is None
    assert under_test.beat("a", 2, topic_partitions=owned(told.assignment)).member_epoch == 3
    given = under_test.beat("b", 3).assignment
    assert given == {T: frozenset({0, 1}) - told.assignment[T]}


def test_failed_append_leaves_the_group_as_it_was() -> None:
    """What is not written has not happened: the member is told the error and is no member."""
    under_test = GroupUnderTest({"t": 1})
    under_test.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert under_test.join("a", "t").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert under_test.group.is_gone
    under_test.append_error = ErrorCode.NONE
    assert under_test.join("a", "t").member_epoch == 2


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "error"),
    [
        ("nobody", 2, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("nobody", -1, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", 3, {}, ErrorCode.FENCED_MEMBER_EPOCH),
        ("a", 1, {}, ErrorCode.FENCED_MEMBER_EPOCH),
        ("a", 2, {"instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", 2, {"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_refusals(member_id: str, epoch: int, fields: dict[str, object], error: ErrorCode) -> None:
    """Who is unknown, or in another epoch, is told so, and changes nothing."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    written = len(under_test.log)
    answer = under_test.beat(member_id, epoch, **fields)
    assert answer.error is error
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)
    assert len(under_test.log) == written


def test_previous_epoch_is_accepted_of_a_member_with_nothing_but_its_own() -> None:
    """The answer with the new epoch may have been lost: the member may repeat the old one, saying what it has."""
    under_test = GroupUnderTest({"t": 2})
    a = FakeMember(under_test, "a", "t")
    a.obey()
    under_test.join("b", "t")
    told = under_test.beat("a", 2)
    assert told.assignment is not None
    assert under_test.beat("a", 2, topic_partitions=owned(told.assignment)).member_epoch == 3
    assert under_test.beat("a", 2, topic_partitions=owned(told.assignment)).member_epoch == 3
    assert under_test.beat("a", 2, topic_partitions=owned({T: {0, 1}})).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert under_test.beat("a", 2).error is ErrorCode.FENCED_MEMBER_EPOCH


def test_member_may_rejoin_with_epoch_zero() -> None:
    """A fenced member comes back with its id and no partitions, and is told its assignment."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    answer = under_test.join("a", "t")
    assert (answer.member_epoch, answer.assignment) == (2, {T: frozenset({0})})


def test_group_is_full() -> None:
    """Beyond group.consumer.max.size nobody joins; who is a member stays one."""
    under_test = GroupUnderTest({"t": 1}, ConsumerGroupSettings(max_size=1))
    under_test.join("a", "t")
    assert under_test.join("b", "t").error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert under_test.join("a", "t").error is ErrorCode.NONE


def test_leaving_frees_partitions_and_moves_the_epoch() -> None:
    """What a member had when it left goes to the others with their next heartbeats."""
    under_test = GroupUnderTest({"t": 2})
    a, b = FakeMember(under_test, "a", "t"), FakeMember(under_test, "b", "t")
    settle(a, b)
    assert under_test.beat("b", -1) == ConsumerHeartbeatResult(ErrorCode.NONE, None, "b", -1, 0, None)
    assert under_test.group.state.name == "Assigning"
    assert {key.member_id for key in under_test.timers} == {"a"}
    settle(a)
    assert a.has == {T: frozenset({0, 1})}


def test_last_member_leaves_an_empty_group() -> None:
    """A group without members is Empty, in one epoch more, with its assignment as it was."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", "t")
    under_test.beat("a", -1)
    state = under_test.group.state
    assert (state.name, state.epoch, state.assignment_epoch, state.members) == ("Empty", 3, 2, {})
    assert under_test.timers == {}


def test_session_that_expires_removes_the_member() -> None:
    """Who is not heard of for a session is none any more."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", "t")
    assert under_test.timers == {TimerKey("session", "a"): 45_000}
    under_test.expire("session", "a")
    assert under_test.beat("a", 2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_member_that_does_not_give_up_partitions_is_removed() -> None:
    """Revocation takes at most the member's rebalance timeout."""
    under_test = GroupUnderTest({"t": 2})
    FakeMember(under_test, "a", "t").obey()
    under_test.join("b", "t")
    under_test.beat("a", 2)
    assert under_test.timers[TimerKey("rebalance", "a")] == 30_000
    under_test.expire("rebalance", "a")
    assert set(under_test.group.state.members) == {"b"}
    assert under_test.beat("b", 3).assignment == {T: frozenset({0, 1})}


def test_rebalance_timer_is_cancelled_once_partitions_are_given_up() -> None:
    """No timer watches a member that has done what it was told."""
    under_test = GroupUnderTest({"t": 2})
    a, b = FakeMember(under_test, "a", "t"), FakeMember(under_test, "b", "t")
    settle(a, b)
    assert set(under_test.timers) == {TimerKey("session", "a"), TimerKey("session", "b")}


def test_static_member_keeps_its_place_while_it_is_away() -> None:
    """A static member that left for a while comes back under a new id to the same partitions, in the same epoch."""
    under_test = GroupUnderTest({"t": 2})
    a = FakeMember(under_test, "a", "t", instance_id="i")
    b = FakeMember(under_test, "b", "t")
    settle(a, b)
    had = a.has
    assert under_test.join("c", "t", instance_id="i").error is ErrorCode.UNRELEASED_INSTANCE_ID
    away = under_test.beat("a", -2, instance_id="i")
    assert away == ConsumerHeartbeatResult(ErrorCode.NONE, None, "a", -2, 0, None)
    back = under_test.join("c", "t", instance_id="i")
    assert (back.member_epoch, back.assignment) == (b.epoch, had)
    assert under_test.beat("a", a.epoch, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    assert set(under_test.group.state.members) == {"b", "c"}
    assert b.beat().assignment is None


def test_static_member_that_stays_away_is_removed() -> None:
    """Its session goes on while it is away."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", "t", instance_id="i")
    under_test.beat("a", -2, instance_id="i")
    under_test.expire("session", "a")
    assert under_test.group.state.members == {}
    assert under_test.join("b", "t", instance_id="i").error is ErrorCode.NONE


def test_static_member_leaves_for_good() -> None:
    """Epoch -1 removes a static member, too."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", "t", instance_id="i")
    assert under_test.beat("b", -1, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    assert under_test.beat("a", -1, instance_id="i").error is ErrorCode.NONE
    assert under_test.group.state.static_members == {}


def test_changed_subscription_takes_away_what_is_not_subscribed() -> None:
    """Partitions of a topic given up go at once, those of a new one come with the new target."""
    under_test = GroupUnderTest({"t": 1, "u": 1})
    a = FakeMember(under_test, "a", "t")
    a.obey()
    a.beat(subscribed_topic_names=["u"])
    assert a.has == {}
    settle(a)
    assert a.has == {U: frozenset({0})}


def test_topic_that_grows_is_assigned_anew() -> None:
    """New partitions are found with the next heartbeat."""
    under_test = GroupUnderTest({"t": 1})
    a = FakeMember(under_test, "a", "t")
    under_test.image = image_of({"t": 3})
    settle(a)
    assert a.has == {T: frozenset({0, 1, 2})}
    assert a.epoch == 3


def test_topic_that_comes_later_is_assigned() -> None:
    """A subscribed topic need not exist; it is assigned once it does."""
    under_test = GroupUnderTest({})
    a = FakeMember(under_test, "a", "t")
    assert (a.epoch, a.told) == (2, {})
    under_test.image = image_of({"t": 1})
    settle(a)
    assert a.has == {T: frozenset({0})}


def test_deleted_topic_is_taken_away() -> None:
    """Partitions of a topic that is gone are revoked."""
    under_test = GroupUnderTest({"t": 1, "u": 1})
    a = FakeMember(under_test, "a", "t", "u")
    settle(a)
    under_test.image = image_of({"u": 1})
    settle(a)
    assert a.has == {U: frozenset({0})}


def test_other_changes_of_metadata_change_no_epoch() -> None:
    """Topics that nobody subscribes to are nobody's business."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    under_test.image = image_of({"t": 1, "other": 5})
    assert under_test.beat("a", 2).member_epoch == 2
    assert under_test.group.state.epoch == 2


def test_what_an_expression_matches_comes_with_a_heartbeat_after_that_which_brings_it() -> None:
    """That one is answered with the topics that are known by then: the literal ones, in the epoch they make."""
    under_test = GroupUnderTest({"t": 1, "tx": 1, "u": 1, "v": 1})
    under_test.works_at_once = False
    alone = under_test.join("a", subscribed_topic_names=None, subscribed_topic_regex="t.?")
    assert (alone.error, alone.member_epoch, alone.assignment) == (ErrorCode.NONE, 1, {})
    under_test.work()
    assert under_test.group.subscribes("tx")
    assert not under_test.group.subscribes("u")
    later = under_test.beat("a", 1)
    assert (later.member_epoch, later.assignment) == (2, {T: frozenset({0}), topic_id("tx"): frozenset({0})})
    both = under_test.beat("a", 2, subscribed_topic_names=["v"], subscribed_topic_regex="u")
    assert (both.member_epoch, under_test.group.state.epoch) == (2, 3)
    assert under_test.group.state.targets["a"] == {topic_id("v"): frozenset({0})}
    under_test.work()
    assert under_test.group.state.epoch == 4


def test_an_expression_matches_no_topic_that_the_member_may_not_know_of() -> None:
    """Else it would be told its name by being assigned its partitions."""
    under_test = GroupUnderTest({"t": 1, "t-secret": 1})
    under_test.client = under_test.client._replace(sees=lambda name: name == "t")
    under_test.join("a", subscribed_topic_names=None, subscribed_topic_regex="t.*")
    assert under_test.beat("a", 1).assignment == {T: frozenset({0})}
    assert not under_test.group.subscribes("t-secret")


def test_expressions_are_resolved_one_search_at_a_time() -> None:
    """However many heartbeats come meanwhile; what failed to be written is looked for again."""
    under_test = GroupUnderTest({"t": 1})
    under_test.works_at_once = False
    under_test.join("a", subscribed_topic_names=None, subscribed_topic_regex="t")
    under_test.beat("a", 1)
    under_test.join("b", subscribed_topic_names=None, subscribed_topic_regex="u")
    assert len(under_test.background) == 1
    under_test.append_error = ErrorCode.NOT_COORDINATOR
    under_test.work()
    assert under_test.group.state.expressions == {}
    under_test.append_error = ErrorCode.NONE
    under_test.beat("a", 1)
    under_test.work()
    assert set(under_test.group.state.expressions) == {"t", "u"}


def test_an_expression_that_takes_too_much_work_is_refused_with_the_next_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one that does not parse is; others of the group are resolved, and it is not tried again at once."""
    monkeypatch.setattr(regexes, "MAX_WORK", 1_000)
    under_test = GroupUnderTest({"x" * 100: 1, "t": 1})
    dear = {"subscribed_topic_regex": "(?:x?){100}y"}
    assert under_test.join("a", subscribed_topic_names=None, **dear).error is ErrorCode.NONE
    assert under_test.join("b", subscribed_topic_names=None, subscribed_topic_regex="t").error is ErrorCode.NONE
    refused = under_test.beat("a", under_test.group.state.members["a"].epoch, **dear)
    assert refused.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "expensive" in str(refused.message)
    under_test.now += 10_001
    under_test.beat("b", under_test.group.state.members["b"].epoch)
    assert set(under_test.group.state.expressions) == {"t"}
    under_test.works_at_once = False
    under_test.beat("b", under_test.group.state.members["b"].epoch)
    assert under_test.background == []


def test_new_topics_are_matched_at_most_every_ten_seconds() -> None:
    """New topics that an expression matches are found, but not searched for all the time; a group's first expression
    is resolved at once, a second one waits its turn."""
    under_test = GroupUnderTest({"t": 1})
    a = FakeMember(under_test, "a", subscribed_topic_names=None, subscribed_topic_regex="t.*")
    settle(a)
    assert len(a.has) == 1
    under_test.image = image_of({"t": 1, "t2": 1})
    b = FakeMember(under_test, "b", subscribed_topic_names=None, subscribed_topic_regex="t2")
    settle(a, b)
    assert len(a.has) == 1
    assert not b.has
    under_test.now += 10_001
    settle(a, b)
    assert len(a.has) + len(b.has) == 2


def test_expression_of_the_last_subscriber_is_forgotten() -> None:
    """Who leaves, or changes its mind, takes its expression along unless another uses it."""
    under_test = GroupUnderTest({"t": 1})
    by_expression = {"subscribed_topic_names": None, "subscribed_topic_regex": "t"}
    under_test.join("a", **by_expression)
    under_test.join("b", **by_expression)
    under_test.beat("a", -1)
    assert set(under_test.group.state.expressions) == {"t"}
    b = under_test.group.state.members["b"]
    assert under_test.beat("b", b.epoch, subscribed_topic_regex="u").error is ErrorCode.NONE
    assert set(under_test.group.state.expressions) == {"u"}
    under_test.beat("b", under_test.group.state.members["b"].epoch, subscribed_topic_regex="")
    assert under_test.group.state.expressions == {}


def test_assignments_are_batched_where_configured() -> None:
    """With group.consumer.assignment.interval.ms a second member waits for its assignment, the first never does."""
    under_test = GroupUnderTest({"t": 2}, ConsumerGroupSettings(assignment_interval_ms=1_000))
    assert under_test.join("a", "t").assignment == {T: frozenset({0, 1})}
    assert under_test.join("b", "t").member_epoch == 2
    assert under_test.group.state.name == "Assigning"
    under_test.now += 1_000
    assert under_test.beat("b", 2).member_epoch == 3


def test_most_wanted_assignor_is_used() -> None:
    """The members' votes decide, the broker's first assignor where they are even."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", "t", server_assignor="range")
    under_test.join("b", "t", server_assignor="uniform")
    under_test.join("c", "t", server_assignor="range")
    state = under_test.group.state
    assert {member: sorted(target.get(T, ())) for member, target in state.targets.items()} == {
        "a": [0],
        "b": [1],
        "c": [],
    }


def test_restart_goes_on_where_it_stopped() -> None:
    """The last record of each key makes the group again, with a session for every member."""
    under_test = GroupUnderTest({"t": 2})
    a, b = FakeMember(under_test, "a", "t"), FakeMember(under_test, "b", "t", instance_id="i")
    settle(a, b)
    again = under_test.reloaded()
    assert again.group.state.members == under_test.group.state.members
    assert again.group.state.owners == under_test.group.state.owners
    assert again.group.state.static_members == {"i": "b"}
    assert set(again.timers) == {TimerKey("session", "a"), TimerKey("session", "b")}
    assert again.beat("a", a.epoch) == ConsumerHeartbeatResult(ErrorCode.NONE, None, "a", a.epoch, 5_000, None)


def test_restart_amid_a_revocation_gives_the_rebalance_timeout_anew() -> None:
    """A member that had yet to give up partitions is watched again."""
    under_test = GroupUnderTest({"t": 2})
    FakeMember(under_test, "a", "t").obey()
    under_test.join("b", "t")
    under_test.beat("a", 2)
    assert under_test.reloaded().timers[TimerKey("rebalance", "a")] == 30_000


def test_deleted_group_is_gone_for_good() -> None:
    """Deleting an empty group removes every key it ever wrote; one with members cannot be deleted."""
    under_test = GroupUnderTest({"t": 2})
    under_test.join("a", subscribed_topic_names=None, subscribed_topic_regex="t")
    assert under_test.group.delete_error() is ErrorCode.NON_EMPTY_GROUP
    under_test.beat("a", -1)
    under_test.carry_out(under_test.group.delete())
    assert under_test.group.is_gone
    assert under_test.reloaded().log == []


def test_partition_metadata_of_older_versions_is_removed() -> None:
    """The record that Kafka wrote before 4.1 goes with the first change of the epoch."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    key, value = ConsumerGroupPartitionMetadataKey(group_id=GROUP), ConsumerGroupPartitionMetadataValue()
    under_test.group.apply(CoordinatorRecord(key, value))
    under_test.image = image_of({"t": 2})
    under_test.beat("a", 2)
    assert under_test.log[-1].value is not None
    gone = [record for record in under_test.log if isinstance(record.key, ConsumerGroupPartitionMetadataKey)]
    assert [record.value for record in gone] == [None]


def test_epoch_record_carries_the_hash_of_the_topics() -> None:
    """The hash is written with the epoch, and 0 for a group without topics."""
    under_test = GroupUnderTest({"t": 1})
    under_test.join("a", "t")
    under_test.beat("a", -1)
    values = [record.value for record in under_test.log if isinstance(record.value, ConsumerGroupMetadataValue)]
    assert [value.epoch for value in values] == [2, 3]
    assert values[0].metadata_hash != 0
    assert values[1].metadata_hash == 0


def test_a_list_that_names_one_topic_again_and_again_takes_no_time() -> None:
    """What a member says it has is read in time proportional to its length; the list of topics is bounded, too."""
    topics = [TopicPartitions(topic_id=T, partitions=[index]) for index in range(MAX_TOPICS)]
    before = thread_time()
    assert owned_partitions(topics) == {T: frozenset(range(MAX_TOPICS))}
    assert thread_time() - before < 0.5
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=1, topic_partitions=topics)
    check_heartbeat(request, 1, ("uniform",))
    request.topic_partitions = [*topics, topics[0]]
    with pytest.raises(KafkaError) as caught:
        check_heartbeat(request, 1, ("uniform",))
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_subscriptions_that_could_not_be_stored_are_not_taken_apart() -> None:
    """Members of a classic group that say megabytes in all count as subscribed to everything."""
    data = GroupData("g", ClassicGroupLimits(), 0)
    data.protocol_type, data.protocol_name = "consumer", "range"
    for number, size in enumerate((1, 100_000)):
        member = ClassicGroupMember(f"m{number}", None, "c", "/h")
        topics = b"".join(b"\0\x05%05d" % topic for topic in range(size))
        said = b"\0\0" + size.to_bytes(4, "big") + topics + b"\xff\xff\xff\xff"
        member.protocols = (SupportedProtocol("range", said),)
        data.membership.add(member)
        assert (subscribed_topics(data) is None) == (size > 1)
