"""AlterReplicaLogDirs (api key 34), versions 0 to 2: replicas move between the broker's log directories (KIP-113)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from odradek.broker.handlers.log_dirs import MOST_PARTITIONS
from odradek.broker.moving.replica_moves import ReplicaMoves
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.storage.names import TopicPartition

MOST_AT_ONCE: Final = 500
"""Moves that are begun, or refused, in one turn of the event loop: five milliseconds."""


class AlterLogDirsHandler:
    """Answers AlterReplicaLogDirs, as soon as the moves have begun."""

    def __init__(self, moves: ReplicaMoves, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` calls in the next turn of the event loop."""
        self._moves = moves
        self._call_soon = call_soon

    def alter_replica_log_dirs(
        self, _context: RequestContext, request: AlterReplicaLogDirsRequest
    ) -> AlterReplicaLogDirsResponse | Deferred[AlterReplicaLogDirsResponse]:
        """Begin moves, each for itself; of a partition that is named twice, the last directory counts."""
        topics = [topic for directory in request.dirs for topic in directory.topics]
        if sum([len(topic.partitions) + 1 for topic in topics]) + len(request.dirs) > MOST_PARTITIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"more than {MOST_PARTITIONS} partitions, topics, directories")
        wanted = {
            TopicPartition(topic.name, index): directory.path
            for directory in request.dirs
            for topic in directory.topics
            for index in topic.partitions
        }
        left = iter(wanted.items())
        results: dict[str, AlterReplicaLogDirTopicResult] = {}
        later: Deferred[AlterReplicaLogDirsResponse] = Deferred()

        def turn() -> None:
            some = list(islice(left, MOST_AT_ONCE))
            for tp, path in some:
                if tp.topic not in results:
                    results[tp.topic] = AlterReplicaLogDirTopicResult(topic_name=tp.topic)
                results[tp.topic].partitions.append(
                    AlterReplicaLogDirPartitionResult(partition_index=tp.partition, error_code=self._alter(tp, path))
                )
            if len(some) == MOST_AT_ONCE:
                self._call_soon(turn)
            else:
                later.resolve(AlterReplicaLogDirsResponse(results=list(results.values())))

        turn()
        return later.now_or_later()

    def _alter(self, tp: TopicPartition, path: str) -> ErrorCode:
        try:
            self._moves.alter(tp, path)
        except KafkaError as refused:
            return refused.code
        return ErrorCode.NONE
