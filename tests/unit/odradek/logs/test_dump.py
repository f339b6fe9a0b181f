"""What a dump shows of each kind of file, as lines and as JSON."""

import json
import tracemalloc
from typing import Any

import pytest

from odradek.logs.dump import DumpOptions, open_dump
from odradek.logs.dump_json import DOCUMENT_BEGIN, DOCUMENT_END, close_failed, dump_pieces, failed_object
from odradek.logs.dump_text import dump_lines
from odradek.logs.small_files import MAX_CHECKPOINT, MAX_SMALL_FILE, MAX_SNAPSHOT
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.legacy_building import build_message, build_wrapper
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptFile
from odradek.storage.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from tests.support.documents import check_documents
from tests.support.log_samples import DATA, SPOOL, make_log_directory, segment_paths
from tests.support.memory_files import MemoryFiles

LOG = "/d/t-0/00000000000000000000.log"
PLAIN = DumpOptions()
DEEP = DumpOptions(deep=True)
WITH_DATA = DumpOptions(data=True)


def a_log(*entries: bytes | bytearray) -> MemoryFiles:
    fs = MemoryFiles()
    fs.mkdir("/d/t-0")
    fs.write_bytes(LOG, b"".join(map(bytes, entries)))
    return fs


def lines(fs: MemoryFiles, path: str = LOG, options: DumpOptions = PLAIN) -> list[str]:
    return "".join(dump_lines(open_dump(fs, path, options))).splitlines()


def document(fs: MemoryFiles, path: str = LOG, options: DumpOptions = PLAIN) -> dict[str, Any]:
    text = DOCUMENT_BEGIN + "\n" + "".join(dump_pieces(open_dump(fs, path, options))) + DOCUMENT_END
    check_documents(("log", "dump"), text)
    [found] = json.loads(text)["files"]
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def sample() -> MemoryFiles:
    fs = MemoryFiles()
    make_log_directory(fs)
    return fs


def test_a_batch_with_everything() -> None:
    """All fields of a header, and of its records, are shown under the names of Kafka's own inspector."""
    records = [Record(5, 100, b"k", b"v", ((b"h", b"x"), (b"i", None))), Record(7, 90, None, None)]
    fields = BatchFields(
        leader_epoch=3,
        codec=Codec.ZSTD,
        producer_id=11,
        producer_epoch=2,
        base_sequence=0x7FFF_FFFF,
        transactional=True,
        delete_horizon_ms=77,
    )
    batch = build_batch(records, fields)
    crc = int.from_bytes(batch[17:21], "big")
    fs = a_log(batch)
    assert lines(fs, options=WITH_DATA) == [
        f"Dumping {LOG}",
        "Log starting offset: 0",
        "baseOffset: 5 lastOffset: 7 count: 2 baseSequence: 2147483647 lastSequence: 1 producerId: 11 "
        "producerEpoch: 2 partitionLeaderEpoch: 3 isTransactional: true isControl: false "
        f"deleteHorizonMs: OptionalLong[77] position: 0 CreateTime: 100 size: {len(batch)} magic: 2 "
        f"compresscodec: zstd crc: {crc} isvalid: true",
        "| offset: 5 CreateTime: 100 keySize: 1 valueSize: 1 sequence: 2147483647 headerKeys: [h,i] key: k payload: v",
        "| offset: 7 CreateTime: 90 keySize: -1 valueSize: -1 sequence: 1 headerKeys: []",
    ]
    shown = document(fs, options=WITH_DATA)
    assert shown["start_offset"] == 0
    [as_json] = shown["batches"]
    assert (as_json["delete_horizon_ms"], as_json["codec"], as_json["is_valid"]) == (77, "zstd", True)
    assert as_json["records"][0]["headers"] == [["h", "x"], ["i", None]]
    assert as_json["records"][1]["value"] is None


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_and_what_they_wrap(magic: int) -> None:
    """Messages have a line each; a wrapper has one, and the messages in it with their own checksums."""
    records = [Record(number, 100 + number, b"k%d" % number, b"v") for number in range(3)]
    wrapper = build_wrapper(records, magic, Codec.GZIP)
    plain = build_message(Record(3, 50, None, b"w"), magic)
    shown = lines(a_log(wrapper, plain), options=WITH_DATA)
    time = "CreateTime: 102" if magic else "NoTimestampType: -1"
    assert shown[2].startswith(f"offset: 2 position: 0 {time} size: {len(wrapper)} magic: {magic} compresscodec: gzip")
    assert [line.split(" crc: ")[0] for line in shown[3:6]] == [
        f"| offset: {number} {f'CreateTime: {100 + number}' if magic else 'NoTimestampType: -1'} "
        "keySize: 2 valueSize: 1 isValid: true"
        for number in range(3)
    ]
    assert shown[-1].endswith("payload: w")
    batches = document(a_log(wrapper, plain), options=DEEP)["batches"]
    assert [len(each["records"]) for each in batches] == [3, 1]


