"""What every event of a consumer group has in common: a draft becomes effects, and members are watched by timers.

Owns: the group's state, which changes only by applying records - at start those that are read, later those that were
appended - and the little that is not in records: which of the cluster's topics the group has seen, what its timers
watch. Must not know: requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Final

from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, Now, TimerKey
from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.expressions import Expressions
from odradek.broker.groups.consumer.leaving import remove_members
from odradek.broker.groups.consumer.member import ConsumerGroupMember, MemberState
from odradek.broker.groups.consumer.migration import can_downgrade, downgrade
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.steps import HeartbeatContext
from odradek.broker.metadata.image import MetadataImage, TopicImage
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataValue

SESSION: Final = "session"
"""Kind of the timer that removes a member which is not heard of."""
REBALANCE: Final = "rebalance"
"""Kind of the timer that removes a member which does not give up its partitions."""
REJOIN: Final = "rejoin"
"""Kind of the timer that removes a member of the classic protocol which was told to join again, and does not."""
SYNC: Final = "sync"
"""Kind of the timer that removes a member of the classic protocol which joined, and does not send SyncGroup."""

Written = Callable[[Effects], None]
"""Called once records are written and applied, to add to what follows."""


class GroupCore:
    """A consumer group without its requests."""

    def __init__(
        self, group_id: str, settings: Callable[[], ConsumerGroupSettings], image: Callable[[], MetadataImage]
    ) -> None:
        """`settings` and `image` give what holds at the moment of an event."""
        self.state = ConsumerGroupState(group_id)
        """For reading."""
        self.settings = settings
        self.image = image
        self.successor: GroupMetadataValue | None = None
        """The record of the classic group that this one has become, once it has."""
        self.successor_rebalances = True
        """Whether that has to share out its partitions anew."""
        self._seen_topics: Mapping[str, TopicImage] | None = None
        self._expressions = Expressions(self.state)
        self._watched_epochs: dict[str, int] = {}
        self._rejoining: set[str] = set()

    def environment(self, now: Now) -> HeartbeatContext:
        """Return what a request is judged by."""
        image = self.image()
        return HeartbeatContext(image, self.settings(), now, self._seen_topics is not image.topics_by_name)

    def check_expression(self, regex: str | None) -> None:
        """Raise KafkaError INVALID_REGULAR_EXPRESSION for one that was found to be too much work to match."""
        self._expressions.check(regex)

    def write(
        self,
        draft: Draft,
        written: Written,
        before: Sequence[CoordinatorRecord] = (),
        behind: Sequence[CoordinatorRecord] = (),
    ) -> Effects:
        """Return what appends and applies a draft, then calls `written`.

        The records `before` and `behind` it are not the consumer group's own.
        """
        effects = Effects()
        if not draft.records:
            written(effects)
            return effects
        effects.records = [*before, *draft.records, *behind]

        def after(error: ErrorCode, _: Now) -> Effects:
            following = Effects()
            if error is ErrorCode.NONE:
                for record in draft.records:
                    self.state.apply(record)
                written(following)
            return following

        effects.after = after
        return effects

    def remember(self, effects: Effects, environment: HeartbeatContext) -> None:
        """Take note of which topics the group knows now, and begin to resolve expressions if it is time to."""
        self._seen_topics = environment.image.topics_by_name
        if self.state.regexes and self._expressions.are_due(environment):
            effects.background = self._resolve(environment)

    def _resolve(self, environment: HeartbeatContext) -> Generator[None, None, Callable[[Now], Effects]]:
        found = yield from self._expressions.resolve(environment)

        def resolved(_: Now) -> Effects:
            draft = Draft(self.state)
            self._expressions.write(draft, found, environment, self.image())
            return self.write(draft, lambda _: None)

        return resolved

    def remove(self, members: Iterable[ConsumerGroupMember], now: Now) -> Effects:
        """Take members out; if only members of the classic protocol stay, the group becomes theirs."""
        going = {member.member_id: member for member in members}
        draft = Draft(self.state)
        if can_downgrade(self.state, going.keys(), self.settings()):
            return self.become_classic(draft, going.keys(), now, rebalances=True)
        remove_members(draft, going.values(), self.image())

        def written(following: Effects) -> None:
            for member_id in going:
                self.cancel(following, member_id)

        return self.write(draft, written)

    def become_classic(self, draft: Draft, leaving: Collection[str], now: Now, *, rebalances: bool) -> Effects:
        """End the group as it is in the draft: it becomes a classic one of those who stay."""
        successor = downgrade(draft.state, leaving, self.image(), now)
        cancelled = self.state.members.keys() | draft.state.members.keys()
        draft.emit_all(tombstones(draft.state))

        def written(following: Effects) -> None:
            for member_id in cancelled:
                self.cancel(following, member_id)
            assert isinstance(successor.value, GroupMetadataValue)
            self.successor, self.successor_rebalances = successor.value, rebalances

        return self.write(draft, written, behind=[successor])

    # Timers.

    def begin_session(self, effects: Effects, member: ConsumerGroupMember) -> None:
        """Remove the member unless it is heard of again within its session."""
        classic = member.metadata.classic
        timeout_ms = self.settings().session_timeout_ms if classic is None else classic.session_timeout_ms
        effects.timers.append((TimerKey(SESSION, member.member_id), timeout_ms))

    def watch(self, effects: Effects, member: ConsumerGroupMember) -> None:
        """Give a member that has to give up partitions its rebalance timeout for that; others have none to watch."""
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.metadata.classic is None:
            self._watched_epochs[member.member_id] = member.epoch
            effects.timers.append((TimerKey(REBALANCE, member.member_id), member.metadata.rebalance_timeout_ms))
        elif self._watched_epochs.pop(member.member_id, None) is not None:
            effects.timers.append((TimerKey(REBALANCE, member.member_id), None))

    def is_over(self, key: TimerKey, member: ConsumerGroupMember) -> bool:
        """Whether a timer that ran out watched something that is over by now."""
        if key.kind == REBALANCE:
            return self._watched_epochs.pop(key.member_id, None) != member.epoch
        return False

    def await_rejoin(self, effects: Effects, member: ConsumerGroupMember) -> None:
        """Give a member of the classic protocol its rebalance timeout to join again, from the first time it is told."""
        if member.member_id not in self._rejoining:
            self._rejoining.add(member.member_id)
            effects.timers.append((TimerKey(REJOIN, member.member_id), member.metadata.rebalance_timeout_ms))

    def await_sync(self, effects: Effects, member: ConsumerGroupMember) -> None:
        """It has joined, and is expected to send SyncGroup."""
        self._rejoining.discard(member.member_id)
        effects.timers.append((TimerKey(REJOIN, member.member_id), None))
        effects.timers.append((TimerKey(SYNC, member.member_id), member.metadata.rebalance_timeout_ms))

    def synced(self, effects: Effects, member: ConsumerGroupMember) -> None:
        """It has sent SyncGroup."""
        effects.timers.append((TimerKey(SYNC, member.member_id), None))

    def cancel(self, effects: Effects, member_id: str) -> None:
        """Watch the member no more."""
        self._watched_epochs.pop(member_id, None)
        self._rejoining.discard(member_id)
        effects.timers += [(TimerKey(kind, member_id), None) for kind in (SESSION, REBALANCE, REJOIN, SYNC)]


def tombstones(state: ConsumerGroupState) -> list[CoordinatorRecord]:
    """Return the records that remove a group."""
    member_ids = state.members.keys() | state.targets.keys()
    return records.group_gone(state.group_id, sorted(member_ids), list(state.expressions))
