"""FetchSnapshot (api key 59): a piece of a snapshot of the metadata log (KIP-630).

Version notes: directories of voters and endpoints come with v1 (KIP-853).
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import (
    Message,
    RecordData,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uint16,
    uuid,
)
from odradek.protocol.codec.fields import MAX_INT32


class RequestedSnapshotId(Struct):
    """The snapshot to read."""

    end_offset: int = int64()
    epoch: int = int32()


class RequestedPartitionSnapshot(Struct):
    """Where to read in the snapshot of one partition."""

    partition: int = int32()
    current_leader_epoch: int = int32()
    snapshot_id: RequestedSnapshotId = struct(RequestedSnapshotId)
    position: int = int64()
    replica_directory_id: UUID = uuid("1+", tag=0)


class RequestedTopicSnapshot(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[RequestedPartitionSnapshot] = array(RequestedPartitionSnapshot)


class FetchSnapshotRequest(Message, api_key=59, versions="0-1", flexible="0+"):
    """Where to read."""

    cluster_id: str | None = string(nullable="0+", default=None, tag=0)
    replica_id: int = int32(default=-1)
    max_bytes: int = int32(default=MAX_INT32)
    topics: list[RequestedTopicSnapshot] = array(RequestedTopicSnapshot)


class FetchedSnapshotId(Struct):
    """The snapshot that was read."""

    end_offset: int = int64()
    epoch: int = int32()


class SnapshotLeader(Struct):
    """Who leads the partition, told to those who asked the wrong node."""

    leader_id: int = int32()
    leader_epoch: int = int32()


class FetchedPartitionSnapshot(Struct):
    """A piece of the snapshot of one partition."""

    index: int = int32()
    error_code: int = int16()
    snapshot_id: FetchedSnapshotId = struct(FetchedSnapshotId)
    current_leader: SnapshotLeader = struct(SnapshotLeader, tag=0)
    size: int = int64()
    """Bytes of the whole snapshot."""
    position: int = int64()
    unaligned_records: RecordData | None = records()
    """Bytes of the file from `position` on; batches may be cut at both ends."""


class FetchedTopicSnapshot(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[FetchedPartitionSnapshot] = array(FetchedPartitionSnapshot)


class SnapshotNodeEndpoint(Struct):
    """Where a leader that is named in the answer can be reached."""

    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class FetchSnapshotResponse(Message, api_key=59, versions="0-1", flexible="0+"):
    """What was read."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[FetchedTopicSnapshot] = array(FetchedTopicSnapshot)
    node_endpoints: list[SnapshotNodeEndpoint] = array(SnapshotNodeEndpoint, "1+", tag=0)
