"""File names that a stop left in the middle of something."""

from odradek.storage.opening.leftovers import settle_names
from tests.support.logs import DIRECTORY, NOW_MS, a_batch, check_log, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles


def batch(offset: int, value: bytes) -> bytes:
    data = bytearray(a_batch([value], NOW_MS))
    data[:8] = offset.to_bytes(8, "big")
    return bytes(data)


def directory(files: dict[str, bytes]) -> MemoryFiles:
    fs = MemoryFiles()
    fs.mkdir(DIRECTORY)
    for name, content in files.items():
        fs.write_bytes(f"{DIRECTORY}/{name}", content)
    return fs


def settled(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files after the names are settled; doing it again must change nothing."""
    fs = directory(files)
    names = set(fs.listdir(DIRECTORY))
    settle_names(fs, DIRECTORY, names)
    assert names == set(fs.listdir(DIRECTORY))
    after = {name: fs.read_bytes(f"{DIRECTORY}/{name}") for name in names}
    operations = fs.operations
    settle_names(fs, DIRECTORY, names)
    assert fs.operations == operations
    return after


ZERO, FOUR, EIGHT = f"{0:020d}", f"{4:020d}", f"{8:020d}"


def test_deleted_cleaned_and_temporary_files_go() -> None:
    """What was to be removed is removed now; what was not finished is worthless."""
    after = settled(
        {
            f"{ZERO}.log.deleted": b"x",
            f"{ZERO}.index.deleted": b"x",
            f"{FOUR}.log.cleaned": b"x",
            f"{FOUR}.timeindex.cleaned": b"x",
            f"{FOUR}.snapshot.deleted": b"x",
            "leader-epoch-checkpoint.tmp": b"x",
            f"{FOUR}.log": b"kept",
        }
    )
    assert after == {f"{FOUR}.log": b"kept"}


def test_metadata_snapshots_are_left_to_their_owner() -> None:
    """Snapshots of the metadata log are not ours, in whatever state they are."""
    names = {f"{ZERO}-0000000001.checkpoint": b"", f"{FOUR}-0000000001.checkpoint.deleted": b"", "quorum-state": b"{}"}
    assert settled(names) == names


def test_indexes_without_their_data_file_go_and_snapshots_stay() -> None:
    """An orphaned index belongs to a segment whose removal had begun."""
    after = settled(
        {
            f"{ZERO}.index": b"",
            f"{ZERO}.timeindex": b"",
            f"{ZERO}.txnindex": b"",
            f"{ZERO}.snapshot": b"",
            f"{FOUR}.log": b"",
            f"{FOUR}.index": b"",
        }
    )
    assert sorted(after) == [f"{ZERO}.snapshot", f"{FOUR}.index", f"{FOUR}.log"]


def test_committed_compaction_is_carried_out() -> None:
    """A swap file takes the place of all segments that it covers; the segments after it stay."""
    swap = batch(0, b"clean") + batch(6, b"clean")
    after = settled(
        {
            f"{ZERO}.log": batch(0, b"old") + batch(1, b"old"),
            f"{ZERO}.index": b"12345678",
            f"{FOUR}.log": batch(4, b"old") + batch(6, b"old"),
            f"{FOUR}.snapshot": b"old",
            f"{EIGHT}.log": batch(8, b"next"),
            f"{ZERO}.log.swap": swap,
            f"{ZERO}.index.swap": b"",
            f"{ZERO}.timeindex.swap": b"new",
        }
    )
    assert after == {
        f"{ZERO}.log": swap,
        f"{ZERO}.index": b"",
        f"{ZERO}.timeindex": b"new",
        f"{EIGHT}.log": batch(8, b"next"),
    }


def test_compaction_that_was_carried_out_in_part_is_finished() -> None:
    """A crash between the renames of the swap files loses nothing."""
    after = settled(
        {
            f"{ZERO}.log.swap": batch(0, b"clean"),
            f"{ZERO}.index": b"",
            f"{ZERO}.timeindex.swap": b"",
            f"{FOUR}.log": batch(4, b"next"),
        }
    )
    assert after == {
        f"{ZERO}.log": batch(0, b"clean"),
        f"{ZERO}.timeindex": b"",
        f"{FOUR}.log": batch(4, b"next"),
    }


def test_split_that_was_not_committed_is_undone() -> None:
    """Swaps at or after the first cleaned file are of a split whose other half was never finished."""
    after = settled(
        {
            f"{ZERO}.log": batch(0, b"old") + batch(4, b"old"),
            f"{ZERO}.log.cleaned": batch(0, b"half"),
            f"{FOUR}.log.swap": batch(4, b"half"),
        }
    )
    assert after == {f"{ZERO}.log": batch(0, b"old") + batch(4, b"old")}


def test_log_is_whole_after_a_compaction_was_finished_at_load() -> None:
    """The load goes on with the swapped segments as with any other."""
    fs = directory(
        {
            f"{ZERO}.log": batch(0, b"old") + batch(1, b"old"),
            f"{ZERO}.log.swap": batch(1, b"clean"),
            f"{FOUR}.log": batch(4, b"next"),
        }
    )
    log = open_at(fs, small_config(cleanup_policy=frozenset({"compact"})))
    check_log(log)
    assert read_all(log) == [(1, b"clean"), (4, b"next")]
