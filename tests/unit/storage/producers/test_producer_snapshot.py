"""Producer snapshots: Kafka's bytes, which one is loaded, which ones are removed, and corrupt ones."""

from struct import pack

import pytest

from odradek.protocol.records.checksum import crc32c
from odradek.storage.errors import CorruptFile
from odradek.storage.producers.producer_snapshot import ProducerSnapshots, decode_snapshot, encode_snapshot
from odradek.storage.producers.producer_state import AppendOrigin, ProducerStates
from tests.support.memory_files import MemoryFiles
from tests.unit.storage.producers.producer_headers import batch, marker

HOME = "/t-0"

KAFKAS = bytes.fromhex(
    "00019e1d35d300000002"
    "0000000000000000 0000 00000bb7 0000000000000bb7 00000004 0000018bcfe5ba01 ffffffff ffffffffffffffff"
    "0000000000000001 0000 00000002 0000000000000bba 00000002 0000018bcfe6eea0 ffffffff 0000000000000bb8"
)
"""A snapshot that Apache Kafka 4.3 has written at offset 3003: producer 1 has a transaction open."""


def _kafkas_states() -> ProducerStates:
    states = ProducerStates("t-0", verify_transactions=False)
    states.update(batch(2995, 5, producer_id=0, at=1700000020993), 2995)
    states.update(batch(0, 3, producer_id=1, transactional=True, at=1700000100000), 3000)
    states.end_offset = 3003
    return states


def _fs() -> MemoryFiles:
    fs = MemoryFiles()
    fs.mkdir(HOME)
    return fs


def _take(fs: MemoryFiles, *offsets: int) -> ProducerSnapshots:
    """Take a snapshot at each offset; at offset n, producer 7 has written n batches, one per ms."""
    snapshots = ProducerSnapshots(fs, HOME, [])
    states = ProducerStates("t-0")
    for sequence in range(max(offsets, default=0)):
        states.update(batch(sequence, at=sequence), sequence)
        states.end_offset = sequence + 1
        if states.end_offset in offsets:
            assert snapshots.take(states)
    return snapshots


def _files(fs: MemoryFiles) -> list[str]:
    return sorted(name.removesuffix(".snapshot").lstrip("0") for name in fs.listdir(HOME))


def test_kafkas_snapshot_is_read() -> None:
    """Every field comes back, the open transaction among them."""
    snapshots = _fs()
    snapshots.write_bytes(f"{HOME}/00000000000000003003.snapshot", KAFKAS)
    states = ProducerStates("t-0")
    assert ProducerSnapshots(snapshots, HOME, [3003]).reload(states, 0, 3025, expired_before_ms=0) == []
    assert states.end_offset == 3003
    assert states.first_unstable_offset(4000) == 3000
    first, second = states.entries[0], states.entries[1]
    assert first.batches == [(2999, 2999, 4, 1700000020993)]
    assert (first.epoch, first.coordinator_epoch, first.transaction_first_offset) == (0, -1, -1)
    assert (second.last_sequence, second.last_data_offset, second.last_timestamp) == (2, 3002, 1700000100000)
    assert second.transaction_first_offset == 3000


def test_kafkas_snapshot_is_written() -> None:
    """The same history gives the same bytes, in the file that Kafka would name so."""
    fs = _fs()
    assert ProducerSnapshots(fs, HOME, []).take(_kafkas_states())
    assert fs.listdir(HOME) == ["00000000000000003003.snapshot"]
    assert fs.read_bytes(f"{HOME}/00000000000000003003.snapshot") == KAFKAS


def test_producer_without_data_is_kept() -> None:
    """A marker alone is remembered too: epoch, coordinator and time, with no batch."""
    states = ProducerStates("t-0")
    states.update_marker(marker(epoch=4, at=99), 10, coordinator_epoch=6, is_aborted=True)
    ((producer_id, entry),) = decode_snapshot(encode_snapshot(states.entries), "x")
    assert (producer_id, entry.epoch, entry.coordinator_epoch, entry.last_timestamp) == (7, 4, 6, 99)
    assert (entry.batches, entry.next_sequence) == ([], 0)


def test_one_batch_per_producer_survives() -> None:
    """After a restart the last batch is known again, and the sequence goes on; older duplicates are out of order."""
    fs = _fs()
    snapshots = _take(fs, 9)
    states = ProducerStates("t-0")
    snapshots.reload(states, 0, 20, expired_before_ms=-1)
    assert states.check(batch(9), AppendOrigin.CLIENT) is None
    duplicate = states.check(batch(8), AppendOrigin.CLIENT)
    assert duplicate is not None
    assert duplicate.first_offset == 8
    assert len(states.entries[7].batches) == 1


@pytest.mark.parametrize("size", [0, 1, 9, 10, 55, 101, 103])
def test_snapshot_of_wrong_size_is_corrupt(size: int) -> None:
    """A file that is cut short or too long is no snapshot."""
    with pytest.raises(CorruptFile, match=r"^here: "):
        decode_snapshot((KAFKAS + b"\0")[:size], "here")


