"""Every file of a log directory, byte for byte: what the log engine writes is what Kafka's format says, field by field.

The bytes are put together by hand from the format's description; checksums come from a library that the broker does
not use. Each kind has more tests of its own beside its module.
"""

from struct import pack
from uuid import UUID

import crcmod.predefined

from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.storage.checkpoints.checkpoint_file import write_offset_checkpoint
from odradek.storage.directories.manager import LogManager
from odradek.storage.log.log import Log
from odradek.storage.names import CLEANER_OFFSET_FILE, TopicPartition
from tests.support.log_directories import open_log_directories
from tests.support.logs import DIRECTORY, NOW_MS, a_batch, contents, open_at, small_config
from tests.support.memory_files import MemoryFiles

crc32c = crcmod.predefined.mkPredefinedCrcFun("crc-32c")

NOW = "0000018bcfe56800"  # 1,700,000,000,000 ms
NOW_AND_5 = "0000018bcfe56805"

TRANSACTIONAL = (  # offset 0, position 0
    "0000000000000000"  # base offset
    "0000003b"  # length of what follows
    "00000003"  # leader epoch
    "02",  # magic
    "0010"  # attributes: transactional
    "00000000"  # last offset delta
    f"{NOW}{NOW}"  # base and largest timestamp
    "0000000000000005 0002 00000000"  # producer id, its epoch, base sequence
    "00000001"  # count of records
    "12"  # length 9, zigzag
    "00 00 00"  # attributes, timestamp delta, offset delta
    "02 30"  # key of 1 byte
    "04 6162"  # value of 2 bytes
    "00",  # no headers
)
ABORT_MARKER = (  # offset 1, position 71
    "0000000000000001 00000042 00000003 02",
    "0030"  # attributes: transactional, control
    "00000000"
    f"{NOW}{NOW}"
    "0000000000000005 0002 ffffffff"  # no sequence
    "00000001"
    "20 00 00 00"  # length 16
    "08 0000 0000"  # key: version 0, type 0 (abort)
    "0c 0000 00000007"  # value: version 0, coordinator epoch 7
    "00",
)
PLAIN = (  # offsets 2 and 3, position 149
    "0000000000000002 00000042 00000003 02",
    "0000"
    "00000001"
    f"{NOW_AND_5}{NOW_AND_5}"
    "ffffffffffffffff ffff ffffffff"  # no producer
    "00000002"
    "10 00 00 00 0230 0278 00"  # key "0", value "x"
    "0e 00 00 02 0231 01 00",  # offset delta 1, key "1", no value
)
OFFSET_INDEX = (
    "00000001 00000047"  # offset 1 (relative) ends the append at position 71; the first append makes no entry
    "00000003 00000095"  # offset 3, at position 149
)
TIME_INDEX = (
    f"{NOW} 00000000"  # nothing was later up to the second append; offset 0 is the first with that time
    f"{NOW_AND_5} 00000003"
)
TRANSACTION_INDEX = (
    "0000"  # version
    "0000000000000005"  # producer id
    "0000000000000000"  # first offset of the transaction
    "0000000000000001"  # offset of the marker
    "0000000000000002"  # last stable offset: nothing else was open
)
PRODUCERS = (
    "00000001"  # one entry
    "0000000000000005 0002"  # producer id, epoch
    "00000000"  # last sequence
    "0000000000000000"  # last offset
    "00000000"  # its distance to the first of the batch
    f"{NOW}"
    "00000007"  # coordinator epoch, of the marker
    "ffffffffffffffff"  # no open transaction
)


def batch(head: str, body: str) -> bytes:
    """Return a batch with its checksum between its two parts."""
    checked = bytes.fromhex(body)
    return bytes.fromhex(head) + pack(">I", crc32c(checked)) + checked


