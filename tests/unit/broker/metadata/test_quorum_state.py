"""The quorum-state file, and the epochs of a controller that others follow."""

import json
from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from odradek.protocol.records.batch import iter_batches
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DIRECTORY
from tests.unit.broker.raft.support import NODE, new_files, open_leading


@pytest.mark.parametrize(
    "state",
    [
        QuorumState(),
        QuorumState(leader_id=7, leader_epoch=3, voters=(7,)),
        QuorumState(leader_epoch=4, voted_id=7, voted_directory_id=UUID(int=99), data_version=1),
    ],
)
def test_what_is_written_is_read(state: QuorumState) -> None:
    """In both of Kafka's versions."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    write_quorum_state(files, DIRECTORY, state)
    assert read_quorum_state(files, DIRECTORY) == state


def test_version_0_is_byte_for_byte_kafkas() -> None:
    """As a controller of Apache Kafka 4.3 keeps it."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    write_quorum_state(files, DIRECTORY, QuorumState(101, 1, voters=(101,)))
    assert files.read_bytes(f"{DIRECTORY}/quorum-state") == (
        b'{"clusterId":"","leaderId":101,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":101}],"data_version":0}'
    )


@pytest.mark.parametrize("key", ["leaderId", "leaderEpoch", "votedId"])
def test_numbers_that_cannot_be_are_corrupt(key: str) -> None:
    """Text, booleans, and what is beyond 32 bits."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    for value in ("1", True, 1 << 31, -2):
        files.write_bytes(f"{DIRECTORY}/quorum-state", json.dumps({"leaderEpoch": 1, key: value}).encode())
        with pytest.raises(CorruptMetadataError):
            read_quorum_state(files, DIRECTORY)


def test_every_start_of_a_controller_is_an_epoch_that_begins_with_a_leader_change() -> None:
    """Also where the file is lost: the epoch is above all in the log."""
    files = new_files()
    for epoch in (1, 2, 3):
        if epoch == 3:
            files.unlink(f"{DIRECTORY}/quorum-state")
        log = open_leading(files)
        assert log.epoch == epoch
        assert read_quorum_state(files, DIRECTORY) == QuorumState(NODE, epoch, voters=(NODE,))
        data = memoryview(files.read_bytes(f"{DIRECTORY}/{0:020d}.log"))
        begun = [header for _, header in iter_batches(data) if header.partition_leader_epoch == epoch]
        assert begun[0].is_control
        assert log.high_watermark > begun[0].base_offset
        log.close()
