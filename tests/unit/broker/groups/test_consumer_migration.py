"""Members of both protocols in one group, and groups that change from one to the other: as Apache Kafka 4.3 does it."""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack
from typing import Any

import pytest

from odradek.broker.coordinator.effects import Effects, TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    ClassicHeartbeat,
    HeartbeatResult,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SupportedProtocol,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.consumer.embedded import read_assignment
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.member import MemberState, MemberType
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from tests.support.consumer_group import GROUP, FakeMember, GroupUnderTest, image_of, topic_id

T = topic_id("t")


def subscription(*topics: str, has: Mapping[str, list[int]] | None = None) -> bytes:
    partitions = [TopicPartition(topic=topic, partitions=indexes) for topic, indexes in (has or {}).items()]
    said = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=partitions)
    return pack(">h", 1) + encode(said, 1)


def assignment(partitions: list[int], user_data: bytes | None = None) -> bytes:
    given = [TopicPartition(topic="t", partitions=partitions)]
    return pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=given, user_data=user_data), 1)


def request(member_id: str, has: list[int], version: int = 9, **changed: object) -> JoinRequest:
    protocols = (SupportedProtocol("range", subscription("t", has={"t": has})),)
    base = JoinRequest(member_id, None, "tests", "/127.0.0.1", 10_000, 20_000, "consumer", protocols, version, "new")
    return base._replace(**changed)  # type: ignore[arg-type]


class Mixed:
    """A consumer group with one consumer, that classic members may join."""

    def __init__(self, settings: ConsumerGroupSettings | None = None) -> None:
        self.under_test = GroupUnderTest({"t": 4}, settings)
        self.consumer = FakeMember(self.under_test, "a", "t")
        self.consumer.obey()

    def tell(self, effects: Effects) -> object:
        """Carry out effects; return the answer."""
        answers = [answer for _, answer in effects.answers]
        effects.answers.clear()
        self.under_test.carry_out(effects)
        return answers[0]

    def join(self, member_id: str = "c", has: tuple[int, ...] = (), **changed: object) -> JoinResult:
        """Send JoinGroup."""
        joining = request(member_id, list(has), **changed)  # type: ignore[arg-type]
        answer = self.tell(self.under_test.group.join(joining, object(), 0))
        assert isinstance(answer, JoinResult)
        return answer

    def sync(self, generation: int, member_id: str = "c", **changed: object) -> tuple[ErrorCode, set[int]]:
        """Send SyncGroup; return what was assigned."""
        syncing = SyncRequest(member_id, None, generation, "consumer", "range", {})._replace(**changed)  # type: ignore[arg-type]
        answer = self.tell(self.under_test.group.sync(syncing, object()))
        assert isinstance(answer, SyncResult)
        return answer.error, set(read_assignment(answer.assignment).partitions.get("t", ()))

    def beat(self, generation: int, member_id: str = "c") -> ErrorCode:
        """Send Heartbeat."""
        answer = self.tell(
            self.under_test.group.classic_heartbeat(ClassicHeartbeat(member_id, None, generation), object())
        )
        assert isinstance(answer, HeartbeatResult)
        return answer.error

    def leave(self, *members: tuple[str, str | None]) -> list[ErrorCode]:
        """Send LeaveGroup."""
        leaving = [LeavingMember(*member) for member in members]
        answer = self.tell(self.under_test.group.leave(leaving, object(), 0))
        assert isinstance(answer, LeaveResult)
        return [left.error for left in answer.members]


