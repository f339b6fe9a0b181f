"""What the answer to a Produce request says of one partition: that it took its batch, or what it refused it with."""

from __future__ import annotations

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.produce import ProduceResult
from odradek.protocol.hot.wire import TopicRef
from odradek.storage.log.log_values import AppendInfo

log = get_logger("produce")

FIRST_OF_STORAGE_ERROR = 4
"""Before it, clients are told NOT_LEADER_OR_FOLLOWER where the disk fails, since they know that and try again."""
_WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Refusals of a log that Kafka answers without the start of the log (ReplicaManager.appendToLocalLog)."""

Topics = list[tuple[TopicRef, list[ProduceResult]]]


def accepted(index: int, info: AppendInfo) -> ProduceResult:
    """The result for a partition that took its batch."""
    return ProduceResult._make(  # a third of the time of a call
        (index, 0, info.first_offset, info.log_append_time_ms, info.log_start_offset, (), None, None)
    )


def refused(
    index: int, error: KafkaError, context: RequestContext, topic: TopicPartitions, log_start_offset: int = -1
) -> ProduceResult:
    """The result for a partition that refused its records with `error`, which is logged, a lasting one rarely."""
    if error.code is ErrorCode.KAFKA_STORAGE_ERROR:
        partition = topic.open_replica(index)
        if partition is not None:  # of one that is offline its table has told
            partition.append_failed(error.message)
    elif error.code is not ErrorCode.NONE:
        log.debug(
            "append refused",
            topic=topic.name,
            partition=index,
            code=error.code.name,
            reason=error.message,
            peer=context.peer,
        )
    code = error.code
    if code is ErrorCode.KAFKA_STORAGE_ERROR and context.api_version < FIRST_OF_STORAGE_ERROR:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ProduceResult(
        index,
        code,
        log_start_offset=log_start_offset,
        record_errors=tuple(getattr(error, "record_errors", ())),
        error_message=error.message or None,
    )


def refused_by_log(
    index: int, error: KafkaError, context: RequestContext, topic: TopicPartitions, partition: Partition
) -> ProduceResult:
    """The same for a partition whose log refused it, with the start of the log where Kafka tells that."""
    start = -1 if error.code in _WITHOUT_LOG_START else partition.log.log_start_offset
    return refused(index, error, context, topic, start)
