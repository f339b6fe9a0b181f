"""What comes out of a log directory: all records and nothing else, from no more bytes than needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from odradek.protocol.records.batch import Codec, read_header
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.errors import CorruptRecord
from odradek.storage.checkpoints.checkpoint_file import write_offset_checkpoint
from odradek.storage.log.log import Log
from odradek.storage.names import LOG_START_FILE, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from pyspark_odradek.columns import building
from pyspark_odradek.errors import DamagedRecordsError, OptionError, SourceError, UnknownTopicError
from pyspark_odradek.log_files import segments
from pyspark_odradek.log_files.locating import read_batch
from pyspark_odradek.log_files.transactions import AbortedOffsets, AbortedRange
from tests.support import legacy_logs
from tests.support.counting_files import counting
from tests.support.log_samples import DATA, SPOOL, flip, make_log_directory, segment_paths
from tests.support.logs import NOW_MS, PARTITION, a_batch, append_values, contents, open_at
from tests.support.memory_files import MemoryFiles
from tests.unit.pyspark_odradek.log_files.rows import Row, offsets_of, read_rows

SAMPLE_OFFSETS = [*range(22), 22, 23, 24, *range(26, 66), 66, 67, 68, *range(70, 88)]
"""Of the sample's records: 25 and 69 are markers, and 22 to 24 were aborted."""
ABORTED = {22, 23, 24}


@pytest.fixture
def fs() -> MemoryFiles:
    """A disk with the sample of a log directory."""
    files = MemoryFiles()
    make_log_directory(files)
    return files


@pytest.fixture
def log() -> Log:
    """The log that the sample was made of, closed."""
    return make_log_directory(MemoryFiles())


def _at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def test_all_records_come_out_once_and_nothing_is_changed(fs: MemoryFiles) -> None:
    """Every record of all segments is read in order, markers are not, and the directory stays as it was."""
    before = contents(fs, SPOOL)
    rows = read_rows(fs, DATA)
    assert offsets_of(rows) == SAMPLE_OFFSETS
    assert {(row["topic"], row["partition"], row["timestampType"]) for row in rows} == {("spool", 0, 0)}
    assert [row["value"] for row in rows[:2]] == [b"value 0", b"x" * 100]
    assert rows[80]["timestamp"] == _at(NOW_MS + 37_000)
    assert contents(fs, SPOOL) == before
    assert read_rows(fs, SPOOL) == rows


def test_aborted_records_are_left_out(fs: MemoryFiles) -> None:
    """With read_committed the records of aborted transactions do not come out, those of committed ones do."""
    rows = read_rows(fs, DATA, isolation_level="read_committed")
    assert offsets_of(rows) == [offset for offset in SAMPLE_OFFSETS if offset not in ABORTED]