@pytest.mark.parametrize("at", range(0, len(KAFKAS), 5))
def test_changed_byte_is_detected(at: int) -> None:
    """Version, checksum and count are checked, and the checksum covers the rest."""
    damaged = bytearray(KAFKAS)
    damaged[at] ^= 0x40
    with pytest.raises(CorruptFile):
        decode_snapshot(bytes(damaged), "here")


def test_count_must_match_although_the_checksum_does() -> None:
    """A negative or huge count allocates nothing."""
    for count in (-1, 1, 3, 0x7FFFFFFF, -0x80000000):
        body = pack(">i", count) + KAFKAS[10:]
        with pytest.raises(CorruptFile, match="do not take"):
            decode_snapshot(pack(">hI", 1, crc32c(body, 0)) + body, "here")


def test_snapshot_is_taken_once_per_offset() -> None:
    """Nothing is written while the log has not gone on since the last snapshot."""
    fs = _fs()
    snapshots = ProducerSnapshots(fs, HOME, [])
    states = ProducerStates("t-0")
    assert not snapshots.take(states)
    states.end_offset = 5
    assert snapshots.take(states)
    assert not snapshots.take(states)
    assert snapshots.offsets == [5]


def test_newest_snapshot_within_the_log_is_loaded() -> None:
    """Snapshots beyond the end and up to the start are removed, and the newest other one is taken."""
    fs = _fs()
    snapshots = _take(fs, 3, 5, 8, 12)
    states = ProducerStates("t-0")
    snapshots.reload(states, log_start_offset=3, log_end_offset=9, expired_before_ms=-1)
    assert (states.end_offset, states.entries[7].last_sequence) == (8, 7)
    assert _files(fs) == ["5", "8"]
    assert snapshots.offsets == [5, 8]


def test_without_snapshot_the_log_is_read_from_its_start() -> None:
    """Nothing is known then, and nothing stays of what was."""
    states = _kafkas_states()
    ProducerSnapshots(_fs(), HOME, []).reload(states, 50, 4000, expired_before_ms=-1)
    assert states.end_offset == 50
    assert states.is_empty


def test_state_that_fits_the_log_is_not_loaded_again() -> None:
    """Where it reflects exactly the end of the log, only the start is raised."""
    fs = _fs()
    snapshots = _take(fs, 5)
    states = _kafkas_states()
    snapshots.reload(states, 2, 3003, expired_before_ms=1 << 60)
    assert set(states.entries) == {0, 1}
    assert states.end_offset == 3003


def test_corrupt_snapshots_are_removed_and_older_ones_tried() -> None:
    """Each one that cannot be read is reported and deleted."""
    fs = _fs()
    snapshots = _take(fs, 3, 5, 8)
    fs.write_bytes(snapshots.path(8), b"garbage")
    fs.write_bytes(snapshots.path(5), b"")
    states = ProducerStates("t-0")
    corrupt = snapshots.reload(states, 0, 9, expired_before_ms=-1)
    assert [error.path for error in corrupt] == [snapshots.path(8), snapshots.path(5)]
    assert states.end_offset == 3
    assert _files(fs) == ["3"]


def test_expired_producers_are_not_loaded() -> None:
    """Producers that were silent too long are left out, unless a transaction is open."""
    fs = _fs()
    snapshots = ProducerSnapshots(fs, HOME, [])
    snapshots.take(_kafkas_states())
    states = ProducerStates("t-0")
    snapshots.reload(states, 0, 4000, expired_before_ms=1700000020993)
    assert set(states.entries) == {1}
    snapshots.reload(states, 0, 4001, expired_before_ms=1 << 60)
    assert set(states.entries) == {1}


@pytest.mark.parametrize(
    ("bases", "left"),
    [([0, 5, 8], ["12", "5", "8"]), ([0, 8, 20], ["8"]), ([0], ["12"]), ([], ["12"]), ([12], ["12"])],
)
def test_stray_snapshots_are_removed(bases: list[int], left: list[str]) -> None:
    """A snapshot belongs to the segment that starts there; only the last one may stand at the end of the log."""
    fs = _fs()
    snapshots = _take(fs, 3, 5, 8, 12)
    snapshots.remove_strays(bases)
    assert _files(fs) == left
    assert [str(offset) for offset in snapshots.offsets] == sorted(left, key=int)


def test_snapshots_are_deleted_singly_before_an_offset_and_all() -> None:
    """Deletion follows segments; deleting what is not there is no error."""
    fs = _fs()
    snapshots = _take(fs, 3, 5, 8, 12)
    snapshots.delete(4)
    snapshots.delete_before(5)
    assert _files(fs) == ["12", "5", "8"]
    snapshots.delete(8)
    assert _files(fs) == ["12", "5"]
    snapshots.delete_all()
    assert _files(fs) == []
    states = ProducerStates("t-0", end_offset=1)
    assert snapshots.take(states)


def test_snapshot_is_renamed_before_its_removal() -> None:
    """With its segment, a snapshot waits for its removal under another name."""
    fs = _fs()
    snapshots = _take(fs, 3)
    path = snapshots.path(3)
    assert snapshots.mark_deleted(3) == path + ".deleted"
    assert snapshots.mark_deleted(3) is None
    assert fs.exists(path + ".deleted")
    assert not fs.exists(path)
