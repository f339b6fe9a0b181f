"""The index of aborted transactions: Kafka's bytes, the search for an interval, and files that are wrong."""

from struct import pack

import pytest

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.segment.transaction_index import AbortedTxn, TransactionIndex
from tests.support.memory_files import MemoryFiles

PATH = "/00000000000000003003.txnindex"

KAFKAS = bytes.fromhex(
    "000000000000000000010000000000000bb80000000000000bbb0000000000000bbc"
    "000000000000000000010000000000000bc00000000000000bc30000000000000bc4"
    "000000000000000000010000000000000bc80000000000000bcb0000000000000bcc"
)
"""A file that Apache Kafka 4.3 has written."""

ENTRIES = [
    AbortedTxn(1, 3000, 3003, 3004),
    AbortedTxn(1, 3008, 3011, 3012),
    AbortedTxn(1, 3016, 3019, 3020),
]


def test_kafkas_file_is_read() -> None:
    """Entries come out as Kafka meant them."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, KAFKAS)
    for active in (True, False):
        index = TransactionIndex(fs, PATH, 3003, active)
        assert (list(index), index.last_entry, index.count) == (ENTRIES, ENTRIES[-1], 3)
        index.sanity_check()


def test_kafkas_file_is_written() -> None:
    """The same transactions give the same bytes."""
    fs = MemoryFiles()
    index = TransactionIndex(fs, PATH, 3003, active=True)
    for aborted in ENTRIES:
        index.append(aborted)
    index.close()
    assert fs.read_bytes(PATH) == KAFKAS


def test_there_is_no_file_without_entries() -> None:
    """Most segments hold no aborted transaction, and have no such file, whatever is done with the index."""
    fs = MemoryFiles()
    index = TransactionIndex(fs, PATH, 3003, active=True)
    assert (list(index), index.last_entry, index.collect(0, 1 << 40)) == ([], None, ([], False))
    index.write_pending()
    assert index.prepare_sync() is None
    index.sync()
    index.truncate_to(0)
    index.sanity_check()
    index.rename(PATH + ".deleted")
    index.seal()
    index.close()
    index.delete()
    assert fs.listdir("/") == []


@pytest.mark.parametrize(
    ("first", "end", "found", "complete"),
    [
        (0, 3000, [], True),
        (0, 3001, [0], True),
        (3003, 3004, [0], True),
        (3004, 3009, [1], True),
        (3002, 3012, [0, 1], True),
        (3000, 3020, [0, 1, 2], True),
        (3000, 3021, [0, 1, 2], False),
        (3020, 4000, [], False),
    ],
)
def test_transactions_of_an_interval_are_found(first: int, end: int, found: list[int], complete: bool) -> None:
    """Those that overlap it are found, and the search ends where all before its end is decided."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, KAFKAS)
    assert TransactionIndex(fs, PATH, 3003).collect(first, end) == ([ENTRIES[number] for number in found], complete)


def test_overlapping_transactions_are_found_by_their_markers() -> None:
    """A long transaction is found although shorter ones ended before it."""
    index = TransactionIndex(MemoryFiles(), PATH, 0, active=True)
    short, long = AbortedTxn(1, 10, 20, 5), AbortedTxn(2, 5, 40, 41)
    index.append(short)
    index.append(long)
    assert index.collect(6, 8) == ([long], True)
    assert index.collect(15, 16) == ([short, long], True)
    assert index.collect(21, 100) == ([long], False)


def test_markers_ascend() -> None:
    """An entry that does not come after the last one is refused."""
    index = TransactionIndex(MemoryFiles(), PATH, 0, active=True)
    index.append(ENTRIES[0])
    with pytest.raises(InvalidOffset):
        index.append(ENTRIES[0])
    assert index.count == 1


def test_truncation_goes_by_the_marker() -> None:
    """Entries whose marker is cut off the log go."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, KAFKAS)
    index = TransactionIndex(fs, PATH, 3003)
    index.truncate_to(3011)
    index.close()
    assert fs.read_bytes(PATH) == KAFKAS[:34]
    index.reset()
    assert not fs.exists(PATH)


def test_unknown_version_is_refused() -> None:
    """An entry of a version that is not known is CorruptFile, not a wrong answer."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, pack(">hqqqq", 1, 1, 3000, 3003, 3004))
    index = TransactionIndex(fs, PATH, 3003)
    for use in (lambda: list(index), lambda: index.collect(0, 4000), index.sanity_check):
        with pytest.raises(CorruptFile, match="version 1"):
            use()


@pytest.mark.parametrize(
    "content",
    [
        pack(">hqqqq", 0, 1, 2000, 2003, 2004),
        pack(">hqqqq", 0, 1, 3010, 3009, 3012),
        pack(">hqqqqhqqqq", 0, 1, 3000, 3009, 3012, 0, 1, 3000, 3009, 3012),
        KAFKAS[:-1],
    ],
)
def test_garbage_is_detected(content: bytes) -> None:
    """Markers before the segment or not ascending, and a file that is cut short, are CorruptFile."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    with pytest.raises(CorruptFile, match=PATH):
        TransactionIndex(fs, PATH, 3003).sanity_check()