def fill(log: Log) -> None:
    """Write a transaction that is aborted, and two plain records."""
    log.producers.verify_transactions = False
    fields = BatchFields(producer_id=5, producer_epoch=2, base_sequence=0, transactional=True)
    log.append(a_batch([b"ab"], fields=fields), 3, NOW_MS)
    log.append_marker(build_end_transaction_batch(EndTransactionMarker(False, 7), 5, 2, NOW_MS), 3, NOW_MS, 0)
    log.append(a_batch([b"x", None], NOW_MS + 5), 3, NOW_MS)


def test_files_of_a_partition() -> None:
    """Data, three indexes, producers, leader epochs and topic id, after an orderly close."""
    fs = MemoryFiles()
    log = open_at(fs, small_config(index_interval_bytes=0))
    fill(log)
    log.close()
    producers = bytes.fromhex(PRODUCERS)
    assert contents(fs) == {
        "00000000000000000000.log": batch(*TRANSACTIONAL) + batch(*ABORT_MARKER) + batch(*PLAIN),
        "00000000000000000000.index": bytes.fromhex(OFFSET_INDEX),
        "00000000000000000000.timeindex": bytes.fromhex(TIME_INDEX),
        "00000000000000000000.txnindex": bytes.fromhex(TRANSACTION_INDEX),
        "00000000000000000004.snapshot": bytes.fromhex("0001") + pack(">I", crc32c(producers)) + producers,
        "leader-epoch-checkpoint": b"0\n1\n3 0\n",  # version, count, epoch 3 from offset 0
        "partition.metadata": b"version: 0\ntopic_id: o_DB3gAAQACAAAEjRWeJqw",
    }


def test_files_after_a_recovery_are_the_same() -> None:
    """All but the data is made anew from it, to the same bytes."""
    fs = MemoryFiles()
    log = open_at(fs, small_config(index_interval_bytes=0))
    fill(log)
    log.close()
    expected = contents(fs)
    for name in expected:
        if not name.endswith((".log", "partition.metadata")):
            fs.unlink(f"{DIRECTORY}/{name}")
    open_at(fs, small_config(index_interval_bytes=0)).close()
    assert contents(fs) == expected


def test_files_of_a_log_directory() -> None:
    """Identity, the four checkpoints and the marker of a clean shutdown."""
    fs = MemoryFiles()
    numbers = iter((1 << 120, 2 << 120))
    directories = open_log_directories(fs, ["/data"], 1, lambda: UUID(int=next(numbers)))
    manager = LogManager(fs, directories, lambda: NOW_MS)
    manager.load_all(lambda _: None)
    log = manager.get_or_create(TopicPartition("spool-of-yarn", 7), UUID(int=9), small_config())
    fill(log)
    log.delete_records_before(2)
    checkpoint = manager.checkpoints.high_watermarks({TopicPartition("spool-of-yarn", 7): 3})
    assert checkpoint is not None
    checkpoint()
    write_offset_checkpoint(fs, f"/data/{CLEANER_OFFSET_FILE}", {TopicPartition("spool-of-yarn", 7): 2})
    assert not manager.close(broker_epoch=40)
    files = {name: fs.read_bytes(f"/data/{name}") for name, is_directory in fs.scan("/data") if not is_directory}
    head = b"0\n1\nspool-of-yarn 7 "  # version, count, topic, partition
    assert files == {
        ".lock": b"",
        ".kafka_cleanshutdown": b'{"version":0,"brokerEpoch":40}',
        "meta.properties": b"#\nnode.id=1\ndirectory.id=AgAAAAAAAAAAAAAAAAAAAA\nversion=1\n"
        b"cluster.id=AQAAAAAAAAAAAAAAAAAAAA\n",
        "recovery-point-offset-checkpoint": head + b"3\n",  # before the end, so that a recovery looks at the segment
        "log-start-offset-checkpoint": head + b"2\n",
        "replication-offset-checkpoint": head + b"3\n",
        "cleaner-offset-checkpoint": head + b"2\n",
    }