def test_a_checksum_that_is_wrong_is_shown() -> None:
    """The dump of a damaged batch goes on with the next one."""
    batch = build_batch([Record(0, 1, None, b"value")])
    damaged = bytearray(batch)
    damaged[-1] ^= 1
    shown = [line.rpartition(" ")[2] for line in lines(a_log(damaged, batch))[2:]]
    assert shown == ["false", "true"]


def test_records_that_cannot_be_read_are_told_in_their_place() -> None:
    """What is wrong with one batch is a line of its own, in JSON an error beside its records."""
    good = build_batch([Record(0, 1, None, b"value")], BatchFields(codec=Codec.GZIP))
    bad = bytearray(good)
    bad[61] ^= 0xFF
    fs = a_log(bad, good)
    assert "cannot be read" in lines(fs, options=DEEP)[3]
    first, second = document(fs, options=DEEP)["batches"]
    assert (first["records"], "cannot be read" in first["error"]) == ([], True)
    assert len(second["records"]) == 1


def test_a_cut_end_is_told_and_no_error() -> None:
    """A last batch that is still being written is told with its place."""
    batch = build_batch([Record(0, 1, None, b"value")])
    fs = a_log(batch, batch[:-2])
    *_, found, where = lines(fs)
    assert found == f"Found {len(batch) - 2} invalid bytes at the end of 00000000000000000000.log"
    assert where.startswith(f"at byte {len(batch)}: ")
    end = document(fs)["end"]
    assert isinstance(end, dict)
    assert (end["status"], end["position"], end["left"]) == ("cut", len(batch), len(batch) - 2)


def test_what_a_client_wrote_cannot_play_with_the_terminal() -> None:
    """Control characters are shown as escapes, and what is no UTF-8 with replacement characters."""
    fs = a_log(build_batch([Record(0, 1, b"\x1b[31m\x00\n", b"\xff ok \xc2\x9b")]))
    line = lines(fs, options=WITH_DATA)[-1]
    assert line.endswith("key: \\x1b[31m\\x00\\n payload: \ufffd ok \\x9b")
    [batch] = document(fs, options=WITH_DATA)["batches"]
    assert batch["records"][0]["value"] == {"base64": "/yBvayDCmw=="}


def test_indexes_and_snapshots(sample: MemoryFiles) -> None:
    """Each kind of file beside a segment has a line for each entry, with absolute offsets."""
    log = make_log_directory(MemoryFiles())
    index = lines(sample, segment_paths(log, OFFSET_INDEX_SUFFIX)[1])
    assert index[1] == "offset: 25 position: 283"
    times = lines(sample, segment_paths(log, TIME_INDEX_SUFFIX)[1])
    assert times[1].startswith("timestamp: 17000000")
    [aborted] = [path for path in segment_paths(log, TRANSACTION_INDEX_SUFFIX) if sample.exists(path)]
    assert lines(sample, aborted)[1:] == [
        "version: 0 producerId: 7 firstOffset: 22 lastOffset: 25 lastStableOffset: 26"
    ]
    snapshots = sorted(path for path in sample.listdir(SPOOL) if path.endswith(".snapshot"))
    first = lines(sample, f"{SPOOL}/{snapshots[0]}")[1]
    assert first.startswith("producerId: 9 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong")
    shown = document(sample, f"{SPOOL}/{snapshots[0]}")["entries"]
    assert shown[0]["current_txn_first_offset"] is None


