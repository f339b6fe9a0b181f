"""Checks that several requests of a classic group share, in Kafka's order.

Owns: who counts as a member, and whose commits, deletions and heartbeats a group accepts. Must not know: what is done
for those who pass.
"""

from __future__ import annotations

from odradek.broker.groups.classic.state import CONSUMER_PROTOCOL_TYPE, GroupData
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.classic.values import CommitRequest
from odradek.protocol.errors import ErrorCode


def member_error(group: GroupData, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """Return why somebody is no member, or NONE."""
    return group.membership.identities.error_of(member_id, group_instance_id)


def generation_error(group: GroupData, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
    """Return why somebody is no member of the current generation, or NONE."""
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = member_error(group, member_id, group_instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def commit_error(group: GroupData, request: CommitRequest) -> ErrorCode:
    """Return why a commit of offsets is refused, or NONE.

    Who is in no group may commit to a group without members: an administrator who sets offsets, or a consumer that
    only keeps its offsets here. A transaction's commit may name no member (its versions before 3 cannot).
    """
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    is_empty = group.state is ClassicGroupState.EMPTY
    if request.generation < 0 and is_empty:
        return ErrorCode.NONE
    if request.generation >= 0 or request.member_id or request.group_instance_id is not None:
        error = generation_error(group, request.member_id, request.group_instance_id, request.generation)
        if error is not ErrorCode.NONE:
            return error
    elif not request.transactional and not is_empty:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not request.transactional and group.state is ClassicGroupState.COMPLETING_REBALANCE:
        # It knows the new generation, so it may be about to give away what it commits.
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def delete_error(group: GroupData) -> ErrorCode:
    """Return why a group cannot be deleted, or NONE."""
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is ClassicGroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def delete_offsets_error(group: GroupData) -> ErrorCode:
    """Return why no offset of a group can be deleted, or NONE: of consumers, those of topics nobody reads can be."""
    error = delete_error(group)
    if error is ErrorCode.NON_EMPTY_GROUP and group.protocol_type == CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NONE
    return error
