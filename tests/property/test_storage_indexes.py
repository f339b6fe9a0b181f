"""Index files against a plain list: whatever is done to them, and whatever bytes they are made of."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.storage.errors import CorruptFile, InvalidOffset
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from odradek.storage.segment.transaction_index import AbortedTxn, TransactionIndex
from tests.support.memory_files import MemoryFiles

BASE = 1000
PATH = "/1000.index"

file_contents = st.binary(max_size=300) | st.builds(
    lambda used, zeros: used + bytes(zeros), st.binary(max_size=100), st.integers(0, 200)
)


class OffsetIndexMachine(RuleBasedStateMachine):
    """An offset index on a disk that fills up, beside the list of entries that it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.fs = MemoryFiles()
        self.index = OffsetIndex(self.fs, PATH, BASE, 1 << 20, active=True)
        self.index.reset()
        self.model: list[tuple[int, int]] = []

    @rule(step=st.integers(1, 300), bytes_between=st.integers(1, 5000))
    def append(self, step: int, bytes_between: int) -> None:
        offset, position = self.model[-1] if self.model else (BASE, 0)
        self.index.append(offset + step, position + bytes_between)
        self.model.append((offset + step, position + bytes_between))

    @precondition(lambda self: self.model)
    @rule(back=st.integers(0, 5))
    def append_wrong(self, back: int) -> None:
        try:
            self.index.append(self.model[-1][0] - back, 1 << 20)
        except InvalidOffset:
            return
        raise AssertionError("an offset that does not ascend was taken")

    @rule(offset=st.integers(BASE - 10, BASE + 3000))
    def truncate(self, offset: int) -> None:
        self.index.truncate_to(offset)
        self.model = [entry for entry in self.model if entry[0] < offset]

    @rule()
    def write(self) -> None:
        self.index.write_pending()

    @rule(room=st.integers(0, 30))
    def write_on_full_disk(self, room: int) -> None:
        self.fs.capacity = self.fs.used + room
        try:
            self.index.write_pending()
        except OSError:
            pass
        finally:
            self.fs.capacity = 1 << 40

    @rule(active=st.booleans())
    def restart(self, active: bool) -> None:
        self.index.close()
        self.index = OffsetIndex(self.fs, PATH, BASE, 1 << 20, active)

    @rule()
    def kill_after_a_sync(self) -> None:
        self.index.sync()
        self.fs.sync_dir("/")
        self.fs = self.fs.crash()
        self.index = OffsetIndex(self.fs, PATH, BASE, 1 << 20)

    @rule(zeros=st.integers(0, 100))
    def preallocate_as_kafka_does(self, zeros: int) -> None:
        self.index.close()
        file = self.fs.open(PATH)
        file.truncate(file.size() + 8 * zeros)
        self.index = OffsetIndex(self.fs, PATH, BASE, 1 << 20)

    @rule()
    def seal(self) -> None:
        self.index.seal()

    @rule(offset=st.integers(BASE - 10, BASE + 10000))
    def look_up(self, offset: int) -> None:
        slot = bisect_right([known for known, _ in self.model], offset) - 1
        assert self.index.lookup(offset) == (self.model[slot] if slot >= 0 else (BASE, 0))

    @rule(position=st.integers(0, 100_000))
    def look_up_position(self, position: int) -> None:
        expected = next((offset for offset, at in self.model if at >= position), None)
        assert self.index.offset_at_or_after(position) == expected

    @invariant()
    def agrees(self) -> None:
        assert self.index.count == len(self.model)
        assert self.index.last_entry == (self.model[-1] if self.model else (BASE, 0))


TestOffsetIndex = OffsetIndexMachine.TestCase