def test_space_allocated_ahead_is_told_apart_from_entries(sample: MemoryFiles) -> None:
    """The zeros behind the entries of an index that is written to are one line."""
    path = f"{SPOOL}/00000000000000000000.index"
    fs = MemoryFiles()
    fs.mkdir(SPOOL)
    fs.write_bytes(path, sample.read_bytes(path) + bytes(800))
    assert lines(fs, path)[-1] == "800 bytes of zeros follow, allocated ahead for entries to come"
    fs.write_bytes(path, b"")
    assert lines(fs, path)[-1] == f"{path} is empty."


def test_the_small_files(sample: MemoryFiles) -> None:
    """Checkpoints and identities are shown by their values."""
    fs = sample
    assert lines(fs, f"{DATA}/recovery-point-offset-checkpoint")[1:] == ["topic: spool partition: 0 offset: 88"]
    assert lines(fs, f"{SPOOL}/leader-epoch-checkpoint")[1:] == ["epoch: 0 startOffset: 0", "epoch: 3 startOffset: 44"]
    assert lines(fs, f"{SPOOL}/partition.metadata")[1:] == ["topic_id: o_DB3gAAQACAAAEjRWeJqw"]
    assert "node.id: 1" in lines(fs, f"{DATA}/meta.properties")[1]
    assert document(fs, f"{DATA}/.kafka_cleanshutdown")["entries"] == [{"version": 0, "brokerEpoch": -1}]
    fs.write_bytes("/quorum-state", b'{"leaderId": 1, "leaderEpoch": 7}')
    assert document(fs, "/quorum-state")["entries"] == [{"leaderId": 1, "leaderEpoch": 7}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n"),
        ("00000000000000000007.snapshot", b"\0\1garbage"),
        ("quorum-state", b"[1]"),
        ("quorum-state", b"{"),
        ("partition.metadata", b"version: 0"),
        ("notes.txt", b"hello"),
        ("00000000000000000007.snapshot", bytes(MAX_SNAPSHOT + 1)),
        ("recovery-point-offset-checkpoint", bytes(MAX_CHECKPOINT + 1)),
        ("leader-epoch-checkpoint", bytes(MAX_CHECKPOINT + 1)),
        ("quorum-state", b'{"a":[' + b"{}," * (MAX_SMALL_FILE // 3) + b"{}]}"),
        ("meta.properties", b"\n" * (MAX_SMALL_FILE + 1)),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(name: str, content: bytes) -> None:
    """What is no such file is refused with its path; in JSON the document stays whole."""
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes(f"/d/{name}", content)
    with pytest.raises(CorruptFile, match=name):
        lines(fs, f"/d/{name}")


def test_a_file_that_is_not_there_is_told_as_that() -> None:
    """Whatever it is called: who has mistyped a directory is not told about names of files."""
    with pytest.raises(FileNotFoundError):
        open_dump(MemoryFiles(), "/orders-0", DumpOptions())


def test_a_document_stays_whole_when_a_file_cannot_be_read_on() -> None:
    """A file that could not be opened, and one that failed between two rows, are objects with an error."""
    fs = a_log(build_batch([Record(0, 1, None, b"value")]))
    pieces = iter(dump_pieces(open_dump(fs, LOG, PLAIN)))
    begun = [next(pieces), next(pieces)]
    text = "".join([DOCUMENT_BEGIN, failed_object("/x", "gone"), ",", *begun, close_failed("torn"), DOCUMENT_END])
    check_documents(("log", "dump"), text)
    first, second = json.loads(text)["files"]
    assert (first["error"], second["error"], len(second["batches"])) == ("gone", "torn", 1)


def test_a_dump_takes_little_memory() -> None:
    """However many batches a file has, a few of them are in memory."""
    batch = bytes(build_batch([Record(0, 1, None, b"x" * 1000)]))
    fs = a_log(batch * 5000)
    tracemalloc.start()
    shown = sum(len(line) for line in dump_lines(open_dump(fs, LOG, DEEP)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shown > 1_000_000
    assert peak < 4 << 20
