"""Commits of offsets: who may commit, and what is written.

Must not know: requests of any version. Follows Kafka's `OffsetMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.groups.classic.values import CommitRequest
from broker.groups.records import Committed, OffsetKey, encode_committed
from broker.groups.shard import Shard
from broker.runtime.answers import Deferred
from protocol.errors import ErrorCode


def check_commit(shard: Shard, group_id: str, who: CommitRequest, absent: ErrorCode) -> ErrorCode:
    """Return why a commit to the group is refused, or NONE; one that is not is a sign of life of its member.

    `absent` is the answer to a member of a group that is not there. Who is in no group needs none: one comes to be by
    the commit.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return ErrorCode.NONE if who.generation < 0 else absent
    error, effects = group.commit(who)
    shard.carry_out(group, effects)
    return error


def commit(
    shard: Shard, group_id: str, offsets: Sequence[tuple[str, int, Committed]]
) -> ErrorCode | Deferred[ErrorCode]:
    """Store offsets (topic, partition, offset) of a group; return how that went once they are safe."""
    return shard.write_offsets(
        [(OffsetKey(group_id, topic, partition), encode_committed(found)) for topic, partition, found in offsets]
    )
