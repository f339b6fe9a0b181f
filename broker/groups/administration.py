"""What administrators do to groups, and what time does: deletion, and offsets that expire.

Owns: the rules for it (Kafka's `OffsetExpirationCondition`, KIP-211; KIP-496). Must not know: requests of any version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from odradek.broker.coordinator.background import Slices
from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, OperationResult, Token
from odradek.broker.groups.classic.state import CONSUMER_PROTOCOL_TYPE
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.group import Group, delete_offsets_error, is_empty
from odradek.broker.groups.records import NO_TIMESTAMP, OffsetAndMetadata, OffsetKey
from odradek.broker.groups.shard import GROUPS_PER_SLICE, OFFSETS_PER_SLICE, GroupShard
from odradek.broker.runtime.deferred import Deferred, and_then, then
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import OffsetCommitKey


class _Deleted(NamedTuple):
    """The answer to the deletion of a group."""

    error: ErrorCode = ErrorCode.NONE


def delete_group(shard: GroupShard, group_id: str) -> ErrorCode | Deferred[ErrorCode]:
    """Delete a group without members, and all its offsets; return how that went once it is safe.

    Very many offsets go a few at a time: a member that comes meanwhile keeps the group, and the offsets that are left.
    """
    background = shard.services.operations.background
    outcome = background.result_of(shard.offsets.count_of(group_id), remove_most_offsets(shard, group_id))

    def finish(error: ErrorCode) -> ErrorCode | Deferred[ErrorCode]:
        return _delete(shard, shard.groups[group_id]) if error is ErrorCode.NONE else error

    return and_then(outcome, finish)


def remove_most_offsets(shard: GroupShard, group_id: str) -> Slices[ErrorCode]:
    """Return NONE once a group has only so many offsets that they can go with it, or why it is not to be deleted."""
    while True:
        group = shard.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        error = group.delete_error()
        if error is not ErrorCode.NONE:
            return error
        keys = shard.offsets.first_keys_of(group_id, OFFSETS_PER_SLICE + 1)
        if len(keys) <= OFFSETS_PER_SLICE:
            return ErrorCode.NONE
        result = shard.remove_offsets(keys[:OFFSETS_PER_SLICE])
        if isinstance(result, ErrorCode) and result is not ErrorCode.NONE:
            return result
        yield


def _delete(shard: GroupShard, group: Group) -> ErrorCode | Deferred[ErrorCode]:
    keys = shard.offsets.keys_of(group.group_id)

    def delete(token: Token) -> Effects:
        effects = group.delete()
        tombstones = [
            CoordinatorRecord(OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition), None)
            for key in keys
        ]
        effects.records = [*tombstones, *effects.records]
        effects.answers.append((token, _Deleted()))
        return effects

    answer = shard.ask(group, delete)
    return then(answer, _error_of)


def _error_of(answer: OperationResult) -> ErrorCode:
    return answer.error


Removed = dict[tuple[str, int], ErrorCode]
"""What became of each offset that was to be removed, by topic and partition."""


def remove_offsets(
    shard: GroupShard, group_id: str, wanted: Sequence[tuple[str, int]]
) -> ErrorCode | Removed | Deferred[ErrorCode | Removed]:
    """Remove offsets of a group in partitions that no member reads.

    Returns what became of each once that is safe, or why nothing was done.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    error = delete_offsets_error(group)
    if error is not ErrorCode.NONE:
        return error
    has_members = not is_empty(group)
    results: Removed = {}
    keys: list[OffsetKey] = []
    for topic, partition in wanted:
        if has_members and group.subscribes(topic):
            results[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            continue
        results[topic, partition] = ErrorCode.NONE
        if shard.offsets.is_stored(group_id, topic, partition):
            keys.append(OffsetKey(group_id, topic, partition))

    def told(written: ErrorCode) -> ErrorCode | Removed:
        return results if written is ErrorCode.NONE else written

    outcome = shard.remove_offsets(keys)
    return then(outcome, told)


def expire(shard: GroupShard, offsets_retention_ms: int) -> Iterator[None]:
    """Remove the offsets whose time is over, and groups that have neither members nor offsets; in slices."""
    for count, group_id in enumerate(list(shard.groups)):
        keys: list[OffsetKey] | None = None
        while (group := shard.groups.get(group_id)) is not None:  # it may change while others have their turn
            is_expired = _expiration(group, shard.services.operations.clock.now_ms(), offsets_retention_ms)
            if is_expired is None:
                break
            if keys is None:
                keys = shard.offsets.keys_of(group_id)
            shard.remove_offsets(shard.offsets.expired(keys[:OFFSETS_PER_SLICE], is_expired))
            keys = keys[OFFSETS_PER_SLICE:]
            if not keys:
                if not shard.offsets.has_offsets(group_id) and group.delete_error() is ErrorCode.NONE:
                    _delete(shard, group)
                break
            yield
        if count % GROUPS_PER_SLICE == 0:
            yield


def _expiration(group: Group, now: int, offsets_retention_ms: int) -> Callable[[str, OffsetAndMetadata], bool] | None:
    """Return what decides whether an offset of the group has expired; None where none does as long as it is so."""
    if isinstance(group, ConsumerGroup):
        subscribes = group.subscribes
        return lambda topic, committed: (
            not subscribes(topic) and _is_over(committed, committed.commit_timestamp, now, offsets_retention_ms)
        )
    if not group.protocol_type:  # offsets only
        return lambda _, committed: _is_over(committed, committed.commit_timestamp, now, offsets_retention_ms)
    if group.state is ClassicGroupState.EMPTY:
        since = group.state_timestamp
        return lambda _, committed: _is_over(
            committed, committed.commit_timestamp if since == NO_TIMESTAMP else since, now, offsets_retention_ms
        )
    topics = group.subscribed_topics
    if group.protocol_type == CONSUMER_PROTOCOL_TYPE and group.state is ClassicGroupState.STABLE and topics is not None:
        return lambda topic, committed: (
            topic not in topics and _is_over(committed, committed.commit_timestamp, now, offsets_retention_ms)
        )
    return None


def _is_over(committed: OffsetAndMetadata, since: int, now: int, offsets_retention_ms: int) -> bool:
    if committed.expire_timestamp != NO_TIMESTAMP:
        return now >= committed.expire_timestamp
    return now - since >= offsets_retention_ms
