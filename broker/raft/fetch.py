"""Fetch of the metadata log, versions 13 to 18, by brokers and other observers.

Owns: what a leader of one voter answers. Everything up to the high watermark, which is where its own log is durable;
where the reader's log parted from this one; which snapshot to fetch instead of what is not here any more. A reader at
the end waits, unless it does not know the high watermark yet (KIP-1166). Older versions, which name the topic, and
other topics are INVALID_REQUEST. Source: KIP-595, KIP-630, `KafkaRaftClient.handleFetchRequest`.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from functools import partial
from typing import Final

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.snapshots import SnapshotName
from odradek.broker.raft.committed_batches import CommittedBatches
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.raft.observers import ReplicaKey
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from odradek.protocol.uuids import METADATA_TOPIC_ID
from odradek.storage.errors import OffsetOutOfRange, StorageError

FIRST_BY_ID: Final = 13
FIRST_WITH_STATE: Final = 15
FIRST_WITH_ENDPOINTS: Final = 17
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one answer; Kafka's observers ask for 1 MiB."""
MOST_WAIT_MS: Final = 60_000
_BOOTSTRAP = SnapshotName(0, 0)
"""A snapshot that only says who the voters are: nobody needs it who has the log from its beginning."""

log = get_logger("raft")


class _Waiting:
    """A reader at the end of the log, until there is more or its time is up."""

    __slots__ = ("answer", "endpoint", "partition", "request", "timer", "version")

    def __init__(
        self, version: int, request: FetchRequest, partition: FetchPartition, endpoint: tuple[str, int]
    ) -> None:
        self.version = version
        self.request = request
        self.partition = partition
        self.endpoint = endpoint
        self.answer: Deferred[FetchResponse]
        self.timer: TimerHandle


