"""Leader epochs of a partition: what is assigned and dropped, and where an epoch ends (KIP-101, KIP-279)."""

from functools import partial

import pytest

from odradek.storage.checkpoints.leader_epochs import EpochStart, LeaderEpochCache, read_leader_epochs
from odradek.storage.errors import CorruptFile
from tests.support.memory_files import MemoryFiles

HOME = "/t-0"


def _fs(content: bytes | None = None) -> MemoryFiles:
    fs = MemoryFiles()
    fs.mkdir(HOME)
    if content is not None:
        fs.write_bytes(f"{HOME}/leader-epoch-checkpoint", content)
    return fs


def _cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache(_fs(), HOME, [EpochStart(*entry) for entry in entries])


def changed(cache: LeaderEpochCache) -> bool:
    return cache.has_changed


def test_epochs_are_added_in_order() -> None:
    """A new epoch is noted with its first offset; the latest one, going on, is not."""
    cache = _cache()
    assert (cache.latest, cache.latest_entry, cache.earliest_entry) == (-1, None, None)
    cache.assign(0, 0)
    assert changed(cache)
    cache.flush()
    cache.assign(0, 0)
    cache.assign(0, 50)
    assert not changed(cache)
    cache.assign(2, 100)
    assert changed(cache)
    assert cache.entries == [(0, 0), (2, 100)]
    assert (cache.latest, cache.latest_entry, cache.earliest_entry) == (2, (2, 100), (0, 0))


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ((3, 30), [(0, 0), (1, 10), (2, 20), (3, 30)]),
        ((3, 20), [(0, 0), (1, 10), (3, 20)]),
        ((3, 5), [(0, 0), (3, 5)]),
        ((3, 0), [(3, 0)]),
        ((2, 15), [(0, 0), (1, 10), (2, 15)]),
        ((1, 40), [(0, 0), (1, 40)]),
        ((0, 0), [(0, 0)]),
    ],
)
def test_contradicting_entries_are_dropped(new: tuple[int, int], left: list[tuple[int, int]]) -> None:
    """Entries of the same or a later epoch, or from the same or a later offset, give way to the new one."""
    cache = _cache((0, 0), (1, 10), (2, 20))
    cache.assign(*new)
    assert changed(cache)
    assert cache.entries == left


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1), (1 << 31, 0), (0, 1 << 63)])
def test_impossible_epochs_are_refused(entry: tuple[int, int]) -> None:
    """Epochs and offsets are not negative and fit Kafka's types."""
    with pytest.raises(ValueError, match="out of range"):
        _cache().assign(*entry)


@pytest.mark.parametrize(
    ("epoch", "end"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),
        (1, (1, 10)),
        (2, (2, 20)),
        (3, (2, 20)),
        (4, (4, 30)),
        (5, (4, 30)),
        (6, (6, 99)),
        (7, (-1, -1)),
    ],
)
def test_end_of_an_epoch(epoch: int, end: tuple[int, int]) -> None:
    """It ends where the next known one starts, the latest one at the end of the log; beyond that nothing is known."""
    assert _cache((2, 10), (4, 20), (6, 30)).end_offset_for(epoch, log_end_offset=99) == end


def test_end_is_unknown_without_epochs() -> None:
    """A log of old messages has no epochs."""
    assert _cache().end_offset_for(0, 99) == (-1, -1)


def test_epoch_of_an_offset() -> None:
    """An offset belongs to the last epoch that starts at it or before it."""
    cache = _cache((2, 10), (4, 20))
    assert [cache.epoch_for_offset(offset) for offset in (0, 9, 10, 19, 20, 1000)] == [-1, -1, 2, 2, 4, 4]


@pytest.mark.parametrize(
    ("offset", "left"),
    [(-1, 3), (0, 0), (10, 0), (11, 1), (20, 1), (21, 2), (30, 2), (31, 3)],
)
def test_truncation_of_the_end(offset: int, left: int) -> None:
    """Epochs that start at the new end or after it go; a negative offset means nothing."""
    cache = _cache((2, 10), (4, 20), (6, 30))
    cache.truncate_from_end(offset)
    assert cache.entries == [(2, 10), (4, 20), (6, 30)][:left]


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (0, [(2, 10), (4, 20), (6, 30)]),
        (10, [(2, 10), (4, 20), (6, 30)]),
        (15, [(2, 15), (4, 20), (6, 30)]),
        (20, [(4, 20), (6, 30)]),
        (29, [(4, 29), (6, 30)]),
        (500, [(6, 500)]),
    ],
)
def test_truncation_of_the_start(offset: int, left: list[tuple[int, int]]) -> None:
    """The epoch that the new start lies in starts there; earlier ones go."""
    cache = _cache((2, 10), (4, 20), (6, 30))
    cache.truncate_from_start(offset)
    assert cache.entries == left


