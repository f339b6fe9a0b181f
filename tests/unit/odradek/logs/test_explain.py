"""The steps in which a log finds an offset or a time."""

import json
from collections.abc import Iterator
from itertools import count

import pytest

from odradek.logs.explain import MOST_RECORDS, Explanation, explain_offset, explain_timestamp
from odradek.logs.explain_json import explain_json
from odradek.logs.explain_text import explain_lines
from odradek.logs.lookup import search_segments
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.compression import compress
from odradek.storage.errors import CorruptFile
from odradek.storage.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, file_name
from odradek.storage.producers.producer_state import AppendOrigin
from tests.support.log_samples import SPOOL, flip, make_log_directory
from tests.support.logs import NOW_MS, read_all
from tests.support.logs import open_at as open_log_at
from tests.support.lookup_example import FIRST_TIME_MS, SEGMENTS, SOUGHT, make_example
from tests.support.memory_files import MemoryFiles
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord


@pytest.fixture
def example() -> tuple[MemoryFiles, str]:
    fs = MemoryFiles()
    return fs, make_example("/data", fs)


def _ticks() -> Iterator[int]:
    return count(0, 1000)


def _offset(example: tuple[MemoryFiles, str], offset: int) -> Explanation:
    return explain_offset(*example, offset, _ticks().__next__)


def test_the_worked_example(example: tuple[MemoryFiles, str]) -> None:
    """Offset 368776: the segment 368769, the entry 3,497, five headers from byte 497 on, the record at byte 897."""
    told = _offset(example, SOUGHT)
    assert told.base_offsets == list(SEGMENTS)
    assert told.segment == 368769
    assert told.index_search is not None
    assert told.index_search.entry == (368769 + 3, 497)
    assert told.scan is not None
    assert [each.position for each in told.scan.last] == [497, 597, 697, 797, 897]
    assert told.batch is not None
    assert (told.batch.position, told.batch.checksum_is_right) == (897, True)
    assert told.record is not None
    assert told.record.record.offset == SOUGHT
    assert told.record.record.key == b"368776"
    # Two entries of 8 bytes, five headers of 61, a batch of 100.
    assert told.total.bytes_read == 2 * 8 + 5 * 61 + 100
    assert told.total.nanoseconds > 0


def test_the_worked_example_by_time(example: tuple[MemoryFiles, str]) -> None:
    """The time of that record leads to it over the time index, whose entry is that of the same batch."""
    told = explain_timestamp(*example, FIRST_TIME_MS + SOUGHT * 1000 - 999, _ticks().__next__)
    assert told.segment == 368769
    assert told.time_search is not None
    assert told.time_search.entry == (FIRST_TIME_MS + 368772 * 1000, 368772)
    assert told.record is not None
    assert told.record.record.offset == SOUGHT


def test_the_lines_tell_the_example(example: tuple[MemoryFiles, str]) -> None:
    """People read the numbers that they know from the articles."""
    text = "\n".join(line.text for line in explain_lines(_offset(example, SOUGHT)))
    assert "-> 00000000000000368769.log" in text
    assert "-> entry 3,497: the batch that ends at offset 368769 + 3 = 368772 begins at byte 497" in text
    assert "-> byte 897, after 4 batches" in text
    assert "In all: 421 bytes read" in text
    by_time = explain_timestamp(*example, FIRST_TIME_MS + SOUGHT * 1000, _ticks().__next__)
    assert "368769.timeindex" in "\n".join(line.text for line in explain_lines(by_time))


def test_the_json_has_every_step(example: tuple[MemoryFiles, str]) -> None:
    """Programs get the same, also where steps were not reached."""
    shown = json.loads(json.dumps(explain_json(_offset(example, SOUGHT))))
    assert shown["offset_index_search"]["entry"] == {"offset": 368772, "position": 497}
    assert shown["record"]["value"].startswith("article 368776")
    assert [step["step"] for step in shown["steps"]] == ["segment", "offset index", "scan", "batch"]
    nothing = explain_json(_offset(example, -5))
    assert (nothing["record"], nothing["scan"]) == (None, None)


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        (-1, "before the first segment"),
        (5_000_000, "the log ends before it"),
        (2_000, "compaction removed it"),
    ],
)
def test_why_an_offset_is_not_found(example: tuple[MemoryFiles, str], offset: int, problem: str) -> None:
    """An offset that no record has is explained up to where the search ends."""
    told = _offset(example, offset)
    assert told.record is None
    assert problem in told.problem
    assert list(explain_lines(told))


