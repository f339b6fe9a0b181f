"""Commits of offsets: who may commit and fetch.

Must not know: requests of any version. Follows Kafka's `OffsetMetadataManager`.
"""

from __future__ import annotations

from odradek.broker.groups.classic.values import CommitRequest
from odradek.broker.groups.consumer.commits import CommitRule
from odradek.broker.groups.consumer.commits import check_commit as check_consumer_commit
from odradek.broker.groups.consumer.commits import check_fetch as check_consumer_fetch
from odradek.broker.groups.consumer.commits import check_transactional_commit as check_consumer_transaction
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.shard import GroupShard
from odradek.protocol.errors import ErrorCode, KafkaError

FIRST_WITH_NOT_FOUND = 9
"""Before, a commit to a group that is not there was an illegal generation."""


def check_commit(shard: GroupShard, group_id: str, who: CommitRequest, version: int) -> CommitRule:
    """Return by which rule a commit to the group is taken; it is a sign of life of a classic member.

    Who is in no group needs none: one comes to be by the commit. `version` is that of OffsetCommit.

    Raises:
        KafkaError: the commit is refused.
    """
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return check_consumer_commit(group.state, who.member_id, who.generation, version)
    error = ErrorCode.NONE
    if group is not None:
        error, effects = group.commit(who)
        shard.carry_out(group, effects)
    elif who.generation >= 0:
        not_found = version >= FIRST_WITH_NOT_FOUND
        error = ErrorCode.GROUP_ID_NOT_FOUND if not_found else ErrorCode.ILLEGAL_GENERATION
    if error is not ErrorCode.NONE:
        raise KafkaError(error)
    return CommitRule(None, who.generation)


def check_transactional_commit(shard: GroupShard, group_id: str, who: CommitRequest) -> CommitRule:
    """Return by which rule a commit in a transaction is taken: who is no member of the current generation is fenced,
    unless he does not say who he is (KIP-447).

    Raises:
        KafkaError: the commit is refused.
    """
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return check_consumer_transaction(group.state, who.member_id, who.group_instance_id, who.generation)
    error = ErrorCode.NONE
    if group is not None:
        error, effects = group.commit(who)
        shard.carry_out(group, effects)
    elif who.generation >= 0:
        error = ErrorCode.ILLEGAL_GENERATION
    if error is not ErrorCode.NONE:
        raise KafkaError(error)
    return CommitRule(None, who.generation)


def check_fetch(shard: GroupShard, group_id: str, member_id: str | None, member_epoch: int) -> None:
    """Refuse a member of a consumer group that is not up to date; whoever does not say who it is may read.

    Raises:
        KafkaError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
    """
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        check_consumer_fetch(group.state, member_id, member_epoch)
