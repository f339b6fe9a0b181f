"""WriteTxnMarkers (0-2): the coordinator of transactions tells the leaders of partitions how they ended (KIP-98).

Version notes: v1 differs in its encoding only; before v2 a marker is one of transactions version 0 or 1 (KIP-1228).
"""

from collections.abc import Sequence

from odradek.broker.coordinator.background import Background, Slices
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then
from odradek.broker.transactions.marker_writer import MarkerWriter
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.storage.names import TopicPartition

Wanted = tuple[TransactionMarker, TopicPartition]
Answer = WriteTxnMarkersResponse | Deferred[WriteTxnMarkersResponse]


_PER_SLICE = 500
"""Partitions looked at before others get their turn."""

Results = dict[int, dict[str, dict[int, ErrorCode]]]
"""What became of the markers by producer, topic and partition."""


class WriteTxnMarkersHandler:
    """Answers WriteTxnMarkers once every marker is committed, or refused."""

    def __init__(self, writer: MarkerWriter, background: Background) -> None:
        """What takes longer than a request may goes to the `background`."""
        self._writer = writer
        self._background = background

    def write_txn_markers(
        self, _context: RequestContext, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse | Deferred[WriteTxnMarkersResponse]:
        """Answer a request, partition by partition."""
        count = sum([len(topic.partition_indexes) + 1 for marker in request.markers for topic in marker.topics])
        prepared = self._background.result_of(count, _prepare(request))

        def answer(wanted: Sequence[Wanted], codes: Sequence[ErrorCode]) -> Answer:
            return self._background.result_of(count, _answer(wanted, codes))

        return and_then(
            prepared, lambda wanted: and_then(self._writer.write_all(wanted), lambda codes: answer(wanted, codes))
        )


def _prepare(request: WriteTxnMarkersRequest) -> Slices[list[Wanted]]:
    """Return what is to be written, each once."""
    wanted: dict[Wanted, None] = {}
    for each in request.markers:
        marker = TransactionMarker(
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.transaction_result,
            each.transaction_version,
        )
        for topic in each.topics:
            for count, index in enumerate(topic.partition_indexes):
                wanted[marker, TopicPartition(topic.name, index)] = None
                if count % _PER_SLICE == _PER_SLICE - 1:
                    yield
            yield
    return list(wanted)


def _answer(wanted: Sequence[Wanted], codes: Sequence[ErrorCode]) -> Slices[WriteTxnMarkersResponse]:
    """Return the results; of two markers of a producer for the same partition the later one is told, as in Kafka."""
    found: Results = {}
    for count, ((marker, (topic, index)), code) in enumerate(zip(wanted, codes, strict=True)):
        found.setdefault(marker.producer_id, {}).setdefault(topic, {})[index] = code
        if count % _PER_SLICE == _PER_SLICE - 1:
            yield
    response = WriteTxnMarkersResponse()
    for producer_id, topics in found.items():
        results = WritableTxnMarkerResult(producer_id=producer_id)
        response.markers.append(results)
        for name, partitions in topics.items():
            result = WritableTxnMarkerTopicResult(name=name)
            results.topics.append(result)
            for count, (index, code) in enumerate(partitions.items()):
                result.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
                if count % _PER_SLICE == _PER_SLICE - 1:
                    yield
            yield
    return response