def test_a_time_after_all_records_is_not_found(example: tuple[MemoryFiles, str]) -> None:
    """The last segment is gone over, since its index need not be complete."""
    told = explain_timestamp(*example, FIRST_TIME_MS * 2, _ticks().__next__)
    assert told.segment == SEGMENTS[-1]
    assert "no record of the log is as late" in told.problem


def test_without_indexes_the_search_begins_at_the_first_byte(example: tuple[MemoryFiles, str]) -> None:
    """A missing index only makes the way longer."""
    fs, directory = example
    for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        fs.unlink(f"{directory}/{file_name(368769, suffix)}")
    told = _offset(example, SOUGHT)
    assert told.scan is not None
    assert (told.scan.start, told.scan.stepped_over) == (0, 7)
    assert told.record is not None
    assert "is missing" in "\n".join(line.text for line in explain_lines(told))


def test_an_entry_that_leads_astray_is_told(example: tuple[MemoryFiles, str]) -> None:
    """Where a damaged index points beside a batch, or behind the file, there is a sentence and no error."""
    fs, directory = example
    path = f"{directory}/{file_name(368769, OFFSET_INDEX_SUFFIX)}"
    for at in (7, 4):
        content = fs.read_bytes(path)
        flip(fs, path, at, 0x05)
        told = _offset(example, SOUGHT)
        assert told.record is None
        assert "log verify" in told.problem
        fs.write_bytes(path, content)


def test_no_more_records_are_gone_through_than_can_be_waited_for() -> None:
    """A batch of a few hundred bytes may stand for millions; what is behind the bound is not looked for."""
    fs = MemoryFiles()
    log = open_log_at(fs)
    count = MOST_RECORDS + 100
    body = compress(Codec.ZSTD, HandmadeRecord(key=None, value=None).encode() * count)
    batch = HandmadeBatch(body, attributes=Codec.ZSTD, count=count, base_timestamp=NOW_MS).encode()
    log.append(memoryview(bytearray(batch)), 0, NOW_MS, AppendOrigin.COORDINATOR)
    log.flush()
    told = explain_offset(fs, log.directory, 0, _ticks().__next__)
    assert told.record is not None
    told = explain_offset(fs, log.directory, count - 1, _ticks().__next__)
    assert told.record is None
    assert f"the first {MOST_RECORDS} records" in told.problem


def test_a_directory_without_segments_is_refused(example: tuple[MemoryFiles, str]) -> None:
    """There must be a log to look into."""
    with pytest.raises(CorruptFile, match="no segment"):
        explain_offset(example[0], "/data", 0, _ticks().__next__)


def test_every_offset_of_a_log_is_found_as_the_log_finds_it() -> None:
    """What the steps lead to is what a reader is given."""
    fs = MemoryFiles()
    log = make_log_directory(fs)
    values = dict(read_all(open_log_at(fs, clean=True)))
    for offset in range(log.log_end_offset):
        told = explain_offset(fs, SPOOL, offset, _ticks().__next__)
        assert told.record is not None
        assert (told.record.record.offset, told.record.record.value) == (offset, values[offset])
    for number in range(40):
        told = explain_timestamp(fs, SPOOL, NOW_MS + number * 1000, _ticks().__next__)
        assert told.record is not None
        assert told.record.record.timestamp == NOW_MS + number * 1000


def test_the_search_over_names_reads_nothing() -> None:
    """A binary search over n names takes about log2(n) steps, and no bytes."""
    found = search_segments(range(0, 1_000_000, 10), 123_456)
    assert found.entry == (123_450,)
    assert len(found.probes) <= 17
    assert found.bytes_read == 0


def test_a_look_up_may_be_limited(example: tuple[MemoryFiles, str]) -> None:
    """A limit on the headers that are read ends a look-up without an index, and the answer says so."""
    fs, directory = example
    fs.unlink(f"{directory}/{file_name(368769, OFFSET_INDEX_SUFFIX)}")
    told = explain_offset(fs, directory, SOUGHT, _ticks().__next__, most_headers=5)
    assert told.scan is not None
    assert told.scan.stepped_over == 5
    assert told.record is None
    assert "odradek log explain" in told.problem
    assert explain_offset(fs, directory, SOUGHT, _ticks().__next__, most_headers=8).record is not None
