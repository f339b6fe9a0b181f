"""What the leaders of this broker want of the controller: changes of ISRs, all that wait in one request, one under way.

A request that fails as a whole is sent again after 50 ms, with whatever waits then. Follows Kafka's
`AlterPartitionManager` (KIP-497).
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from uuid import UUID

from odradek.broker.metadata.image import RecoveryState
from odradek.broker.replication.leader_state import AlterPartitionAnswer, IsrChange
from odradek.broker.replication.leadership import Leadership
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError, known_error
from odradek.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResult,
    AlterPartitionState,
    AlterPartitionTopic,
    IsrMember,
)

log = get_logger("replication")

RETRY_S = 0.05
"""Kafka's own pause."""
MOST_PARTITIONS = 10_000
"""Changes in one request; a controller writes no more than that many records for one."""

SendToController = Callable[[Message], Deferred[Message | KafkaError]]
"""Takes a request to the active controller, whoever that is; the answer, or why there is none, comes later."""

_Key = tuple[UUID, int]


class ControllerIsrChanges:
    """The `IsrChanges` of the running broker."""

    def __init__(
        self, loop: AbstractEventLoop, send: SendToController, node_id: int, broker_epoch: Callable[[], int]
    ) -> None:
        """`broker_epoch` tells under which registration this broker serves."""
        self._loop = loop
        self._send = send
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._waiting: dict[_Key, tuple[Leadership, IsrChange]] = {}
        self._is_scheduled = False
        self._is_under_way = False
        self._problem = ""

    def submit(self, leadership: Leadership, change: IsrChange) -> None:
        """Ask for a change, with all others of this turn of the loop, once no request is under way."""
        partition = leadership.partition
        topic_id = partition.log.topic_id
        assert topic_id is not None  # logs of a cluster that replicates are made with their topic's id
        self._waiting[topic_id, partition.index] = (leadership, change)
        self._schedule(0)

    def _schedule(self, delay_s: float) -> None:
        if self._is_under_way or self._is_scheduled:
            return
        self._is_scheduled = True
        if delay_s:
            self._loop.call_later(delay_s, self._send_waiting)
        else:
            self._loop.call_soon(self._send_waiting)

    def _send_waiting(self) -> None:
        self._is_scheduled = False
        still = {
            key: (leadership, change)
            for key, (leadership, change) in self._waiting.items()
            if leadership.state.pending is change and leadership.partition.replicas is leadership
        }
        asked = dict(list(still.items())[:MOST_PARTITIONS])
        self._waiting = {key: waiting for key, waiting in still.items() if key not in asked}
        if not asked:
            return
        self._is_under_way = True
        self._send(self._request(asked)).on_done(lambda answer: self._answered(asked, answer))

    def _request(self, asked: dict[_Key, tuple[Leadership, IsrChange]]) -> AlterPartitionRequest:
        own_epoch = self._broker_epoch()
        topics: dict[UUID, AlterPartitionTopic] = {}
        for (topic_id, index), (_, change) in asked.items():
            members = [
                IsrMember(broker_id=member, broker_epoch=own_epoch if member == self._node_id else epoch)
                for member, epoch in change.members
            ]
            topic = topics.setdefault(topic_id, AlterPartitionTopic(topic_id=topic_id))
            topic.partitions.append(
                AlterPartitionState(
                    partition_index=index,
                    leader_epoch=change.leader_epoch,
                    new_isr=list(change.isr),
                    new_isr_with_epochs=members,
                    leader_recovery_state=RecoveryState.RECOVERED,
                    partition_epoch=change.partition_epoch,
                )
            )
        return AlterPartitionRequest(broker_id=self._node_id, broker_epoch=own_epoch, topics=list(topics.values()))

    def _answered(self, asked: dict[_Key, tuple[Leadership, IsrChange]], answer: Message | KafkaError) -> None:
        problem = _problem_of(answer)
        if problem and problem != self._problem:
            log.warning("the controller was not told of changed ISRs; asking again", reason=problem)
        self._problem = problem
        if isinstance(answer, AlterPartitionResponse) and not problem:
            results = {
                (topic.topic_id, one.partition_index): one for topic in answer.topics for one in topic.partitions
            }
            fresh = dict(self._waiting)
            for key, (leadership, change) in asked.items():
                leadership.answered(change, _answer_of(results.get(key)))
            asked = {key: waiting for key, waiting in asked.items() if self._waiting.get(key) == waiting}
            is_retry = bool(asked) and not fresh
        else:
            is_retry = True
            for key, waiting in asked.items():
                self._waiting.setdefault(key, waiting)
        self._is_under_way = False
        if self._waiting:
            self._schedule(RETRY_S if is_retry else 0)


def _problem_of(answer: Message | KafkaError) -> str:
    if isinstance(answer, KafkaError):
        return str(answer)
    if not isinstance(answer, AlterPartitionResponse):
        return f"a {type(answer).__name__} came in answer"
    return known_error(answer.error_code).name if answer.error_code else ""


def _answer_of(result: AlterPartitionResult | None) -> AlterPartitionAnswer:
    if result is None:
        return AlterPartitionAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
    return AlterPartitionAnswer(
        known_error(result.error_code), result.leader_epoch, result.partition_epoch, tuple(result.isr)
    )
