"""Reading a range of offsets of one partition: batches as bytes, fetched ahead while those before are being decoded.

Two answers are in memory at most: the one whose batches are being used, and the one that arrives meanwhile. Aborted
transactions are left out where only committed records are wanted, as clients do it (KIP-98).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from heapq import heapify, heappop
from typing import Final, NamedTuple

from odradek.client.connection import BrokerConnection
from odradek.protocol.codec import RecordData
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from odradek.protocol.records.batch import CURRENT_MAGIC, HEADER_SIZE, BatchHeader, check_crc, iter_batches
from odradek.protocol.records.compression import decompress
from odradek.protocol.registry import ApiKey
from pyspark_odradek.client.cluster import ClusterConnections, check
from pyspark_odradek.client.connection import receive, send
from pyspark_odradek.columns.body import Body
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, DataLostError, UnknownTopicError
from pyspark_odradek.offsets import EARLIEST, LATEST, OffsetRange

CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Records are handed on when there is this much of them, decompressed."""
_ANSWER_LIMIT: Final = 256 * 1024 * 1024
"""A batch larger than what was asked for comes whole, so an answer may be larger, too."""
_GRACE_S: Final = 5.0
"""For so long a partition may end before the wanted offset, or be unknown, from when that was seen first: a new leader
has yet to learn of both."""
_PAUSE_S: Final = 0.1
_LONG_WAIT_S: Final = 10.0
"""A quota that has a task wait for so long is spoken of."""
_CONSUMER: Final = -1
_NO_SESSION: Final = -1
_UNKNOWN_EPOCH: Final = -1

_log = logging.getLogger(__name__)


class _Entry(NamedTuple):
    header: BatchHeader
    data: memoryview


def read_bodies(cluster: ClusterConnections, wanted: OffsetRange, fail_on_data_loss: bool) -> Iterator[list[Body]]:
    """Yield the batches that have the wanted offsets, about `CHUNK_BYTES` of them at a time.

    What is yielded must not be used after the next step: its memory is used again. Batches at both ends may have
    records outside the range.

    Raises:
        DataLostError: with `fail_on_data_loss`, some of the offsets are no longer there.
        ClusterError: the cluster cannot be read, or nothing arrived for as long as is tried.
        CorruptRecord: a batch arrived damaged, or is damaged on the broker's disk.
    """
    reader = _RangeReader(cluster, wanted, fail_on_data_loss)
    while reader.position < wanted.until:
        entries = cluster.retry(reader.step)
        bodies: list[Body] = []
        size = 0
        for entry in entries:
            body = _body(entry, cluster.options.check_crcs)
            bodies.append(body)
            size += len(body.records)
            if size >= CHUNK_BYTES:
                yield bodies
                bodies, size = [], 0
        if bodies:
            yield bodies


def _body(entry: _Entry, check_crcs: bool) -> Body:
    header, data = entry
    if header.magic != CURRENT_MAGIC:
        return Body(header, data)
    if check_crcs:
        check_crc(data, header)
    records = data[HEADER_SIZE:]
    return Body(header, decompress(header.codec, records) if header.is_compressed else records)


