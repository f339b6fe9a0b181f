"""The metadata log and its snapshots, byte for byte, and the files of Kafka's raft layer that are only read.

Put together by hand from Kafka's schemas; checksums come from a library that the broker does not use. What Apache Kafka
itself wrote (a log, a snapshot, `bootstrap.checkpoint`) lies beside these tests as data.
"""

from struct import pack
from uuid import UUID

import crcmod.predefined
import pytest

from odradek.broker.metadata.features import METADATA_VERSION
from odradek.broker.metadata.opening import MetadataOptions, open_metadata_log
from odradek.broker.metadata.quorum_state import read_quorum_state
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.config.topic import kafka_defaults
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from tests.support.clock import ManualClock
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import DIRECTORY, topic_records
from tests.unit.broker.metadata.test_opening import new_directory, propose

crc32c = crcmod.predefined.mkPredefinedCrcFun("crc-32c")

A = UUID("0a0b0c0d-0000-0000-0000-000000000001")
TOPIC = (
    "01 02 00"  # frame version, type 2 (Topic), record version 0
    "02 74"  # name "t", its length plus one before it
    "0a0b0c0d000000000000000000000001"
    "00"  # no tagged fields
)
PARTITION = (
    "01 03 02"  # type 3 (Partition), record version 2
    "00000000"  # partition 0
    "0a0b0c0d000000000000000000000001"
    "02 00000001"  # replicas: one, node 1
    "02 00000001"  # in sync
    "01 01"  # nothing is removed or added
    "00000001"  # leader
    "00000000"  # leader epoch
    "00000000"  # partition epoch
    "01"  # no directories
    "00"
)
LEVEL = "01 0c 00 11 6d657461646174612e76657273696f6e 0019 00"  # type 12 (FeatureLevel): metadata.version is 25


def records_batch(offset: int, timestamp: int, attributes: int, *records: tuple[str, str]) -> bytes:
    """Return a batch of epoch 1 of records with a key and a value in hex."""
    body = b""
    for delta, (key, value) in enumerate(records):
        key_bytes, value_bytes = bytes.fromhex(key), bytes.fromhex(value)
        record = b"\0\0" + varint(delta) + (varint(len(key_bytes)) + key_bytes if key_bytes else varint(-1))
        record += varint(len(value_bytes)) + value_bytes + b"\0"
        body += varint(len(record)) + record
    checked = pack(">hiqqqhii", attributes, len(records) - 1, timestamp, timestamp, -1, -1, -1, len(records)) + body
    return pack(">qiibI", offset, len(checked) + 9, 1, 2, crc32c(checked)) + checked


def varint(number: int) -> bytes:
    """Return Kafka's zigzag varint of a small number."""
    number = (number << 1) ^ (number >> 31)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def test_change_is_one_batch_of_kafkas_records() -> None:
    """Behind the leader change and the feature levels with which a log begins."""
    files = new_directory()
    clock = ManualClock()
    log = open_metadata_log(files, "/data", MetadataOptions(1, kafka_defaults()), clock)
    before, start = files.read_bytes(f"{DIRECTORY}/{0:020d}.log"), log.end_offset
    propose(log, *topic_records("t", A))
    after = files.read_bytes(f"{DIRECTORY}/{0:020d}.log")
    assert after[len(before) :] == records_batch(start, clock.now_ms(), 0, ("", TOPIC), ("", PARTITION))


def test_snapshot_is_header_records_and_footer() -> None:
    """Named after the offset and epoch that it stands for; offsets inside begin at 0."""
    files = new_directory()
    clock = ManualClock()
    options = MetadataOptions(1, kafka_defaults(), snapshots=SnapshotSchedule(1, 0))
    log = open_metadata_log(files, "/data", options, clock)
    removed = [FeatureLevelRecord(name=name) for name in log.image.features if name != METADATA_VERSION]
    propose(log, *removed, *topic_records("t", A))
    now = clock.now_ms()
    config = "01 04 00 04 01 14 6d696e2e696e73796e632e7265706c69636173 02 31 00"  # broker "": min.insync.replicas=1
    # The one replica has a directory now: not assigned, all zero.
    partition = PARTITION.removesuffix("0100") + "02" + "00" * 16 + "00"
    header = ("0000 0003", f"0000 {now:016x} 00")  # SnapshotHeader: version, time of the log
    expected = records_batch(0, now, 0x20, header)
    expected += records_batch(1, now, 0, ("", LEVEL), ("", TOPIC), ("", partition), ("", config))
    expected += records_batch(5, now, 0x20, ("0000 0004", "0000 00"))  # SnapshotFooter
    assert files.read_bytes(f"{DIRECTORY}/{log.end_offset:020d}-{1:010d}.checkpoint") == expected


@pytest.mark.parametrize(
    "content",
    [
        b'{"clusterId":"","leaderId":1,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],'
        b'"data_version":0}',
        b'{"leaderId":1,"leaderEpoch":7,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
    ],
)
def test_quorum_state_of_both_versions_is_read(content: bytes) -> None:
    """Kafka writes it; of it all only the epoch matters to a single voter."""
    files = MemoryFiles()
    files.mkdir(DIRECTORY)
    files.write_bytes(f"{DIRECTORY}/quorum-state", content)
    assert read_quorum_state(files, DIRECTORY).leader_epoch == 7
