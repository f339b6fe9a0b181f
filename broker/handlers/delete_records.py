"""DeleteRecords (api key 21, versions 0-2): moving the beginning of partitions (KIP-107).

With one replica the answer is there at once. With several it waits until all of them that are alive have moved their
beginnings, too, or the time is up: followers learn of it with their next fetch, and tell with the one after that.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from functools import partial
from typing import NamedTuple

from odradek.broker.handlers.offsets import NOT_KNOWN, by_topic
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)


class _Deletion(NamedTuple):
    """A partition whose other replicas have not deleted yet."""

    partition: Partition
    start: int
    result: DeleteRecordsPartitionResult


class DeleteRecordsHandler:
    """Answers DeleteRecords."""

    def __init__(self, loop: AbstractEventLoop, partitions: PartitionTable) -> None:
        self._loop = loop
        self._partitions = partitions

    def __call__(
        self, _context: RequestContext, request: DeleteRecordsRequest
    ) -> DeleteRecordsResponse | Deferred[DeleteRecordsResponse]:
        response = DeleteRecordsResponse()
        waiting: list[_Deletion] = []
        for name, partitions in by_topic(request.topics):
            results = []
            for wanted in partitions:
                result = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=NOT_KNOWN)
                try:
                    partition = self._partitions.get(name, wanted.partition_index)
                    if self._partitions.is_internal(name):
                        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name} is internal")
                    start = partition.delete_records_before(wanted.offset)
                    result.low_watermark = partition.low_watermark
                    if result.low_watermark < start:
                        waiting.append(_Deletion(partition, start, result))
                except KafkaError as refused:
                    result.error_code = refused.code
                results.append(result)
            response.topics.append(DeleteRecordsTopicResult(name=name, partitions=results))
        return self._when_deleted(response, waiting, request.timeout_ms) if waiting else response

    def _when_deleted(
        self, response: DeleteRecordsResponse, waiting: list[_Deletion], timeout_ms: int
    ) -> Deferred[DeleteRecordsResponse]:
        """The response once the other replicas have deleted, too, or the time is up."""
        left = len(waiting)

        def expire() -> None:
            for one in waiting:
                one.result.low_watermark = one.partition.low_watermark
                if one.result.error_code == ErrorCode.NONE and one.result.low_watermark < one.start:
                    one.result.error_code = ErrorCode.REQUEST_TIMED_OUT
            deleted.resolve(response)

        timer = self._loop.call_later(max(timeout_ms, 0) / 1000, expire)
        deleted: Deferred[DeleteRecordsResponse] = Deferred(timer.cancel)

        def report(one: _Deletion, code: ErrorCode) -> None:
            nonlocal left
            one.result.error_code, one.result.low_watermark = code, one.partition.low_watermark
            left -= 1
            if not left:
                timer.cancel()
                deleted.resolve(response)

        for one in waiting:
            replicas = one.partition.replicas
            assert replicas is not None  # who is alone has deleted at once
            replicas.when_started(one.start, partial(report, one))
        return deleted