def test_classic_member_is_led_to_its_share() -> None:
    """It waits until a consumer gives up partitions, is told to join again, and gets them with SyncGroup."""
    mixed = Mixed()
    joined = mixed.join()
    assert joined == JoinResult(ErrorCode.NONE, "c", 3, "consumer", "range")
    assert mixed.under_test.group.state.members["c"].type is MemberType.CLASSIC
    assert mixed.sync(3) == (ErrorCode.NONE, set())
    assert mixed.beat(3) is ErrorCode.NONE
    mixed.consumer.beat()
    mixed.consumer.obey()
    assert mixed.beat(3) is ErrorCode.NONE
    mixed.consumer.beat()
    assert mixed.beat(3) is ErrorCode.REBALANCE_IN_PROGRESS
    assert mixed.join().generation == 3
    assert mixed.sync(3)[1] == set(range(4)) - mixed.consumer.has[T]
    assert mixed.beat(3) is ErrorCode.NONE


def test_cooperative_member_gives_up_before_others_get() -> None:
    """A classic member that says what it has stays in its epoch until it has given up what it must."""
    mixed = Mixed()
    mixed.under_test.beat("a", -1)
    under_test = mixed.under_test
    assert mixed.join().generation == 4
    assert mixed.sync(4)[1] == {0, 1, 2, 3}
    under_test.join("b", "t")
    assert mixed.beat(4) is ErrorCode.REBALANCE_IN_PROGRESS
    assert mixed.sync(4)[0] is ErrorCode.REBALANCE_IN_PROGRESS
    assert mixed.join(has=(0, 1, 2, 3)).generation == 4
    assert under_test.group.state.members["c"].state is MemberState.UNREVOKED_PARTITIONS
    kept = mixed.sync(4)[1]
    assert len(kept) == 2
    assert under_test.beat("b", 5).assignment is None
    assert mixed.join(has=tuple(kept)).generation == 5
    assert under_test.beat("b", 5).assignment == {T: frozenset(range(4)) - kept}


def test_new_dynamic_member_is_given_an_id_first() -> None:
    """From version 4 of JoinGroup on, and without becoming a member by it."""
    mixed = Mixed()
    assert mixed.join("") == JoinResult(ErrorCode.MEMBER_ID_REQUIRED, "tests-new")
    assert set(mixed.under_test.group.state.members) == {"a"}
    assert mixed.join("", version=3).error is ErrorCode.NONE


