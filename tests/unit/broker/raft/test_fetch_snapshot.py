"""FetchSnapshot: pieces of a snapshot, and why there is none."""

import pytest

from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.raft.fetch_snapshot import SnapshotFetchHandler
from odradek.broker.runtime.disk_threads import InPlace
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch_snapshot import (
    FetchedPartitionSnapshot,
    FetchSnapshotRequest,
    RequestedPartitionSnapshot,
    RequestedSnapshotId,
    RequestedTopicSnapshot,
)
from odradek.storage.names import METADATA_TOPIC
from tests.support.deferred import now
from tests.unit.broker.metadata.support import DIRECTORY
from tests.unit.broker.raft.support import NODE, add_topic, context, leader_of, new_files, open_leading


class SnapshotReader:
    """A leader with a snapshot, and an observer that asks for it."""

    def __init__(self) -> None:
        files = new_files()
        log = open_leading(files, SnapshotSchedule(max_bytes=1))
        add_topic(log, 1)
        name = log.newest_snapshot
        assert name is not None
        self.name = name
        self.content = files.read_bytes(f"{DIRECTORY}/{name}")
        self.handler = SnapshotFetchHandler(log, leader_of(log), InPlace())

    def ask(self, max_bytes: int = 100, **given: int) -> FetchedPartitionSnapshot:
        """Ask; `given` replaces what the partition of the request says."""
        values = {"end_offset": self.name.end_offset, "epoch": 1, "current_leader_epoch": 1, "position": 0} | given
        snapshot_id = RequestedSnapshotId(end_offset=values.pop("end_offset"), epoch=values.pop("epoch"))
        asked = RequestedPartitionSnapshot(snapshot_id=snapshot_id, **values)  # type: ignore[arg-type]  # by name
        topic = RequestedTopicSnapshot(name=METADATA_TOPIC, partitions=[asked])
        response = now(
            self.handler.fetch_snapshot(context(1), FetchSnapshotRequest(max_bytes=max_bytes, topics=[topic]))
        )
        assert response.error_code == 0
        assert [one.node_id for one in response.node_endpoints] == [NODE]
        encode(response, 1)
        return response.topics[0].partitions[0]


@pytest.fixture
def reader() -> SnapshotReader:
    """A leader with a snapshot."""
    return SnapshotReader()


def test_pieces_make_up_the_file(reader: SnapshotReader) -> None:
    """Each says the size of the whole, and is as long as was asked for."""
    found = b""
    while len(found) < len(reader.content):
        piece = reader.ask(position=len(found))
        assert (piece.error_code, piece.size, piece.position) == (0, len(reader.content), len(found))
        assert (piece.snapshot_id.end_offset, piece.snapshot_id.epoch) == reader.name
        assert 0 < len(piece.unaligned_records or b"") <= 100
        found += bytes(piece.unaligned_records or b"")
    assert found == reader.content


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"end_offset": 1}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"epoch": 7}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"end_offset": -1}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": 1 << 40}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"current_leader_epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"current_leader_epoch": 2}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"partition": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_not_there_is_told_with_the_leader(
    reader: SnapshotReader, given: dict[str, int], code: ErrorCode
) -> None:
    """No bytes, and the error of the partition."""
    answer = reader.ask(**given)
    assert (answer.error_code, answer.unaligned_records) == (code, b"")
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (NODE, 1)


def test_other_clusters_and_more_than_one_partition_are_refused_as_a_whole(reader: SnapshotReader) -> None:
    """INCONSISTENT_CLUSTER_ID, INVALID_REQUEST."""
    other = now(reader.handler.fetch_snapshot(context(1), FetchSnapshotRequest(cluster_id="x")))
    none = now(reader.handler.fetch_snapshot(context(1), FetchSnapshotRequest()))
    assert other.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert none.error_code == ErrorCode.INVALID_REQUEST
