"""The usual Produce request, answered without being decoded: one batch, of no transaction, for one partition led here.

Hot path. Nothing is decided here that `handlers.produce` would decide otherwise: a request in which anything is unusual
is left to that before anything was done, and so is what becomes of a batch that is refused, or has to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from odradek.broker.handlers.counting import TrafficCounter
from odradek.broker.handlers.produce_waiting import ACKS_ALL, ACKS_LEADER, waits
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import Response
from odradek.protocol.errors import KafkaError
from odradek.protocol.hot.usual_produce import UsualProduce, encode_usual_answer, read_usual_produce
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.records.batch import TRANSACTIONAL_BIT, attributes_of_only
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.producers.producer_state import AppendOrigin
from odradek.storage.validation import Effort, TakesLonger

EFFORT_OF_A_USUAL_REQUEST: Final = 15_000
"""Steps of checking (`storage.validation.effort`), some 1.5 ms at worst: what takes more is begun again elsewhere."""

Settle = Callable[
    [RequestContext, UsualProduce, bytes, TopicPartitions, Partition, AppendInfo | KafkaError],
    "Response | Deferred[Response]",
]
"""Answers for a batch that was refused, or whose acknowledgement has to wait."""


class UsualProduceHandler:
    """Answers usual requests, and no others."""

    def __init__(
        self, partitions: PartitionTable, clock: Clock, settle: Settle, traffic: TrafficCounter | None = None
    ) -> None:
        self._partitions = partitions
        self._clock = clock
        self._settle = settle
        self._traffic = traffic
        self._effort = Effort(EFFORT_OF_A_USUAL_REQUEST)

    def __call__(
        self,
        context: RequestContext,
        frame: memoryview,
        position: int,
        head: bytes,
        may_write: Callable[[RequestContext, TopicRef], bool] | None = None,
    ) -> Response | Deferred[Response]:
        """Answer the request that begins at `position` of its frame; None, with nothing done, where it is not usual, or
        `may_write` does not know that the client may."""
        asked = read_usual_produce(frame, context.api_version, position)
        if asked is None:
            return None
        acks, _, ref, index, records, named = asked
        attributes = attributes_of_only(records)
        if attributes < 0 or attributes & TRANSACTIONAL_BIT or (acks != ACKS_ALL and acks != ACKS_LEADER):
            return None
        if may_write is not None and not may_write(context, ref):
            return None
        topic = self._partitions.find(ref)
        if topic is None or topic.is_internal:
            return None
        partition = topic.get(index)
        if partition is None:
            return None
        if acks == ACKS_ALL and partition.replicas is not None:
            try:
                partition.replicas.check_enough()
            except KafkaError:
                return None
        effort = self._effort
        effort.steps = EFFORT_OF_A_USUAL_REQUEST
        try:
            info = partition.append(records, self._clock.now_ms(), AppendOrigin.CLIENT, effort)
        except TakesLonger:
            return None
        except KafkaError as refused:
            return self._settle(context, asked, head, topic, partition, refused)
        if partition.high_watermark <= info.last_offset and waits(partition, info.last_offset, acks):
            return self._settle(context, asked, head, topic, partition, info)
        if self._traffic is not None:
            self._traffic.appended(ref, records)
        return encode_usual_answer(
            head, named, index, info.first_offset, info.log_append_time_ms, info.log_start_offset
        )


def usual_request(asked: UsualProduce) -> ProduceRequest:
    """Return the message that a usual request is, for what is not hot."""
    data = [PartitionProduceData(index=asked.partition, records=asked.records)]
    topic = (
        TopicProduceData(name=asked.topic, partition_data=data)
        if isinstance(asked.topic, str)
        else TopicProduceData(topic_id=asked.topic, partition_data=data)
    )
    return ProduceRequest(acks=asked.acks, timeout_ms=asked.timeout_ms, topic_data=[topic])
