"""A consumer group: the machine itself, with one method for every event.

Owns: which records, answers and timers follow from an event. Must not know: clocks, logs, who waits for an answer. What
a method wants of them is in the `Effects` it returns, which must be carried out before the next event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, Now, TimerKey, Token
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import ClassicHeartbeat, JoinRequest, LeavingMember, SyncRequest
from odradek.broker.groups.consumer import classic_requests
from odradek.broker.groups.consumer.core import GroupCore, tombstones
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.heartbeat import ClientInfo, ConsumerHeartbeatResult, beat
from odradek.broker.groups.consumer.leaving import leave_for_a_while
from odradek.broker.groups.consumer.member import LEAVING, LEAVING_FOR_A_WHILE, ConsumerGroupMember
from odradek.broker.groups.consumer.migration import check_upgrade, upgrade
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.steps import member_of
from odradek.broker.groups.consumer.subscriptions import subscribes_to
from odradek.broker.groups.consumer.views import ConsumerGroupView, describe
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue


class ConsumerGroup:
    """One group of the consumer protocol."""

    def __init__(
        self,
        group_id: str,
        settings: Callable[[], ConsumerGroupSettings],
        image: Callable[[], MetadataImage],
        predecessor: ClassicGroup | None = None,
    ) -> None:
        """Make an empty group; with a predecessor, one that takes the place of a classic group when somebody joins.

        `settings` and `image` give what holds at the moment of an event.
        """
        self._core = GroupCore(group_id, settings, image)
        self._predecessor = predecessor
        self.state = self._core.state
        """For reading."""

    @property
    def group_id(self) -> str:
        """Its name."""
        return self.state.group_id

    @property
    def is_gone(self) -> bool:
        """Whether no record speaks of it: it is to be dropped."""
        return self.state.is_gone

    @property
    def successor(self) -> GroupMetadataValue | None:
        """The classic group that it has become, when it is gone for that reason."""
        return self._core.successor

    @property
    def successor_rebalances(self) -> bool:
        """Whether its members have to join that again, because not all have what they are to have."""
        return self._core.successor_rebalances

    def subscribes(self, topic: str) -> bool:
        """Whether any member subscribes to the topic: its offsets neither expire nor may be deleted then."""
        return subscribes_to(self.state, topic)

    def describe(self) -> ConsumerGroupView:
        """Return the group as it is shown."""
        return describe(self.state, self._core.settings(), self._core.image())

    # Requests.

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest, client: ClientInfo, token: Token, now: Now) -> Effects:
        """Answer a heartbeat that passed `requests.check_heartbeat`, of a member that joins, stays or leaves.

        Its member id is not empty: whoever takes the request makes one up for members that have none yet.
        """
        try:
            if request.member_epoch in (LEAVING, LEAVING_FOR_A_WHILE):
                return self._leave(request, token, now)
            return self._beat(request, client, token, now)
        except KafkaError as error:
            effects = Effects()
            effects.answers.append((token, ConsumerHeartbeatResult(error.code, error.message)))
            return effects

    def join(self, request: JoinRequest, token: Token, now: Now) -> Effects:
        """Answer a JoinGroup."""
        return classic_requests.join(self._core, request, token, now)

    def sync(self, request: SyncRequest, token: Token) -> Effects:
        """Answer a SyncGroup."""
        return classic_requests.sync(self._core, request, token)

    def classic_heartbeat(self, request: ClassicHeartbeat, token: Token) -> Effects:
        """Answer a Heartbeat."""
        return classic_requests.heartbeat(self._core, request, token)

    def leave(self, leaving: Sequence[LeavingMember], token: Token, now: Now) -> Effects:
        """Answer a LeaveGroup."""
        return classic_requests.leave(self._core, leaving, token, now)

    def _beat(self, request: ConsumerGroupHeartbeatRequest, client: ClientInfo, token: Token, now: Now) -> Effects:
        core = self._core
        core.check_expression(request.subscribed_topic_regex)
        environment = core.environment(now)._replace(sees=client.sees)
        draft, tombstone = Draft(self.state), list[CoordinatorRecord]()
        predecessor = self._predecessor
        if predecessor is not None:
            check_upgrade(predecessor, environment.settings)
            upgrade(draft, predecessor, environment.image)
            tombstone.append(CoordinatorRecord(GroupMetadataKey(group=self.group_id), None))
        member, answer = beat(draft, request, client, environment)
        before = self.state.members.get(member.member_id)

        def written(following: Effects) -> None:
            core.remember(following, environment)
            if predecessor is not None:
                self._take_over(predecessor, following, now)
            elif member != before:
                core.watch(following, member)

        effects = core.write(draft, written, before=tombstone)
        effects.answers.append((token, answer))
        core.begin_session(effects, member)
        return effects

    def _take_over(self, predecessor: ClassicGroup, following: Effects, now: Now) -> None:
        """The members of the classic group are this group's now; those who wait are told to join again."""
        self._predecessor = None
        ended = predecessor.unload(ErrorCode.REBALANCE_IN_PROGRESS, now)
        following.answers += ended.answers
        following.timers += ended.timers
        following.timers += self.loaded().timers

    def _leave(self, request: ConsumerGroupHeartbeatRequest, token: Token, now: Now) -> Effects:
        member = member_of(self.state, request.member_id, request.instance_id)
        if request.member_epoch == LEAVING_FOR_A_WHILE:
            draft = Draft(self.state)
            leave_for_a_while(draft, member)
            effects = self._core.write(draft, _nothing_more)
        else:
            effects = self._core.remove([member], now)
        answer = ConsumerHeartbeatResult(member_id=member.member_id, member_epoch=request.member_epoch)
        effects.answers.append((token, answer))
        return effects

    # Administration.

    def delete_error(self) -> ErrorCode:
        """Return why it cannot be deleted, or NONE."""
        return ErrorCode.NON_EMPTY_GROUP if self.state.members else ErrorCode.NONE

    def delete(self) -> Effects:
        """Write that it is gone. The caller adds what removes its offsets."""
        assert self.delete_error() is ErrorCode.NONE, "checked before"
        draft = Draft(self.state)
        draft.emit_all(tombstones(self.state))
        return self._core.write(draft, _nothing_more)

    # Time and life.

    def apply(self, record: CoordinatorRecord) -> None:
        """Change as a record says that was read at start."""
        self.state.apply(record)

    def loaded(self) -> Effects:
        """Begin the sessions of the members that the log told of, and the time they have to give up partitions."""
        effects = Effects()
        for member in self.state.members.values():
            self._core.begin_session(effects, member)
            self._core.watch(effects, member)
        return effects

    def on_timer(self, key: TimerKey, now: Now) -> Effects:
        """Remove the member of a timer that ran out, unless what the timer watched is over."""
        member: ConsumerGroupMember | None = self.state.members.get(key.member_id)
        if member is None or self._core.is_over(key, member):
            return Effects()
        return self._core.remove([member], now)

    def unload(self) -> Effects:
        """End it without a record: every timer is cancelled."""
        effects = Effects()
        for member_id in self.state.members:
            self._core.cancel(effects, member_id)
        return effects


def _nothing_more(_: Effects) -> None:
    """Nothing follows from what was written."""
