"""How a member goes: by its own will, for a while, or because its time is over.

Owns: the records of it. Must not know: timers, tokens. A group's last member takes no record of the group with it: the
group stays, empty, as long as it has offsets or until it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.member import LEAVING_FOR_A_WHILE, NOTHING, ConsumerGroupMember
from odradek.broker.groups.consumer.subscriptions import metadata_hash
from odradek.broker.metadata.image import MetadataImage


def leave_for_a_while(draft: Draft, member: ConsumerGroupMember) -> None:
    """Keep a static member's place: its partitions wait for it as long as its session lasts."""
    gone = member._replace(epoch=LEAVING_FOR_A_WHILE, revoking=NOTHING)
    draft.emit(records.current_assignment(draft.state.group_id, gone))


def remove_members(draft: Draft, members: Iterable[ConsumerGroupMember], image: MetadataImage) -> None:
    """Take members out; what they had comes free, and the group has a new epoch."""
    group_id, going = draft.state.group_id, list(members)
    for member in going:
        draft.emit_all(records.member_gone(group_id, member.member_id))
    for expression in {member.metadata.regex for member in going}:
        if expression and expression in draft.state.expressions and not draft.state.subscribers(expression):
            draft.emit(records.regular_expression_gone(group_id, expression))
    state = draft.state
    draft.emit(records.group_epoch(group_id, state.epoch + 1, metadata_hash(state, image)))