def test_file_has_kafkas_bytes() -> None:
    """Version, count, and an entry per line: epoch and start offset."""
    cache = LeaderEpochCache(fs := _fs(), HOME)
    cache.assign(0, 0)
    cache.assign(2, 3025)
    cache.flush()
    assert fs.read_bytes(f"{HOME}/leader-epoch-checkpoint") == b"0\n2\n0 0\n2 3025\n"
    assert read_leader_epochs(fs, HOME) == [(0, 0), (2, 3025)]


def test_file_is_written_only_after_a_change() -> None:
    """Nothing is written for an epoch that goes on, or for what came from the file."""
    fs = _fs(b"0\n1\n0 0\n")
    cache = LeaderEpochCache(fs, HOME, read_leader_epochs(fs, HOME))
    before = fs.operations
    cache.assign(0, 17)
    cache.truncate_from_end(17)
    cache.truncate_from_start(0)
    cache.flush()
    assert fs.operations == before
    for change in (partial(cache.assign, 1, 20), partial(cache.truncate_from_end, 20), cache.clear):
        change()
        before = fs.operations
        cache.flush()
        assert fs.operations > before
    assert fs.read_bytes(f"{HOME}/leader-epoch-checkpoint") == b"0\n0\n"


def test_announced_epoch_is_written_with_its_first_record() -> None:
    """Readers are told of it at once; the file waits, and what comes after a truncation is noted like any other."""
    fs = _fs(b"0\n1\n0 0\n")
    cache = LeaderEpochCache(fs, HOME, read_leader_epochs(fs, HOME))
    cache.announce(1, 20)
    assert (cache.latest, cache.end_offset_for(0, 20), cache.end_offset_for(1, 20)) == (1, (0, 20), (1, 20))
    cache.flush()
    assert read_leader_epochs(fs, HOME) == [(0, 0)]
    cache.announce(2, 20)
    cache.assign(2, 20)
    assert changed(cache)
    cache.assign(2, 21)
    cache.flush()
    assert read_leader_epochs(fs, HOME) == cache.entries == [(0, 0), (2, 20)]
    cache.announce(3, 30)
    cache.truncate_from_end(25)
    cache.flush()
    cache.assign(2, 25)
    assert not changed(cache)
    cache.assign(3, 25)
    assert cache.entries == [(0, 0), (2, 20), (3, 25)]


def test_failed_flush_is_repeated() -> None:
    """After a full disk the change is still to be written."""
    fs = _fs()
    cache = LeaderEpochCache(fs, HOME)
    cache.assign(0, 0)
    fs.capacity = 3
    with pytest.raises(OSError, match="No space left"):
        cache.flush()
    fs.capacity = 100
    cache.flush()
    assert read_leader_epochs(fs, HOME) == [(0, 0)]


def test_missing_and_empty_files_have_no_epochs() -> None:
    """A new partition has no file, or an empty one."""
    assert read_leader_epochs(_fs(), HOME) == []
    assert read_leader_epochs(_fs(b""), HOME) == []


@pytest.mark.parametrize("content", [b"0\n1\n0\n", b"0\n1\n0 0 0\n", b"0\n1\n-1 0\n", b"0\n1\n0 x\n", b"1\n0\n"])
def test_malformed_file_is_corrupt(content: bytes) -> None:
    """What is not two numbers per line is CorruptFile."""
    with pytest.raises(CorruptFile, match="leader-epoch-checkpoint"):
        read_leader_epochs(_fs(content), HOME)


def test_file_that_does_not_ascend_is_made_to() -> None:
    """Entries are taken in the order of the file, later ones winning, as Kafka does."""
    entries = read_leader_epochs(_fs(b"0\n3\n5 50\n1 10\n2 20\n"), HOME)
    assert LeaderEpochCache(_fs(), HOME, entries).entries == [(1, 10), (2, 20)]