@pytest.mark.parametrize(
    "changed",
    [
        {"protocol_type": "connect"},
        {"protocols": ()},
        {"protocols": (SupportedProtocol("range", b"\0"),)},
        {"protocols": (SupportedProtocol("roundrobin", subscription("t")),)},
    ],
)
def test_who_does_not_speak_like_the_others_does_not_join(changed: dict[str, object]) -> None:
    """There must be a protocol that all classic members speak, and they must be consumers that can be understood."""
    mixed = Mixed()
    mixed.join()
    assert mixed.join("d", (), **changed) == JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def test_requests_of_strangers_and_latecomers_are_refused() -> None:
    """Errors are those of classic groups; a consumer is a stranger to requests of the classic protocol."""
    mixed = Mixed()
    generation = mixed.join().generation
    assert mixed.beat(generation, "nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.beat(2, "a") is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.beat(generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert mixed.sync(generation, "nobody")[0] is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.sync(generation + 1)[0] is ErrorCode.ILLEGAL_GENERATION
    assert mixed.sync(generation, protocol_name="other")[0] is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert mixed.sync(generation, group_instance_id="i")[0] is ErrorCode.UNKNOWN_MEMBER_ID
    assert mixed.leave(("nobody", None), ("", "i")) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_classic_member_that_does_not_follow_is_removed() -> None:
    """Who joined must send SyncGroup, who is told to join again must join, both within the rebalance timeout."""
    mixed = Mixed()
    timers = mixed.under_test.timers
    mixed.join()
    assert timers[TimerKey("sync", "c")] == 20_000
    assert timers[TimerKey("session", "c")] == 10_000
    mixed.sync(3)
    assert TimerKey("sync", "c") not in timers
    mixed.under_test.join("b", "t")
    mixed.beat(3)
    assert timers[TimerKey("rejoin", "c")] == 20_000
    mixed.under_test.expire("rejoin", "c")
    assert "c" not in mixed.under_test.group.state.members


def test_static_classic_member_comes_back_at_once() -> None:
    """It need not have left, unlike a consumer; its old id is fenced."""
    mixed = Mixed()
    first = mixed.join("", group_instance_id="i", version=9)
    assert first.error is ErrorCode.NONE
    second = mixed.join("", group_instance_id="i", new_id="newer")
    assert (second.error, second.generation) == (ErrorCode.NONE, first.generation)
    assert mixed.join(first.member_id, group_instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    assert mixed.leave(("", "i")) == [ErrorCode.NONE]


def test_group_becomes_classic_when_the_last_consumer_leaves() -> None:
    """Its classic members and what they are to have are in one record; nothing of the consumer group is left."""
    mixed = Mixed()
    mixed.join()
    assert mixed.under_test.beat("a", -1).error is ErrorCode.NONE
    group = mixed.under_test.group
    assert group.is_gone
    assert group.successor is not None
    classic = ClassicGroup.from_record(GROUP, group.successor, ClassicGroupLimits())
    assert (classic.generation, classic.protocol_name, classic.leader, set(classic.members)) == (3, "range", "c", {"c"})
    assert len(read_assignment(classic.members["c"].assignment).partitions["t"]) == 2
    assert mixed.under_test.timers == {}
    survivors = mixed.under_test.reloaded_records()
    assert [type(record.key) for record in survivors] == [GroupMetadataKey]


def test_group_becomes_classic_when_the_last_consumer_is_replaced() -> None:
    """A static member that comes back with the classic protocol keeps its partitions; where everybody has what is
    meant for them, nobody has to join again."""
    mixed = Mixed()
    mixed.under_test.beat("a", -1)
    mixed.under_test = GroupUnderTest({"t": 4})
    mixed.under_test.join("s", "t", instance_id="i")
    answer = mixed.join("", group_instance_id="i", new_id="x")
    group = mixed.under_test.group
    assert (answer.error, answer.member_id, answer.generation) == (ErrorCode.NONE, "i-x", 2)
    assert group.is_gone
    assert not group.successor_rebalances
    assert group.successor is not None
    classic = ClassicGroup.from_record(GROUP, group.successor, ClassicGroupLimits())
    assert (classic.generation, classic.leader, list(classic.members)) == (answer.generation, "i-x", ["i-x"])
    assert set(read_assignment(classic.members["i-x"].assignment).partitions["t"]) == {0, 1, 2, 3}
    assert mixed.under_test.timers == {}
    survivors = mixed.under_test.reloaded_records()
    assert [type(record.key) for record in survivors] == [GroupMetadataKey]


@pytest.mark.parametrize("late", ["the others", "the subscription"])
def test_replaced_group_rebalances_where_not_all_is_as_it_should_be(late: str) -> None:
    """Somebody may still have what the newcomer is to have, or it wants something else than before."""
    mixed = Mixed()
    mixed.under_test.beat("a", -1)
    mixed.under_test = GroupUnderTest({"t": 4, "u": 2})
    mixed.join(version=9)
    assert mixed.sync(mixed.under_test.group.state.members["c"].epoch)[1] == {0, 1, 2, 3}
    mixed.under_test.join("s", "t", instance_id="i")
    changed: dict[str, Any] = {}
    if late == "the subscription":
        epoch = mixed.join(has=(0, 1, 2, 3)).generation
        kept = mixed.sync(epoch)[1]
        mixed.join(has=tuple(kept))
        mixed.under_test.beat("s", mixed.under_test.group.state.members["s"].epoch)
        changed = {"protocols": (SupportedProtocol("range", subscription("t", "u")),)}
    assert mixed.join("", group_instance_id="i", **changed).error is ErrorCode.NONE
    group = mixed.under_test.group
    assert group.successor is not None
    assert group.successor_rebalances
    assert len(group.successor.members) == 2


@pytest.mark.parametrize(
    "settings", [ConsumerGroupSettings(may_downgrade=False), ConsumerGroupSettings(max_classic_size=0)]
)
def test_replaced_group_stays_a_consumer_group_where_it_must(settings: ConsumerGroupSettings) -> None:
    """As when the last consumer leaves."""
    mixed = Mixed(settings)
    mixed.under_test.beat("a", -1)
    mixed.under_test.join("s", "t", instance_id="i")
    assert mixed.join("", group_instance_id="i").error is ErrorCode.NONE
    assert set(mixed.under_test.group.state.members) == {"i-new"}


@pytest.mark.parametrize(
    "settings", [ConsumerGroupSettings(may_downgrade=False), ConsumerGroupSettings(max_classic_size=0)]
)
def test_group_stays_a_consumer_group_where_it_must(settings: ConsumerGroupSettings) -> None:
    """group.consumer.migration.policy and group.max.size may forbid the way back."""
    mixed = Mixed(settings)
    mixed.join()
    mixed.under_test.beat("a", -1)
    assert set(mixed.under_test.group.state.members) == {"c"}


def classic_group(protocol_type: str = "consumer", user_data: bytes | None = None) -> ClassicGroup:
    member = MemberMetadata(
        member_id="c",
        client_id="tests",
        client_host="/127.0.0.1",
        rebalance_timeout=20_000,
        session_timeout=10_000,
        subscription=subscription("t"),
        assignment=assignment([0, 1, 2, 3], user_data),
    )
    value = GroupMetadataValue(
        protocol_type=protocol_type, generation=5, protocol="range", leader="c", members=[member]
    )
    return ClassicGroup.from_record(GROUP, value, ClassicGroupLimits())


def upgraded(classic: ClassicGroup, settings: ConsumerGroupSettings | None = None) -> GroupUnderTest:
    under_test = GroupUnderTest({}, settings)
    under_test.image = image_of({"t": 4})
    under_test.group = ConsumerGroup(GROUP, lambda: under_test.settings, lambda: under_test.image, classic)
    return under_test


def test_classic_group_becomes_a_consumer_group_when_a_consumer_joins() -> None:
    """Its members keep what they have, in the epoch of their generation, until they are told to join again."""
    classic = classic_group()
    under_test = upgraded(classic)
    answer = under_test.join("a", "t")
    assert (answer.member_epoch, answer.assignment) == (6, {})
    state = under_test.group.state
    assert state.members["c"].epoch == 5
    assert set(state.owners.values()) == {"c"}
    assert (under_test.log[0].key, under_test.log[0].value) == (GroupMetadataKey(group=GROUP), None)
    assert classic.state.value == "Dead"
    assert under_test.timers[TimerKey("session", "c")] == 10_000
    assert under_test.group.subscribes("t")


def test_failed_upgrade_leaves_the_classic_group() -> None:
    """What is not written has not happened."""
    classic = classic_group()
    under_test = upgraded(classic)
    under_test.append_error = ErrorCode.NOT_COORDINATOR
    assert under_test.join("a", "t").error is ErrorCode.NOT_COORDINATOR
    assert classic.state.value == "Stable"
    assert under_test.group.is_gone


@pytest.mark.parametrize(
    ("classic", "settings"),
    [
        (classic_group("connect"), ConsumerGroupSettings()),
        (classic_group(user_data=b"x"), ConsumerGroupSettings()),
        (classic_group(), ConsumerGroupSettings(may_upgrade=False)),
        (classic_group(), ConsumerGroupSettings(max_size=0)),
    ],
)
def test_classic_group_that_cannot_change_refuses_consumers(
    classic: ClassicGroup, settings: ConsumerGroupSettings
) -> None:
    """Groups of others than consumers, with an assignor of their own, or where the broker forbids it."""
    assert upgraded(classic, settings).join("a", "t").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert classic.state.value == "Stable"
