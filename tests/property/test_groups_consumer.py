"""Consumer groups against their invariants: whatever members do, nobody reads what another reads, and all comes right.

Members of both protocols join, beat with or without what they have, leave, are cut off, come back as who they were, in
their own protocol or the other; topics come, grow and go; the broker stops. A group that becomes classic because only
classic members are left becomes a consumer group again when the next consumer joins. After every step no partition is
used by two members and no epoch has fallen; once members beat long enough the group is stable, everything is assigned,
and evenly.
"""

from __future__ import annotations

from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.broker.coordinator.effects import TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import ClassicGroupLimits
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.subscriptions import topic_ids, topic_names
from odradek.protocol.errors import ErrorCode
from tests.support.classic_member import FakeClassicMember
from tests.support.consumer_group import GROUP, FakeMember, GroupUnderTest, image_of, settle

TOPICS = ("t", "u", "v")
SUBSCRIPTIONS = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True).map(tuple)


class Groups(RuleBasedStateMachine):
    """One group, its members, and topics that change."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = {"t": 3, "u": 2}
        self.ids: dict[str, UUID] = {}
        self.under_test = GroupUnderTest(self.counts, ConsumerGroupSettings(max_size=6, max_classic_size=5))
        self.live: list[FakeMember | FakeClassicMember] = []
        self.made = 0
        self.epochs = (0, 0)
        self.member_epochs: dict[str, int] = {}

    @property
    def consumers(self) -> list[FakeMember]:
        """The live members that speak the consumer protocol."""
        return [member for member in self.live if isinstance(member, FakeMember)]

    @property
    def static_consumers(self) -> list[FakeMember]:
        """Those of them that are static."""
        return [member for member in self.consumers if member.fields.get("instance_id")]

    def go_on(self) -> None:
        """If the group has become a classic one, in which everybody is told to join again, let a consumer join it."""
        ended = self.under_test.group
        if ended.successor is None:
            return
        assert not self.consumers
        classic = ClassicGroup.from_record(GROUP, ended.successor, ClassicGroupLimits())
        assert set(classic.members) == {member.member_id for member in self.live} or not ended.successor_rebalances
        for member in self.live:
            if ended.successor_rebalances:
                member.has = {}
        under_test = self.under_test
        under_test.group = ConsumerGroup(GROUP, lambda: under_test.settings, lambda: under_test.image, classic)
        self.made += 1
        self.live.append(FakeMember(under_test, f"m{self.made}", "t"))
        assert self.consumers[0].epoch > 0

    @property
    def is_full(self) -> bool:
        """A full group takes nobody under a new id, as in Kafka; not even who comes back."""
        return len(self.under_test.group.state.members) >= self.under_test.settings.max_size

    @rule(topics=SUBSCRIPTIONS, static=st.booleans(), assignor=st.sampled_from((None, "uniform", "range")))
    def join(self, topics: tuple[str, ...], static: bool, assignor: str | None) -> None:
        """A new member joins, if there is room."""
        self.made += 1
        instance = f"i{self.made}" if static else None
        member = FakeMember(self.under_test, f"m{self.made}", *topics, instance_id=instance, server_assignor=assignor)
        if member.epoch:
            self.live.append(member)

    @rule(expression=st.sampled_from(("t|u", "[u-v]", ".*", "t")))
    def join_by_expression(self, expression: str) -> None:
        """A new member joins that subscribes by a regular expression."""
        self.made += 1
        fields = {"subscribed_topic_names": None, "subscribed_topic_regex": expression}
        member = FakeMember(self.under_test, f"m{self.made}", **fields)
        if member.epoch:
            self.live.append(member)

    @rule(topics=SUBSCRIPTIONS, cooperative=st.booleans())
    def join_classic(self, topics: tuple[str, ...], cooperative: bool) -> None:
        """A new member of the classic protocol joins, if there are consumers and room."""
        if not self.consumers:
            return
        self.made += 1
        member = FakeClassicMember(self.under_test, f"m{self.made}", *topics, cooperative=cooperative)
        if member.epoch:
            self.live.append(member)

    @precondition(lambda self: self.static_consumers and not self.is_full)
    @rule(data=st.data())
    def come_back_classic(self, data: st.DataObject) -> None:
        """A static member comes back under a new id with the classic protocol; as the last consumer it ends the
        consumer group."""
        old = data.draw(st.sampled_from(self.static_consumers))
        self.live.remove(old)
        self.made += 1
        instance = str(old.fields["instance_id"])
        member = FakeClassicMember(self.under_test, f"m{self.made}", *old.topics, instance_id=instance)
        assert member.epoch
        self.live.append(member)
        self.go_on()

    @precondition(lambda self: self.live)
    @rule(data=st.data(), obeys=st.booleans(), says=st.booleans())
    def beat(self, data: st.DataObject, obeys: bool, says: bool) -> None:
        """A member sends a heartbeat, maybe without saying what it has, and maybe does as it is told."""
        member = data.draw(st.sampled_from(self.live))
        answer = member.beat() if says else member.beat(topic_partitions=None)
        if answer.error is not ErrorCode.NONE:
            member.join()
        if obeys:
            member.obey()

    @precondition(lambda self: self.consumers)
    @rule(data=st.data())
    def lose_the_answer(self, data: st.DataObject) -> None:
        """A heartbeat is taken, but its answer gets lost; the member says all of itself again, in its old epoch."""
        member = data.draw(st.sampled_from(self.consumers))
        epoch, has, told = member.epoch, member.has, member.told
        member.beat()
        member.epoch, member.has, member.told = epoch, has, told
        if member.beat_in_full().error is not ErrorCode.NONE:
            member.join()

    @precondition(lambda self: self.consumers)
    @rule(data=st.data(), topics=SUBSCRIPTIONS)
    def change_subscription(self, data: st.DataObject, topics: tuple[str, ...]) -> None:
        """A member subscribes to other topics."""
        member = data.draw(st.sampled_from(self.consumers))
        member.topics = topics
        member.fields["subscribed_topic_names"] = list(topics)
        if member.beat(subscribed_topic_names=list(topics)).error is not ErrorCode.NONE:
            member.join()

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """A member leaves for good."""
        member = data.draw(st.sampled_from(self.live))
        self.live.remove(member)
        if isinstance(member, FakeClassicMember):
            member.leave()
        else:
            self.under_test.beat(member.member_id, -1, instance_id=member.fields.get("instance_id"))
        self.go_on()

    @precondition(lambda self: self.under_test.timers)
    @rule(data=st.data())
    def time_out(self, data: st.DataObject) -> None:
        """A timer runs out; the member stops, as a client does that is told it is fenced."""
        key = data.draw(st.sampled_from(sorted(self.under_test.timers)))
        self.under_test.expire(key.kind, key.member_id)
        group = self.under_test.group
        members = (
            group.state.members if group.successor is None else {each.member_id for each in group.successor.members}
        )
        self.live = [member for member in self.live if member.member_id in members]
        self.go_on()

    @precondition(lambda self: self.static_consumers and not self.is_full)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        """A static member leaves for a while, and comes back under a new id."""
        old = data.draw(st.sampled_from(self.static_consumers))
        self.under_test.beat(old.member_id, -2, instance_id=old.fields["instance_id"])
        self.live.remove(old)
        self.made += 1
        self.live.append(FakeMember(self.under_test, f"m{self.made}", *old.topics, **old.fields))
        assert self.live[-1].epoch > 0

    @rule(topic=st.sampled_from(TOPICS), more=st.integers(1, 3))
    def grow_topic(self, topic: str, more: int) -> None:
        """A topic comes, or grows."""
        if topic not in self.counts:
            self.made += 1
            self.ids[topic] = UUID(int=self.made)
        self.counts[topic] = self.counts.get(topic, 0) + more
        self.under_test.image = image_of(self.counts, self.ids)

    @rule(topic=st.sampled_from(TOPICS))
    def delete_topic(self, topic: str) -> None:
        """A topic goes; the next of its name has another id."""
        if self.counts.pop(topic, None):
            self.under_test.image = image_of(self.counts, self.ids)

    @rule()
    def restart(self) -> None:
        """The broker stops, and reads what it wrote."""
        state = self.under_test.group.state
        again = self.under_test.reloaded()
        assert again.group.state.members == state.members
        assert again.group.state.targets == state.targets
        assert again.group.state.owners == state.owners
        assert again.group.state.expressions == state.expressions
        for member in self.live:
            member.under_test = again
        self.under_test = again

    @rule(failing=st.booleans())
    def fail_to_append(self, failing: bool) -> None:
        """A record cannot be written: nothing has happened."""
        state = self.under_test.group.state
        before = (state.epoch, dict(state.members), dict(state.targets), dict(state.owners))
        self.under_test.append_error = ErrorCode.NOT_COORDINATOR
        self.under_test.join("late", "t")
        self.under_test.append_error = ErrorCode.NONE
        assert before == (state.epoch, state.members, state.targets, state.owners)

    @rule()
    def everybody_beats(self) -> None:
        """All live members beat until nothing changes: the group is where it should be."""
        self.under_test.now += 20_000
        group = self.under_test.group
        for member_id in set(group.state.members) - {member.member_id for member in self.live}:
            self.under_test.carry_out(group.on_timer(TimerKey("session", member_id), self.under_test.now))
            if group.successor is not None:
                break  # only those who live are left
        self.go_on()
        group = self.under_test.group
        if not self.live:
            return
        settle(*self.live)
        assert group.state.name == "Stable"
        assert {m: dict(group.state.targets.get(m, {})) for m in group.state.members} == {
            member.member_id: dict(member.has) for member in self.live
        }
        self._check_all_is_assigned()

    def _check_all_is_assigned(self) -> None:
        state, image = self.under_test.group.state, self.under_test.image
        wanted = {m: topic_ids(topic_names(state, member), image) for m, member in state.members.items()}
        expected = {
            (topic.topic_id, partition)
            for topic in image.topics_by_name.values()
            if any(topic.topic_id in topics for topics in wanted.values())
            for partition in range(len(topic.partitions))
        }
        assert state.owners.keys() == expected
        assert all(topic in wanted[owner] for (topic, _), owner in state.owners.items())
        votes = [member.metadata.assignor for member in state.members.values()]
        if len(set(wanted.values())) == 1 and votes.count("range") <= votes.count("uniform"):
            loads = [sum(map(len, member.has.values())) for member in self.live]
            assert max(loads) - min(loads) <= 1

    @invariant()
    def nobody_uses_what_another_uses(self) -> None:
        """A partition is with one member at most, as they see it and as the group does."""
        state = self.under_test.group.state
        members = [member for member in self.live if member.member_id in state.members]
        used = [(topic, p) for member in members for topic, partitions in member.has.items() for p in partitions]
        assert len(used) == len(set(used))
        owned = [
            (topic, p)
            for member in state.members.values()
            for owned in (member.assigned, member.revoking)
            for topic, partitions in owned.items()
            for p in partitions
        ]
        assert len(owned) == len(set(owned)) == len(state.owners)

    @invariant()
    def epochs_only_grow(self) -> None:
        """No epoch falls, of the group, its target or a member; no member is ahead of the target."""
        state = self.under_test.group.state
        assert state.epoch >= self.epochs[0]
        assert state.assignment_epoch >= self.epochs[1]
        assert state.assignment_epoch <= state.epoch
        self.epochs = (state.epoch, state.assignment_epoch)
        for member_id, member in state.members.items():
            assert member.epoch >= self.member_epochs.get(member_id, 0)
            assert member.epoch <= state.assignment_epoch
            self.member_epochs[member_id] = member.epoch


TestGroups = Groups.TestCase
TestGroups.settings = settings(TestGroups.settings, stateful_step_count=40)