@given(st.lists(st.tuples(st.integers(-1, 60), st.integers(0, 60)), max_size=60), st.booleans(), st.data())
def test_time_index_answers_like_a_list(steps: list[tuple[int, int]], sealed: bool, data: st.DataObject) -> None:
    """Appends that go back are refused and leave no trace; lookups and truncations agree with a plain list."""
    index = TimeIndex(MemoryFiles(), PATH, BASE, 1 << 20, active=True)
    index.reset()
    model: list[tuple[int, int]] = []
    for timestamp, relative in steps:
        last_timestamp, last_offset = model[-1] if model else (-1, BASE)
        try:
            index.append(timestamp, BASE + relative)
        except InvalidOffset:
            assert BASE + relative < last_offset or timestamp < last_timestamp
        else:
            if timestamp > last_timestamp:
                model.append((timestamp, BASE + relative))
    if sealed:
        index.seal()
    for target in range(-2, 62):
        slot = bisect_right([timestamp for timestamp, _ in model], target) - 1
        assert index.lookup(target) == (model[slot] if slot >= 0 else (-1, BASE))
    cut = data.draw(st.integers(BASE, BASE + 61))
    index.truncate_to(cut)
    left = [entry for entry in model if entry[1] < cut]
    assert (index.count, index.last_entry) == (len(left), left[-1] if left else (-1, BASE))


transactions = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10), st.integers(0, 30)), max_size=15)


@given(transactions, st.integers(0, 200), st.integers(0, 60))
def test_aborted_transactions_of_an_interval_are_all_found(
    steps: list[tuple[int, int, int]], first: int, length: int
) -> None:
    """What overlaps the interval is found, up to the entry after which all before the interval's end is decided."""
    entries: list[AbortedTxn] = []
    marker = 0
    for back, step, stable_back in steps:
        marker += step
        entries.append(AbortedTxn(1, max(0, marker - back), marker, max(0, marker + 1 - stable_back)))
    index = TransactionIndex(MemoryFiles(), PATH, 0, active=True)
    for entry in entries:
        index.append(entry)
    index.seal()
    found, complete = index.collect(first, first + length)
    expected = []
    for entry in entries:
        if entry.last_offset >= first and entry.first_offset < first + length:
            expected.append(entry)
        if entry.last_offset >= first and entry.last_stable_offset >= first + length:
            break
    assert found == expected
    assert complete == any(
        entry.last_stable_offset >= first + length for entry in entries if entry.last_offset >= first
    )


@given(file_contents, st.booleans(), st.booleans())
def test_no_content_breaks_an_offset_index(content: bytes, active: bool, thorough: bool) -> None:
    """Any bytes can be searched; the check refuses them with CorruptFile, or they ascend."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    index = OffsetIndex(fs, PATH, BASE, 1 << 20, active)
    for target in (0, BASE, BASE + 5, 1 << 40):
        offset, position = index.lookup(target)
        assert isinstance(offset, int)
        assert isinstance(position, int)
    index.offset_at_or_after(100)
    if _passes(lambda: OffsetIndex(fs, PATH, BASE, 1 << 20).sanity_check(1 << 30, thorough)) and thorough:
        found = [index.lookup(BASE + relative) for relative in range(0, 3000, 7)]
        assert all(before <= after for before, after in pairwise(found))
    index.truncate_to(BASE + 5)
    index.close()


@given(file_contents, st.booleans())
def test_no_content_breaks_the_other_indexes(content: bytes, active: bool) -> None:
    """Any bytes can be searched for times; those of transactions raise nothing but CorruptFile."""
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    times = TimeIndex(fs, PATH, BASE, 1 << 20, active)
    for target in (-1, 0, 1 << 40):
        times.lookup(target)
    _passes(lambda: times.sanity_check(thorough=True))
    aborted = TransactionIndex(fs, PATH, BASE, active)
    _passes(aborted.sanity_check)
    _passes(lambda: aborted.collect(0, 1 << 40))
    _passes(lambda: list(aborted))


def _passes(check: Callable[[], object]) -> bool:
    try:
        check()
    except CorruptFile:
        return False
    return True
