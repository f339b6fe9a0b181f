"""AlterReplicaLogDirs: what becomes of each partition, in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from odradek.broker.handlers.alter_log_dirs import MOST_AT_ONCE, AlterLogDirsHandler
from odradek.broker.handlers.log_dirs import MOST_PARTITIONS
from odradek.broker.moving.replica_moves import ReplicaMoves
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.storage.names import TopicPartition

NOBODY = cast(RequestContext, None)


class Moves:
    """Notes what is to move, and refuses a partition with an odd number."""

    def __init__(self) -> None:
        self.asked: list[tuple[TopicPartition, str]] = []

    def alter(self, tp: TopicPartition, path: str) -> None:
        """Note it."""
        self.asked.append((tp, path))
        if tp.partition % 2:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE)


class Scene:
    """The handler, and what it put off to later turns."""

    def __init__(self) -> None:
        self.moves = Moves()
        self.turns: list[Callable[[], None]] = []
        self._handler = AlterLogDirsHandler(cast(ReplicaMoves, self.moves), self.turns.append)

    def ask(
        self, *directories: tuple[str, list[int]]
    ) -> AlterReplicaLogDirsResponse | Deferred[AlterReplicaLogDirsResponse]:
        """Ask for partitions of t to move to directories."""
        dirs = [
            AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name="t", partitions=numbers)])
            for path, numbers in directories
        ]
        return self._handler.alter_replica_log_dirs(NOBODY, AlterReplicaLogDirsRequest(dirs=dirs))


def codes(response: AlterReplicaLogDirsResponse) -> list[tuple[int, int]]:
    """Return the partitions of the answer with their codes."""
    [topic] = response.results
    return [(one.partition_index, one.error_code) for one in topic.partitions]


def test_each_partition_has_a_code_of_its_own() -> None:
    """What is refused keeps nothing else from moving, and the last directory of a partition counts."""
    scene = Scene()
    answer = scene.ask(("/a", [0, 1]), ("/b", [0]))
    assert isinstance(answer, AlterReplicaLogDirsResponse)
    assert codes(answer) == [(0, ErrorCode.NONE), (1, ErrorCode.REPLICA_NOT_AVAILABLE)]
    assert scene.moves.asked == [(TopicPartition("t", 0), "/b"), (TopicPartition("t", 1), "/a")]


def test_many_partitions_leave_others_their_turns() -> None:
    """No turn of the event loop begins more than some of them; the answer comes after the last."""
    scene = Scene()
    answers: list[AlterReplicaLogDirsResponse] = []
    count = 2 * MOST_AT_ONCE + 1
    answer = scene.ask(("/a", list(range(count))))
    assert isinstance(answer, Deferred)
    answer.on_done(answers.append)
    begun = [len(scene.moves.asked)]
    while scene.turns:
        scene.turns.pop()()
        begun.append(len(scene.moves.asked))
    assert begun == [MOST_AT_ONCE, 2 * MOST_AT_ONCE, count]
    assert len(codes(answers[0])) == count


def test_a_request_that_names_too_many_begins_nothing() -> None:
    """It is refused as a whole."""
    scene = Scene()
    with pytest.raises(KafkaError) as refused:
        scene.ask(("/a", list(range(MOST_PARTITIONS))))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert scene.moves.asked == []
