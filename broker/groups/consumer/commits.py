"""Which offsets a member of a consumer group may commit and fetch.

Owns: the checks of epochs; since KIP-1251 a commit in an older epoch is taken for partitions that the member has had
since then. Must not know: offsets, requests.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.groups.consumer.member import ConsumerGroupMember
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.steps import member_of
from odradek.protocol.errors import ErrorCode, KafkaError

_FIRST_COMMIT_VERSION: Final = 9
"""Of OffsetCommit, that knows member epochs."""


class CommitRule(NamedTuple):
    """Which partitions of a commit are taken."""

    member: ConsumerGroupMember | None
    """None: all of them."""
    epoch: int

    def error_of(self, topic_id: UUID | None, partition: int) -> ErrorCode:
        """Return NONE, or why the partition's offset is not taken; topics that are unknown have no id."""
        if self.member is None:
            return ErrorCode.NONE
        for owned in (self.member.assigned, self.member.revoking):
            since = owned.get(topic_id, {}).get(partition) if topic_id is not None else None
            if since is not None:
                return ErrorCode.NONE if self.epoch >= since else _stale_code(self.member)
        return _stale_code(self.member)


def check_commit(state: ConsumerGroupState, member_id: str, epoch: int, version: int) -> CommitRule:
    """Return by which rule partitions may be committed; `version` is that of OffsetCommit.

    Raises:
        KafkaError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH (ILLEGAL_GENERATION for members of the classic protocol),
            UNSUPPORTED_VERSION for versions before 9.
    """
    if epoch < 0 and not state.members:
        return CommitRule(None, epoch)
    member = member_of(state, member_id, None)
    if member.metadata.classic is None and version < _FIRST_COMMIT_VERSION:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, "OffsetCommit version 9 or above must be used by members of this group."
        )
    if epoch > member.epoch:
        raise KafkaError(_stale_code(member), f"Epoch {epoch} is newer than the member's epoch {member.epoch}.")
    return CommitRule(None if epoch == member.epoch else member, epoch)


def check_transactional_commit(
    state: ConsumerGroupState, member_id: str, instance_id: str | None, epoch: int
) -> CommitRule:
    """Return by which rule partitions may be committed in a transaction; producers need not say who consumes."""
    if epoch == -1 and member_id == "" and instance_id is None:
        return CommitRule(None, epoch)
    return check_commit(state, member_id, epoch, _FIRST_COMMIT_VERSION)


def check_fetch(state: ConsumerGroupState, member_id: str | None, epoch: int) -> None:
    """Raise KafkaError UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH; whoever does not say who it is may read."""
    if member_id is None and epoch < 0:
        return
    member = member_of(state, member_id or "", None)
    if member.epoch != epoch:
        raise KafkaError(_stale_code(member), f"Epoch {epoch} is not the member's epoch {member.epoch}.")


def _stale_code(member: ConsumerGroupMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.metadata.classic is None else ErrorCode.ILLEGAL_GENERATION