class MetadataFetchHandler:
    """Answers Fetch at the controller's listener."""

    def __init__(
        self, loop: AbstractEventLoop, metadata: MetadataLog, leader: QuorumLeader, threads: Threads, clock: Clock
    ) -> None:
        self._loop = loop
        self._metadata = metadata
        self._leader = leader
        self._threads = threads
        self._clock = clock
        self._committed = CommittedBatches(metadata.high_watermark)
        self._waiting: dict[_Waiting, None] = {}
        self._is_waking = False
        metadata.watch_batches(self._committed.add)
        metadata.watch(lambda *_: self._wake())

    def fetch(self, context: RequestContext, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
        """Answer a request, at once or when there is something to answer with."""
        version = context.api_version
        if self._leader.is_other_cluster(request.cluster_id):
            return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        partition = _only_partition(request) if version >= FIRST_BY_ID else None
        if partition is None:
            return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
        reader = _Waiting(version, request, partition, self._leader.advertised_for(context))
        code = self._check(request, partition)
        if code:
            return self._refused(reader, code)
        return self._answer(reader, may_wait=request.max_wait_ms > 0)

    def answer_waiting(self) -> None:
        """Let nobody wait any longer: the process stops."""
        for reader in list(self._waiting):
            self._time_is_up(reader)

    def _check(self, request: FetchRequest, partition: FetchPartition) -> ErrorCode:
        asked = (request.max_wait_ms, partition.fetch_offset, partition.last_fetched_epoch)
        if min(*asked, partition.current_leader_epoch) < 0:
            return ErrorCode.INVALID_REQUEST
        return self._leader.check_epoch(partition.current_leader_epoch)

    def _answer(self, reader: _Waiting, may_wait: bool) -> FetchResponse | Deferred[FetchResponse]:
        metadata, partition = self._metadata, reader.partition
        snapshot = self._snapshot_for(partition)
        if snapshot is not None:
            data = self._data()
            data.snapshot_id = SnapshotId(end_offset=snapshot.end_offset, epoch=snapshot.epoch)
            return self._response(reader, data)
        diverging = self._diverging(partition)
        if diverging is not None:
            data = self._data()
            data.diverging_epoch = diverging
            return self._response(reader, data)
        offset, end = partition.fetch_offset, metadata.high_watermark
        self._note(reader, offset, end)
        if offset >= end:
            knows_end = reader.version < 18 or partition.high_watermark >= end
            return self._wait(reader) if may_wait and knows_end else self._response(reader, self._data())
        max_bytes = min(max(reader.request.max_bytes, 0), MOST_BYTES)
        records = self._committed.read(offset, max_bytes)
        if records is None:
            return self._from_disk(reader, max_bytes, end)
        data = self._data()
        data.records = records
        return self._response(reader, data)

    def _snapshot_for(self, partition: FetchPartition) -> SnapshotName | None:
        """Return the snapshot that the reader has to fetch first, None if it can go on with the log."""
        newest, start = self._metadata.newest_snapshot, self._metadata.start_offset
        if newest is None or newest == _BOOTSTRAP:
            return None
        offset = partition.fetch_offset
        return newest if offset == 0 or offset < start else None

    def _diverging(self, partition: FetchPartition) -> EpochEndOffset | None:
        """Return where the reader's log parted from this one at the latest, None if it did not."""
        epoch, offset = partition.last_fetched_epoch, partition.fetch_offset
        if epoch == 0 and offset == 0:
            return None
        found = self._metadata.end_offset_for_epoch(epoch)
        if found.epoch < 0:  # an epoch that this log never had
            return EpochEndOffset(epoch=self._leader.epoch, end_offset=self._metadata.high_watermark)
        newest = self._metadata.newest_snapshot
        if newest is not None and newest.epoch == epoch and newest.end_offset == offset:
            return None
        if found.epoch == epoch and found.end_offset >= offset:
            return None
        return EpochEndOffset(epoch=found.epoch, end_offset=found.end_offset)

    def _note(self, reader: _Waiting, offset: int, end: int) -> None:
        request = reader.request
        replica_id = request.replica_state.replica_id if reader.version >= FIRST_WITH_STATE else request.replica_id
        if replica_id >= 0 and replica_id != self._leader.node_id:
            key = ReplicaKey(replica_id, reader.partition.replica_directory_id)
            self._leader.observers.note_fetch(key, offset, end, self._clock.now_ms())

    def _from_disk(self, reader: _Waiting, max_bytes: int, end: int) -> FetchResponse | Deferred[FetchResponse]:
        answer: Deferred[FetchResponse] = Deferred()
        read: list[bytes] = []

        def done(failed: BaseException | None) -> None:
            if failed is None:
                data = self._data()
                data.records = read[0]
                answer.resolve(self._response(reader, data))
            elif isinstance(failed, OffsetOutOfRange):  # it was cleaned meanwhile: the reader is told of the snapshot
                answer.resolve(self._response(reader, self._data()))
            else:
                if not isinstance(failed, StorageError | OSError):
                    log.error("the metadata log could not be read for a follower", exc_info=failed)
                answer.resolve(self._refused(reader, ErrorCode.KAFKA_STORAGE_ERROR))

        def work() -> None:
            read.append(self._metadata.read(reader.partition.fetch_offset, max_bytes, end))

        self._threads.submit(work, done)
        return answer.now_or_later()

    # waiting

    def _wait(self, reader: _Waiting) -> Deferred[FetchResponse]:
        reader.answer = Deferred(partial(self._leave, reader))
        wait_s = min(reader.request.max_wait_ms, MOST_WAIT_MS) / 1000
        reader.timer = self._loop.call_later(wait_s, self._time_is_up, reader)
        self._waiting[reader] = None
        return reader.answer

    def _wake(self) -> None:
        """Answer all that wait, once, after everything else that happens in this turn of the loop."""
        if self._waiting and not self._is_waking:
            self._is_waking = True
            self._loop.call_soon(self._answer_all)

    def _answer_all(self) -> None:
        self._is_waking = False
        for reader in list(self._waiting):
            self._time_is_up(reader)

    def _time_is_up(self, reader: _Waiting) -> None:
        if reader not in self._waiting:
            return
        self._leave(reader)
        outcome = self._answer(reader, may_wait=False)
        if isinstance(outcome, Deferred):
            outcome.on_done(reader.answer.resolve)
        else:
            reader.answer.resolve(outcome)

    def _leave(self, reader: _Waiting) -> None:
        reader.timer.cancel()
        self._waiting.pop(reader, None)

    # answers

    def _data(self) -> PartitionData:
        """Return an answer without records: where the log of the leader stands."""
        return PartitionData(
            high_watermark=self._metadata.high_watermark,
            log_start_offset=self._metadata.start_offset,
            current_leader=LeaderIdAndEpoch(leader_id=self._leader.node_id, leader_epoch=self._leader.epoch),
            records=b"",
        )

    def _refused(self, reader: _Waiting, code: ErrorCode) -> FetchResponse:
        data = self._data()
        data.error_code = code
        data.high_watermark = -1
        return self._response(reader, data)

    def _response(self, reader: _Waiting, data: PartitionData) -> FetchResponse:
        response = FetchResponse(
            responses=[FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])],
        )
        if reader.version >= FIRST_WITH_ENDPOINTS:
            host, port = reader.endpoint
            response.node_endpoints = [NodeEndpoint(node_id=self._leader.node_id, host=host, port=port)]
        return response


def _only_partition(request: FetchRequest) -> FetchPartition | None:
    """Return the partition of the metadata log, None where the request is about anything else."""
    if len(request.topics) != 1 or request.topics[0].topic_id != METADATA_TOPIC_ID:
        return None
    partitions = request.topics[0].partitions
    return partitions[0] if len(partitions) == 1 and partitions[0].partition == 0 else None