class _RangeReader:
    def __init__(self, cluster: ClusterConnections, wanted: OffsetRange, fail_on_data_loss: bool) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._fail_on_data_loss = fail_on_data_loss
        self._buffers = [bytearray(), bytearray()]
        self._ahead: BrokerConnection | None = None
        """Where an answer for `position` is on its way from."""
        self._moved_at = time.monotonic()
        self._symptom_at: float | None = None
        """When it first looked as if something were gone, since the position has moved."""
        self._epoch = _UNKNOWN_EPOCH
        """The epoch of leadership of the last batch that was read."""
        self._leader_epoch = _UNKNOWN_EPOCH
        """The one in which the log was known to have what was read."""
        self.position = wanted.first

    def step(self) -> list[_Entry]:
        """Return the readable batches of the next answer, and have the one after it sent meanwhile."""
        try:
            connection = self._ahead or self._ask()
            self._ahead = None
            self._buffers.reverse()
            answer = receive(connection, FetchResponse, _ANSWER_LIMIT, self._buffers[0])
            if self._is_throttled(answer):
                return []
            data = self._partition(answer)
        except UnknownTopicError as gone:
            self._waited_for(gone)
            return []
        entries, is_beyond = self._entries(data.records)
        if data.preferred_read_replica >= 0:
            self._cluster.read_from(self._wanted.partition, data.preferred_read_replica)
            if not entries:
                return []
        if is_beyond and not entries:
            self._move(self._wanted.until)  # compaction has left nothing of what is wanted here
            return []
        if entries:
            self._epoch = entries[-1].header.partition_leader_epoch
            self._move(entries[-1].header.next_offset)
            if self.position < self._wanted.until:
                with suppress(BrokerUnreachableError, UnknownTopicError):  # then the next step asks, and tells
                    self._ahead = self._ask()
            return list(_readable(entries, data))
        before = self.position
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and not self._cluster.is_read_from_leader(
            self._wanted.partition
        ):
            self._cluster.read_from(self._wanted.partition, None)  # that replica is behind, or ahead in cleaning up
            return []
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE or self.position >= data.high_watermark:
            self._look_for_loss()
        self._check_progress(data)
        if self.position == before:
            time.sleep(_PAUSE_S)  # a broker need not wait for records as it was asked to
        return []

    def _ask(self) -> BrokerConnection:
        tp = self._wanted.partition
        options = self._cluster.options
        epoch = self._cluster.leader_epoch(tp)
        if epoch != self._leader_epoch:
            self._check_history()
            self._leader_epoch = epoch
        connection = self._cluster.nearest(tp)
        partition = FetchPartition(
            partition=tp.partition,
            current_leader_epoch=epoch,
            fetch_offset=self.position,
            partition_max_bytes=options.fetch_bytes,
        )
        request = FetchRequest(
            replica_id=_CONSUMER,
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            isolation_level=int(options.read_committed),
            session_epoch=_NO_SESSION,
            rack_id=options.rack,
            topics=[FetchTopic(topic=tp.topic, partitions=[partition])],
        )
        send(connection, ApiKey.FETCH, request)
        return connection

    def _is_throttled(self, answer: FetchResponse) -> bool:
        """Return whether the answer says nothing but to wait, having waited: a quota is used up (KIP-219).

        That is no symptom of anything, however long it takes: the time does not count.
        """
        if answer.error_code or answer.responses or answer.throttle_time_ms <= 0:
            return False
        seconds = answer.throttle_time_ms / 1000
        if seconds >= _LONG_WAIT_S:
            told = "partition %s is read on in %.0f s: consumer_byte_rate or request_percentage of this user is used up"
            _log.warning(told, self._wanted.partition, seconds)
        time.sleep(seconds)
        self._moved_at += seconds
        return True

    def _partition(self, answer: FetchResponse) -> PartitionData:
        check(answer.error_code, f"partition {self._wanted.partition}")
        for topic in answer.responses:
            for partition in topic.partitions:
                if (topic.topic, partition.partition_index) == self._wanted.partition:
                    if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                        return partition
                    check(partition.error_code, f"partition {self._wanted.partition}")
                    return partition
        raise ClusterError(f"the broker does not answer for partition {self._wanted.partition}")

    def _entries(self, records: RecordData | None) -> tuple[list[_Entry], bool]:
        """Return the batches that have wanted offsets, and whether there is one that begins after all of them."""
        entries: list[_Entry] = []
        view = memoryview(records or b"")
        for position, header in iter_batches(view):
            if header.magic == CURRENT_MAGIC:
                if header.base_offset >= self._wanted.until:
                    return entries, True
                if header.last_offset_delta < 0:
                    raise ClusterError(
                        f"partition {self._wanted.partition} has a batch of no length at {header.base_offset}"
                    )
            if header.next_offset > self.position:
                entries.append(_Entry(header, view[position : position + header.size]))
        return entries, False

    def _move(self, position: int) -> None:
        if position > self.position:
            self.position = position
            self._moved_at = time.monotonic()
            self._symptom_at = None

    def _look_for_loss(self) -> None:
        """Go on where there are records again; the end of the partition may lie before the wanted one."""
        tp = self._wanted.partition
        position, until = self.position, self._wanted.until
        earliest = self._cluster.offsets({tp: EARLIEST})[tp]
        if position < earliest:
            self._lose(min(earliest, until), f"it begins at offset {earliest} now")
            return
        latest = self._cluster.offsets({tp: LATEST})[tp]
        if position < latest or self._cluster.options.read_committed:
            self._symptom_at = None
        elif not self._may_pass():
            self._lose(until, f"it ends at offset {latest} now")

    def _check_history(self) -> None:
        """Go back to where a new leader's log parts from what was read (KIP-320): its election was not clean."""
        if self._epoch == _UNKNOWN_EPOCH:
            return
        end = self._cluster.end_of_epoch(self._wanted.partition, self._epoch)
        if end is None or end >= self.position:
            return
        message = (
            f"offsets {end} to {self.position - 1} of partition {self._wanted.partition} were read and are gone since:"
            f" the leader's log of epoch {self._epoch} ends at offset {end}, after an unclean election"
        )
        if self._fail_on_data_loss:
            raise DataLostError(f"{message}. With the option failOnDataLoss=false reading goes on from there")
        _log.warning("%s", message)
        self.position, self._epoch = max(end, self._wanted.first), _UNKNOWN_EPOCH

    def _may_pass(self) -> bool:
        """Tell whether what looks like a loss was seen for the first time only a short while ago."""
        now = time.monotonic()
        if self._symptom_at is None:
            self._symptom_at = now
        return now - self._symptom_at < _GRACE_S

    def _waited_for(self, gone: UnknownTopicError) -> None:
        if self._may_pass():
            raise BrokerUnreachableError(str(gone)) from gone
        self._lose(self._wanted.until, str(gone))

    def _lose(self, following: int, why: str) -> None:
        message = (
            f"offsets {self.position} to {following - 1} of partition {self._wanted.partition} are gone before they"
            f" were read: {why}"
        )
        if self._fail_on_data_loss:
            raise DataLostError(f"{message}. With the option failOnDataLoss=false reading goes on with what there is")
        _log.warning("%s", message)
        self._move(following)

    def _waited(self) -> float:
        return time.monotonic() - self._moved_at

    def _check_progress(self, data: PartitionData) -> None:
        if self._waited() <= self._cluster.options.retry_timeout_s:
            return
        why = ""
        if self._cluster.options.read_committed and data.last_stable_offset < self._wanted.until:
            why = f": an open transaction holds back what comes after offset {data.last_stable_offset}"
        raise ClusterError(
            f"offset {self.position} of partition {self._wanted.partition} did not arrive within"
            f" {self._cluster.options.retry_timeout_s:g} s{why}"
        )


def _readable(entries: list[_Entry], data: PartitionData) -> Iterator[_Entry]:
    """Leave out control batches, and what belongs to aborted transactions."""
    aborted = [(one.first_offset, one.producer_id) for one in data.aborted_transactions or ()]
    heapify(aborted)
    open_aborted: set[int] = set()
    for entry in entries:
        header = entry.header
        while aborted and aborted[0][0] <= header.last_offset:
            open_aborted.add(heappop(aborted)[1])
        if header.is_control and header.magic == CURRENT_MAGIC:
            open_aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in open_aborted):
            yield entry
