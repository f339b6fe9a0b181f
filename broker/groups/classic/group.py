"""A classic group: the machine itself, with one method for every event.

Owns: the events (requests, timers, loading, deletion) and their order. Must not know: log, clients and clock; what a
method wants of them is in the `Effects` it returns, which must be carried out before the next event.

Follows: Kafka's group coordinator; the states and the ways between them are in `states`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from odradek.broker.coordinator.effects import Effects, Now, TimerKey, Token
from odradek.broker.groups.classic.joining import join
from odradek.broker.groups.classic.leaving import leave
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.rebalance import (
    JOIN_TIMER,
    SESSION,
    SYNC_TIMER,
    answer_join,
    answer_sync,
    join_time_over,
    prepare,
    session_over,
    sync_time_over,
    watch,
)
from odradek.broker.groups.classic.state import (
    CONSUMER_PROTOCOL_TYPE,
    GroupData,
    from_record,
    metadata_record,
    tombstone,
)
from odradek.broker.groups.classic.states import ClassicGroupState, Event
from odradek.broker.groups.classic.syncing import sync
from odradek.broker.groups.classic.validation import (
    commit_error,
    delete_error,
    delete_offsets_error,
    generation_error,
)
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    ClassicGroupView,
    ClassicHeartbeat,
    ClassicMemberView,
    CommitRequest,
    HeartbeatResult,
    JoinRequest,
    JoinResult,
    LeavingMember,
    SyncRequest,
    SyncResult,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataValue


class ClassicGroup:
    """One group."""

    __slots__ = ("_data",)

    def __init__(self, group_id: str, limits: ClassicGroupLimits, now: Now, *, is_new: bool = True) -> None:
        """Make an empty group.

        `is_new`: its first JoinGroup writes a record, whatever comes of the request. False for a group that came to be
        by a commit of offsets, which is record enough.
        """
        self._data = GroupData(group_id, limits, now)
        self._data.is_new = is_new

    @classmethod
    def from_record(cls, group_id: str, value: GroupMetadataValue, limits: ClassicGroupLimits) -> ClassicGroup:
        """Return the group as a record tells of it; call `loaded` once the whole log is read."""
        group = cls.__new__(cls)
        group._data = from_record(group_id, value, limits)
        return group

    # What it is.

    @property
    def group_id(self) -> str:
        """Its name."""
        return self._data.group_id

    @property
    def state(self) -> ClassicGroupState:
        """Where in its life it is; a group that is Dead is to be dropped."""
        return self._data.state

    @property
    def state_timestamp(self) -> int:
        """Since when, in milliseconds since 1970 UTC; -1: not known."""
        return self._data.state_timestamp

    @property
    def generation(self) -> int:
        """Number of the generation; 0 before the first."""
        return self._data.generation

    @property
    def protocol_type(self) -> str | None:
        """What its members divide; None: never had one."""
        return self._data.protocol_type

    @property
    def protocol_name(self) -> str | None:
        """How they divide it; None: nobody is there to."""
        return self._data.protocol_name

    @property
    def leader(self) -> str | None:
        """The member that makes the assignment."""
        return self._data.membership.leader

    @property
    def members(self) -> Mapping[str, ClassicGroupMember]:
        """By member id, in the order of joining. Not to be changed."""
        return self._data.membership.members

    @property
    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics of this generation's members; None: not known."""
        return self._data.subscribed_topics

    def subscribes(self, topic: str) -> bool:
        """Return whether a topic is, or may be, read by members."""
        if self._data.subscribed_topics is None:
            return self._data.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self._data.subscribed_topics

    def describe(self) -> ClassicGroupView:
        """Return what DescribeGroups shows; what the members say only of a stable group."""
        data = self._data
        stable = data.state is ClassicGroupState.STABLE
        protocol = (data.protocol_name or "") if stable else ""
        members = tuple(
            ClassicMemberView(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata(data.protocol_name) if stable else b"",
                member.assignment,
            )
            for member in data.membership.members.values()
        )
        return ClassicGroupView(data.group_id, data.state, data.protocol_type or "", protocol, members)

    # Requests.

    def join(self, request: JoinRequest, token: Token, now: Now) -> Effects:
        """Answer or park a JoinGroup that passed `joining.refusal`."""
        effects = Effects()
        join(self._data, effects, request, token, now)
        if self._data.is_new:
            self._record_new_group(effects)
        return effects

    def _record_new_group(self, effects: Effects) -> None:
        data = self._data
        data.is_new = False
        assert effects.after is None, "a new group waits for its initial delay, and has nothing to write"
        empty = GroupData(data.group_id, data.limits, data.state_timestamp)
        effects.records.append(metadata_record(empty, {}))

        def written(error: ErrorCode, now: Now) -> Effects:
            return Effects() if error is ErrorCode.NONE else self.unload(error, now)

        effects.after = written

    def sync(self, request: SyncRequest, token: Token) -> Effects:
        """Answer or park a SyncGroup. The leader's brings the assignment, which is written before anybody gets it."""
        effects = Effects()
        sync(self._data, effects, request, token)
        return effects

    def heartbeat(self, request: ClassicHeartbeat, token: Token) -> Effects:
        """Answer a Heartbeat: the member lives, and learns whether it has to join again."""
        effects = Effects()
        data = self._data
        error = generation_error(data, request.member_id, request.group_instance_id, request.generation)
        if error is ErrorCode.NONE:
            watch(effects, data.membership.members[request.member_id])
            if data.state is ClassicGroupState.PREPARING_REBALANCE:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        effects.answers.append((token, HeartbeatResult(error)))
        return effects

    def leave(self, leaving: Sequence[LeavingMember], token: Token, now: Now) -> Effects:
        """Answer a LeaveGroup; those who are members are none any more, and the others share what they had."""
        effects = Effects()
        leave(self._data, effects, leaving, token, now)
        return effects

    def commit(self, request: CommitRequest) -> tuple[ErrorCode, Effects]:
        """Say whether a commit of offsets is accepted; one that is, is a sign of life."""
        effects = Effects()
        error = commit_error(self._data, request)
        member = self._data.membership.members.get(request.member_id)
        if error is ErrorCode.NONE and member is not None and not request.transactional:
            watch(effects, member)
        return error, effects

    # Administration.

    def delete_error(self) -> ErrorCode:
        """Return why it cannot be deleted, or NONE."""
        return delete_error(self._data)

    def delete_offsets_error(self) -> ErrorCode:
        """Return why none of its offsets can be deleted, or NONE; those of topics it subscribes to still cannot."""
        return delete_offsets_error(self._data)

    def delete(self) -> Effects:
        """Write that it is gone; once that is written, it is Dead. The caller adds what removes its offsets."""
        assert self.delete_error() is ErrorCode.NONE, "checked before"
        effects = Effects()
        effects.records.append(tombstone(self._data))

        def written(error: ErrorCode, now: Now) -> Effects:
            return self.unload(ErrorCode.UNKNOWN_MEMBER_ID, now) if error is ErrorCode.NONE else Effects()

        effects.after = written
        return effects

    # Time and life.

    def on_timer(self, key: TimerKey, now: Now) -> Effects:
        """Act on a timer that ran out; one that was set for something that is over does nothing."""
        effects = Effects()
        data = self._data
        if key.kind == SESSION:
            session_over(data, effects, key.member_id, now)
        elif key == JOIN_TIMER and data.state is ClassicGroupState.PREPARING_REBALANCE:
            join_time_over(data, effects, now)
        elif key == SYNC_TIMER:
            sync_time_over(data, effects, now)
        return effects

    def loaded(self, now: Now) -> Effects:
        """Begin the sessions of the members that the log told of; a group that is too large now has to shrink."""
        effects = Effects()
        for member in self._data.membership.members.values():
            watch(effects, member)
        if len(self._data.membership.members) > self._data.limits.max_size:
            prepare(self._data, effects, now)
        return effects

    def rebalance(self, now: Now) -> Effects:
        """Make the members of a stable group join again, for a reason from outside."""
        effects = Effects()
        if self._data.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
            prepare(self._data, effects, now)
        return effects

    def unload(self, error: ErrorCode, now: Now) -> Effects:
        """End it without a record: every parked request is answered with `error`, every timer cancelled."""
        effects = Effects()
        data = self._data
        membership = data.membership
        for member_id in list(membership.joins):
            answer_join(data, effects, member_id, JoinResult(error, member_id))
        for member_id in list(membership.syncs):
            answer_sync(data, effects, member_id, SyncResult(error))
        for member_id in (*membership.members, *membership.pending):
            effects.timers.append((TimerKey(SESSION, member_id), None))
        effects.timers += [(JOIN_TIMER, None), (SYNC_TIMER, None)]
        data.move(Event.REMOVED, now)
        return effects
