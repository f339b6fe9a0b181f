"""FetchSnapshot, versions 0 and 1: pieces of a snapshot of the metadata log, for those who are too far behind it.

Owns: what a piece is; read from its file on a thread. Source: KIP-630, `KafkaRaftClient.handleFetchSnapshotRequest`.
Where Apache Kafka 4.3 fails to write its answer (an unknown snapshot has null records), the error code that it means is
sent.
"""

from __future__ import annotations

from typing import Final

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.snapshots import SnapshotName
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch_snapshot import (
    FetchedPartitionSnapshot,
    FetchedSnapshotId,
    FetchedTopicSnapshot,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RequestedPartitionSnapshot,
    SnapshotLeader,
    SnapshotNodeEndpoint,
)
from odradek.storage.names import METADATA_TOPIC

MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one answer; Kafka's observers ask for 1 MiB."""
FIRST_WITH_ENDPOINTS: Final = 1

log = get_logger("raft")


class SnapshotFetchHandler:
    """Answers FetchSnapshot at the controller's listener."""

    def __init__(self, metadata: MetadataLog, leader: QuorumLeader, threads: Threads) -> None:
        self._metadata = metadata
        self._leader = leader
        self._threads = threads

    def fetch_snapshot(
        self, context: RequestContext, request: FetchSnapshotRequest
    ) -> FetchSnapshotResponse | Deferred[FetchSnapshotResponse]:
        """Answer a request, once the piece has been read."""
        if self._leader.is_other_cluster(request.cluster_id):
            return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
        endpoint = self._leader.advertised_for(context) if context.api_version >= FIRST_WITH_ENDPOINTS else None
        asked = request.topics[0].partitions[0]
        if request.topics[0].name != METADATA_TOPIC or asked.partition != 0:
            return self._response(endpoint, self._refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        code = self._leader.check_epoch(asked.current_leader_epoch)
        if code:
            return self._response(endpoint, self._refused(asked, code))
        if asked.position < 0:
            return self._response(endpoint, self._refused(asked, ErrorCode.POSITION_OUT_OF_RANGE))
        return self._read(asked, min(max(request.max_bytes, 0), MOST_BYTES), endpoint)

    def _read(
        self, asked: RequestedPartitionSnapshot, max_bytes: int, endpoint: tuple[str, int] | None
    ) -> FetchSnapshotResponse | Deferred[FetchSnapshotResponse]:
        answer: Deferred[FetchSnapshotResponse] = Deferred()
        read: list[tuple[int, bytes]] = []
        snapshot = SnapshotName(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)

        def work() -> None:
            read.append(self._metadata.read_snapshot(snapshot, asked.position, max_bytes))

        def done(failed: BaseException | None) -> None:
            if failed is None:
                size, piece = read[0]
                data = self._refused(asked, ErrorCode.NONE)
                if asked.position >= size:
                    data.error_code = ErrorCode.POSITION_OUT_OF_RANGE
                else:
                    data.size, data.position, data.unaligned_records = size, asked.position, piece
            elif isinstance(failed, FileNotFoundError):
                data = self._refused(asked, ErrorCode.SNAPSHOT_NOT_FOUND)
            else:
                log.error("a metadata snapshot could not be read for a follower", exc_info=failed)
                data = self._refused(asked, ErrorCode.KAFKA_STORAGE_ERROR)
            answer.resolve(self._response(endpoint, data))

        if min(snapshot) < 0:
            return self._response(endpoint, self._refused(asked, ErrorCode.SNAPSHOT_NOT_FOUND))
        self._threads.submit(work, done)
        return answer.now_or_later()

    def _refused(self, asked: RequestedPartitionSnapshot, code: ErrorCode) -> FetchedPartitionSnapshot:
        snapshot_id = asked.snapshot_id
        return FetchedPartitionSnapshot(
            index=asked.partition,
            error_code=code,
            snapshot_id=FetchedSnapshotId(end_offset=snapshot_id.end_offset, epoch=snapshot_id.epoch),
            current_leader=SnapshotLeader(leader_id=self._leader.node_id, leader_epoch=self._leader.epoch),
            unaligned_records=b"",
        )

    def _response(self, endpoint: tuple[str, int] | None, data: FetchedPartitionSnapshot) -> FetchSnapshotResponse:
        response = FetchSnapshotResponse(topics=[FetchedTopicSnapshot(name=METADATA_TOPIC, partitions=[data])])
        if endpoint is not None:
            host, port = endpoint
            response.node_endpoints = [SnapshotNodeEndpoint(node_id=self._leader.node_id, host=host, port=port)]
        return response