@pytest.mark.parametrize("with_snapshots", [True, False])
def test_open_transactions_hold_back_what_follows(with_snapshots: bool) -> None:
    """Of a log that a broker holds open, read_committed gives what lies before the oldest open transaction."""
    fs = MemoryFiles()
    log = open_at(fs)
    log.producers.verify_transactions = False
    opened = BatchFields(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    aborted = BatchFields(producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(a_batch([b"aborted"], NOW_MS, aborted), 0, NOW_MS)
    append_values(log, [b"plain"])
    log.append(a_batch([b"open"], NOW_MS, opened), 0, NOW_MS)
    while len(list(log.segments)) < 3:
        append_values(log, [b"x" * 100])
    marker = build_end_transaction_batch(EndTransactionMarker(False, 0), 8, 0, NOW_MS)
    log.append_marker(marker, 0, NOW_MS, 0)  # the index of the last segment is not written yet
    if not with_snapshots:
        for name in contents(fs):
            if name.endswith(".snapshot"):
                fs.unlink(f"{log.directory}/{name}")
    rows = read_rows(fs, "/data", isolation_level="read_committed")
    assert [row["value"] for row in rows] == [b"plain"]


def test_aborted_transactions_in_any_order() -> None:
    """Transactions of one producer that an index has in any order, and overlapping, cover just the offsets in them."""
    spans = [(50, 60), (0, 9), (5, 30), (12, 14), (70, 70)]
    found = AbortedOffsets([AbortedRange(7, *span) for span in spans])
    for offset in range(80):
        assert found.has(7, offset) == any(first <= offset <= last for first, last in spans)
        assert not found.has(8, offset)


def test_a_marker_that_says_it_is_large_is_not_read(fs: MemoryFiles) -> None:
    """Only the end of a transaction is looked for in a control batch, which is small: no memory for one that is not."""
    path = "/x"
    fs.write_bytes(path, bytes(100))
    header = read_header(a_batch([b"x"], NOW_MS, BatchFields()))._replace(length=1 << 20)
    with pytest.raises(CorruptRecord, match="says it has 1048588 bytes, more than 65536"):
        read_batch(fs.open(path, writable=False), 0, header, 65536)


def test_few_offsets_need_few_bytes(fs: MemoryFiles, log: Log) -> None:
    """A filter for offsets reads one segment, and of it not much more than the batches that have them."""
    files, read = counting(fs)
    rows = read_rows(files, DATA, [GreaterThanOrEqual(("offset",), 40), LessThan(("offset",), 42)])
    assert {40, 41} <= set(offsets_of(rows)) <= set(range(38, 48))
    assert len(read) == 1
    assert sum(read.values()) < 900
    assert sum(fs.size(path) for path in segment_paths(log)) > 6000


def test_a_lower_bound_of_time_leaves_older_segments_alone(fs: MemoryFiles, log: Log) -> None:
    """A filter for timestamps opens the segments that have such records only, and begins inside the first of them."""
    files, read = counting(fs)
    rows = read_rows(files, DATA, [GreaterThan(("timestamp",), _at(NOW_MS + 36_500))])
    assert offsets_of(rows) == [82, 83, 84, 85, 86, 87]
    last = segment_paths(log)[-1]
    old = [path for path in segment_paths(log)[:-2] if read[path]]
    assert old == []
    assert read[last] < fs.size(last) + 200


def test_filters_choose_topics_and_partitions(fs: MemoryFiles) -> None:
    """Directories of other topics and partitions are not looked into."""
    fs.mkdir(f"{DATA}/other-3")
    open_values(fs, f"{DATA}/other-3", [b"o"])
    open_values(fs, f"{DATA}/__consumer_offsets-0", [b"internal"])
    assert len(read_rows(fs, DATA)) == len(SAMPLE_OFFSETS) + 1
    topic: list[list[Filter]] = [[EqualTo(("topic",), "other")], [In(("topic",), ("other", "none"))]]
    number: list[list[Filter]] = [[EqualTo(("partition",), 3)], [In(("partition",), (3, 9))]]
    for filters in (*topic, *number):
        files, read = counting(fs)
        assert [row["value"] for row in read_rows(files, DATA, filters)] == [b"o"]
        assert [path for path in read if "spool" in path] == []
    assert [row["value"] for row in read_rows(fs, DATA, topic="other")] == [b"o"]
    assert [row["value"] for row in read_rows(fs, DATA, topicPattern="o.*")] == [b"o"]
    assert [row["value"] for row in read_rows(fs, DATA, assign='{"other": [3]}')] == [b"o"]
    with pytest.raises(UnknownTopicError, match="has no partition other-1"):
        read_rows(fs, DATA, assign='{"other": [1]}')
    assert [row["value"] for row in read_rows(fs, DATA, topic="__consumer_offsets")] == [b"internal"]
    with pytest.raises(UnknownTopicError, match="has no topic lost; there are"):
        read_rows(fs, DATA, topic="lost")


def open_values(fs: MemoryFiles, directory: str, values: list[bytes | None]) -> None:
    """Make the directory of a partition with these values."""
    log = open_at(fs, directory=directory)
    append_values(log, values)
    log.flush()
    log.close()


def test_options_say_where_to_begin_and_end(fs: MemoryFiles) -> None:
    """Offsets and timestamps mean what they mean to `odradek`: the first record that is not earlier, and so on."""
    start, end = '{"spool": {"0": 30}}', '{"spool": {"0": 33}}'
    assert offsets_of(read_rows(fs, DATA, startingOffsets=start, endingOffsets=end)) == [30, 31, 32]
    times = {"startingTimestamp": str(NOW_MS + 5000), "endingTimestamp": str(NOW_MS + 7000)}
    assert offsets_of(read_rows(fs, DATA, **times)) == [10, 11, 12, 13]
    assert read_rows(fs, DATA, startingTimestamp=str(NOW_MS + 100_000)) == []
    assert read_rows(fs, DATA, startingOffsets="latest") == []
    with pytest.raises(OptionError, match="spool-0 is missing"):
        read_rows(fs, DATA, startingOffsets='{"other": {"0": 1}}')
    with pytest.raises(OptionError, match="names partition other-0, which is not there"):
        read_rows(fs, DATA, startingOffsets='{"spool": {"0": 1}, "other": {"0": 1}}')


def test_deleted_records_do_not_come_out(fs: MemoryFiles) -> None:
    """Records before the log start offset may still be on disk, and are not read."""
    write_offset_checkpoint(fs, f"{DATA}/{LOG_START_FILE}", {PARTITION: 51})
    assert offsets_of(read_rows(fs, DATA)) == [offset for offset in SAMPLE_OFFSETS if offset >= 51]


def test_damage_ends_the_query_with_file_and_byte(fs: MemoryFiles, log: Log) -> None:
    """A batch with a wrong checksum is not believed; with mode=dropMalformed it alone is left out."""
    path = segment_paths(log)[1]
    flip(fs, path, 100)
    with pytest.raises(DamagedRecordsError, match=rf"{path} is damaged at byte 0: Record is corrupt \(stored crc"):
        read_rows(fs, DATA)
    base = int(path.rpartition("/")[2].removesuffix(".log"))
    rows = read_rows(fs, DATA, mode="dropMalformed")
    assert offsets_of(rows) == [offset for offset in SAMPLE_OFFSETS if offset not in (base, base + 1)]


@pytest.mark.parametrize("byte", range(8))
def test_a_wrong_offset_is_noticed(fs: MemoryFiles, log: Log, byte: int) -> None:
    """The base offset is in no checksum, but records do not come out under offsets that cannot be theirs."""
    flip(fs, segment_paths(log)[1], byte, 0x80)
    with pytest.raises(DamagedRecordsError, match=r"offsets -?[0-9]+ to -?[0-9]+ are not from"):
        read_rows(fs, DATA)


def test_a_lost_frame_ends_a_segment(fs: MemoryFiles, log: Log) -> None:
    """Where a size field is damaged nothing more is found in a segment; with dropMalformed the others are read."""
    path = segment_paths(log)[1]
    flip(fs, path, 8)
    with pytest.raises(DamagedRecordsError, match=f"{path} is damaged at byte 0"):
        read_rows(fs, DATA)
    bases = [segment.base_offset for segment in log.segments]
    rows = read_rows(fs, DATA, mode="dropMalformed")
    assert offsets_of(rows) == [offset for offset in SAMPLE_OFFSETS if not bases[1] <= offset < bases[2]]


def test_the_tail_ends_with_the_last_whole_batch(log: Log) -> None:
    """However much of its last batches a broker has written, the whole ones come out; zeros behind them do no harm."""
    last = segment_paths(log)[-1]
    starts = _batch_starts(make_files(), last)
    content = make_files().read_bytes(last)
    for size in [*range(starts[-2], len(content)), len(content)]:
        fs = make_files()
        fs.write_bytes(last, content[:size] + bytes(5000) * (size == len(content)))
        whole = sum(1 for start in [*starts[1:], len(content)] if start <= size)
        assert offsets_of(read_rows(fs, DATA))[-1] == 87 - 2 * (len(starts) - whole)


def make_files() -> MemoryFiles:
    """A disk with the sample of a log directory."""
    files = MemoryFiles()
    make_log_directory(files)
    return files


def _batch_starts(fs: MemoryFiles, path: str) -> list[int]:
    content, starts, position = fs.read_bytes(path), [], 0
    while position < len(content):
        starts.append(position)
        position += int.from_bytes(content[position + 8 : position + 12], "big") + 12
    return starts


def test_a_closed_segment_that_is_cut_is_damaged(fs: MemoryFiles, log: Log) -> None:
    """Only the last segment may end inside a batch."""
    path = segment_paths(log)[0]
    fs.write_bytes(path, fs.read_bytes(path)[:-3])
    with pytest.raises(DamagedRecordsError, match=f"{path} is damaged at byte [0-9]+: the batch that begins there"):
        read_rows(fs, DATA)


@pytest.mark.parametrize("suffix", [OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX])
@pytest.mark.parametrize(
    "damage", [lambda _: None, lambda content: b"\xff" * len(content), lambda _: b"", lambda content: content[:-1]]
)
def test_indexes_are_hints(fs: MemoryFiles, log: Log, suffix: str, damage: Callable[[bytes], bytes | None]) -> None:
    """Without indexes, or with damaged ones, the same records come out."""
    for path in segment_paths(log, suffix):
        content = damage(fs.read_bytes(path))
        fs.unlink(path)
        if content is not None:
            fs.write_bytes(path, content)
    filters = [GreaterThanOrEqual(("offset",), 40), GreaterThan(("timestamp",), _at(NOW_MS + 10_000))]
    rows = read_rows(fs, DATA, filters, maxBytesPerTask="300")
    assert [row["offset"] for row in rows if row["offset"] >= 40] == [o for o in SAMPLE_OFFSETS if o >= 40]
    assert offsets_of(read_rows(fs, DATA, startingTimestamp=str(NOW_MS + 39_000))) == [86, 87]


def test_an_index_that_lies_is_not_believed(fs: MemoryFiles, log: Log) -> None:
    """An entry that leads to a later batch than it says is not followed."""
    path = segment_paths(log, OFFSET_INDEX_SUFFIX)[0]
    content = bytearray(fs.read_bytes(path))
    wrong = int.from_bytes(content[12:16], "big")
    content[4:8] = (wrong - 1).to_bytes(4, "big")
    fs.write_bytes(path, content)
    assert read_rows(fs, DATA, [EqualTo(("offset",), 3)])[0]["offset"] <= 3


@pytest.mark.parametrize("name", legacy_logs.NAMES)
def test_old_formats_come_out_as_kafka_reads_them(name: str) -> None:
    """Logs of versions 0 and 1, plain and compressed, give the records that Apache Kafka's own tool prints."""
    fs = MemoryFiles()
    legacy_logs.put(fs, "/data/old-0", name)
    rows = read_rows(fs, "/data")
    found = [(row["offset"], row["key"], row["value"]) for row in rows]
    assert found == [(record.offset, record.key, record.value) for record in legacy_logs.dumped_records(name)]


@pytest.mark.parametrize("codec", Codec)
def test_compressed_batches_larger_than_a_read(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each codec is read, and batches that do not fit into the buffer, too."""
    monkeypatch.setattr(segments, "READ_BYTES", 150)
    fs = MemoryFiles()
    log = open_at(fs)
    values: list[bytes | None] = [b"%d" % number * (number * 7) for number in range(20)]
    for at in range(0, 20, 5):
        log.append(a_batch(values[at : at + 5], NOW_MS, BatchFields(codec=codec)), 0, NOW_MS)
    assert [row["value"] for row in read_rows(fs, "/data")] == values


def test_what_is_no_log_directory_is_told(fs: MemoryFiles) -> None:
    """A path that is not there, one without partitions, and one where segments are being replaced: a sentence each."""
    with pytest.raises(SourceError, match="/nowhere is not there"):
        read_rows(fs, "/nowhere")
    fs.mkdir("/empty")
    with pytest.raises(SourceError, match="/empty is neither a log directory"):
        read_rows(fs, "/empty")
    fs.write_bytes(f"{SPOOL}/{0:020d}.log.swap", b"")
    with pytest.raises(SourceError, match="is about to replace other segments"):
        read_rows(fs, DATA)


def test_a_segment_that_vanishes_is_told(fs: MemoryFiles, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention in a running broker may take a segment away between planning and reading."""
    gone = segment_paths(log)[2]

    def build(*args: Any) -> Any:
        fs.unlink(gone)
        return building.build(*args)

    monkeypatch.setattr(segments, "build", build)
    with pytest.raises(SourceError, match="is not there"):
        read_rows(fs, DATA)


@st.composite
def _filters(draw: st.DrawFn) -> list[Filter]:
    kinds = (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
    found: list[Filter] = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(kinds))
        if draw(st.booleans()):
            found.append(kind(("offset",), draw(st.integers(-1, 70))))
        else:
            found.append(kind(("timestamp",), _at(NOW_MS + draw(st.integers(-10, 110)))))
    return found


def _holds(row: Row, each: Any) -> bool:
    value = row[each.attribute[0]]
    return bool(
        {
            "EqualTo": value == each.value,
            "GreaterThan": value > each.value,
            "GreaterThanOrEqual": value >= each.value,
            "LessThan": value < each.value,
            "LessThanOrEqual": value <= each.value,
        }[type(each).__name__]
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 100), min_size=1, max_size=4), max_size=20),
    _filters(),
    st.integers(1, 3000),
    st.integers(1, 5),
)
def test_no_filter_loses_a_record(
    batches: list[list[int]], filters: list[Filter], task_bytes: int, min_partitions: int
) -> None:
    """Whatever the timestamps, filters and sizes of tasks: what fulfils the filters comes out, once and in order."""
    fs = MemoryFiles()
    log = open_at(fs)
    for times in batches:
        append_values(log, [b"v" * 90] * len(times), [NOW_MS + time for time in times])
    log.flush()
    log.close()
    everything = read_rows(fs, "/data")
    assert offsets_of(everything) == list(range(sum(map(len, batches))))
    sizes = {"maxBytesPerTask": str(task_bytes), "minPartitions": str(min_partitions)}
    rows = read_rows(fs, "/data", filters, **sizes)
    wanted = [row for row in everything if all(_holds(row, each) for each in filters)]
    assert [row for row in rows if all(_holds(row, each) for each in filters)] == wanted
    assert offsets_of(rows) == sorted(set(offsets_of(rows)))
