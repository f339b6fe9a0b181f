"""A consumer group: the machine itself, with one method for every event.

Owns: which records, answers and timers follow from an event, and the little that is not in records: when the group
last looked at the cluster's topics, and which epoch a rebalance timer watches. Must not know: clocks, logs, who waits
for an answer. What a method wants of them is in the `Effects` it returns, which must be carried out before the next
event. The group changes only by applying records: at start those that are read, later those that were appended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from broker.groups.consumer import records
from broker.groups.consumer.answers import HeartbeatResult
from broker.groups.consumer.draft import Draft
from broker.groups.consumer.heartbeat import Client, beat
from broker.groups.consumer.leaving import find_leaving, leave_for_a_while, remove_members
from broker.groups.consumer.member import LEAVING, LEAVING_FOR_A_WHILE, Member, MemberState
from broker.groups.consumer.settings import ConsumerGroupSettings
from broker.groups.consumer.state import GroupState
from broker.groups.consumer.steps import Circumstances
from broker.groups.consumer.subscriptions import REFRESH_MIN_INTERVAL_MS, subscribes_to
from broker.groups.consumer.views import GroupView, describe
from broker.groups.effects import Effects, Now, Record, TimerKey, Token
from broker.metadata.image import MetadataImage, TopicImage
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

SESSION: Final = "session"
"""Kind of the timer that removes a member which is not heard of."""
REBALANCE: Final = "rebalance"
"""Kind of the timer that removes a member which does not give up its partitions."""

Written = Callable[[Effects], None]
"""Called once records are written and applied, to add timers to what follows."""


class ConsumerGroup:
    """One group of the consumer protocol."""

    def __init__(
        self, group_id: str, settings: Callable[[], ConsumerGroupSettings], image: Callable[[], MetadataImage]
    ) -> None:
        """`settings` and `image` give what holds at the moment of an event."""
        self.state = GroupState(group_id)
        """For reading."""
        self._settings = settings
        self._image = image
        self._seen_topics: Mapping[str, TopicImage] | None = None
        self._searched_topics: Mapping[str, TopicImage] | None = None
        self._searched_at = 0
        self._watched_epochs: dict[str, int] = {}

    @property
    def group_id(self) -> str:
        """Its name."""
        return self.state.group_id

    @property
    def is_gone(self) -> bool:
        """Whether no record speaks of it: it is to be dropped."""
        return self.state.is_gone

    def subscribes(self, topic: str) -> bool:
        """Whether any member subscribes to the topic: its offsets neither expire nor may be deleted then."""
        return subscribes_to(self.state, topic)

    # Requests.

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest, client: Client, token: Token, now: Now) -> Effects:
        """Answer a heartbeat that passed `requests.check_heartbeat`, of a member that joins, stays or leaves.

        Its member id is not empty: whoever takes the request makes one up for members that have none yet.
        """
        try:
            if request.member_epoch in (LEAVING, LEAVING_FOR_A_WHILE):
                return self._leave(request, token)
            return self._beat(request, client, token, now)
        except KafkaError as error:
            effects = Effects()
            effects.answers.append((token, HeartbeatResult(error.code, error.message)))
            return effects

    def _beat(self, request: ConsumerGroupHeartbeatRequest, client: Client, token: Token, now: Now) -> Effects:
        image, settings = self._image(), self._settings()
        topics_changed = self._seen_topics is not image.topics_by_name
        search = bool(self.state.expressions) and self._is_search_due(image, settings, now)
        draft = Draft(self.state)
        member, answer = beat(draft, request, client, Circumstances(image, settings, now, topics_changed, search))
        before = self.state.members.get(member.member_id)

        def written(following: Effects) -> None:
            self._seen_topics = image.topics_by_name
            if search:
                self._searched_topics, self._searched_at = image.topics_by_name, now
            if member != before:
                self._watch(following, member)

        effects = self._write(draft, written)
        effects.answers.append((token, answer))
        effects.timers.append((TimerKey(SESSION, member.member_id), _session_timeout(member, settings)))
        return effects

    def _is_search_due(self, image: MetadataImage, settings: ConsumerGroupSettings, now: Now) -> bool:
        since = now - self._searched_at
        if 0 <= since < REFRESH_MIN_INTERVAL_MS:
            return False
        return self._searched_topics is not image.topics_by_name or since >= settings.regex_refresh_interval_ms

    def _leave(self, request: ConsumerGroupHeartbeatRequest, token: Token) -> Effects:
        member = find_leaving(self.state, request.member_id, request.instance_id)
        if request.member_epoch == LEAVING_FOR_A_WHILE:
            draft = Draft(self.state)
            leave_for_a_while(draft, member)
            effects = self._write(draft)
        else:
            effects = self._remove(member)
        answer = HeartbeatResult(member_id=member.member_id, member_epoch=request.member_epoch)
        effects.answers.append((token, answer))
        return effects

    # Administration.

    def describe(self) -> GroupView:
        """Return the group as it is shown."""
        return describe(self.state, self._settings(), self._image())

    def delete_error(self) -> ErrorCode:
        """Return why it cannot be deleted, or NONE."""
        return ErrorCode.NON_EMPTY_GROUP if self.state.members else ErrorCode.NONE

    def delete(self) -> Effects:
        """Write that it is gone. The caller adds what removes its offsets."""
        assert self.delete_error() is ErrorCode.NONE, "checked before"
        draft = Draft(self.state)
        draft.emit_all(records.group_gone(self.group_id, list(self.state.targets), list(self.state.expressions)))
        return self._write(draft)

    # Time and life.

    def apply(self, record: Record) -> None:
        """Change as a record says that was read at start."""
        self.state.apply(record)

    def loaded(self) -> Effects:
        """Begin the sessions of the members that the log told of, and the time they have to give up partitions."""
        effects, settings = Effects(), self._settings()
        for member in self.state.members.values():
            effects.timers.append((TimerKey(SESSION, member.member_id), _session_timeout(member, settings)))
            self._watch(effects, member)
        return effects

    def on_timer(self, key: TimerKey) -> Effects:
        """Remove the member of a timer that ran out, unless what the timer watched is over."""
        member = self.state.members.get(key.member_id)
        if member is None:
            return Effects()
        if key.kind == REBALANCE and self._watched_epochs.pop(key.member_id, None) != member.epoch:
            return Effects()
        return self._remove(member)

    def unload(self) -> Effects:
        """End it without a record: every timer is cancelled."""
        effects = Effects()
        for member_id in self.state.members:
            effects.timers += _cancelled(member_id)
        return effects

    def _remove(self, member: Member) -> Effects:
        draft = Draft(self.state)
        remove_members(draft, [member], self._image())

        def written(following: Effects) -> None:
            self._watched_epochs.pop(member.member_id, None)
            following.timers += _cancelled(member.member_id)

        return self._write(draft, written)

    def _write(self, draft: Draft, written: Written | None = None) -> Effects:
        effects = Effects()
        if not draft.records:
            if written is not None:
                written(effects)
            return effects
        effects.records += draft.records

        def after(error: ErrorCode, _: Now) -> Effects:
            following = Effects()
            if error is ErrorCode.NONE:
                for record in draft.records:
                    self.state.apply(record)
                if written is not None:
                    written(following)
            return following

        effects.after = after
        return effects

    def _watch(self, effects: Effects, member: Member) -> None:
        timer = TimerKey(REBALANCE, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.metadata.classic is None:
            self._watched_epochs[member.member_id] = member.epoch
            effects.timers.append((timer, member.metadata.rebalance_timeout_ms))
        elif self._watched_epochs.pop(member.member_id, None) is not None:
            effects.timers.append((timer, None))


def _session_timeout(member: Member, settings: ConsumerGroupSettings) -> int:
    classic = member.metadata.classic
    return settings.session_timeout_ms if classic is None else classic.session_timeout_ms


def _cancelled(member_id: str) -> list[tuple[TimerKey, int | None]]:
    return [(TimerKey(SESSION, member_id), None), (TimerKey(REBALANCE, member_id), None)]
