"""Walking over the entries of a file, whole or damaged."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.legacy_building import build_message
from odradek.protocol.records.record import Record
from odradek.storage.files import OpenFile
from odradek.storage.segment.entry_walk import READ_BYTES, Ending, EntryWalk
from tests.support.memory_files import MemoryFiles


def a_file(content: bytes) -> OpenFile:
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/f", content)
    return fs.open("/d/f")


def a_walk(content: bytes, checked: bool = True) -> EntryWalk:
    return EntryWalk(a_file(content), len(content), checked=checked)


def batches(count: int, size: int = 10) -> bytes:
    made = (build_batch([Record(number, 5, None, b"x" * size)], BatchFields()) for number in range(count))
    return b"".join(map(bytes, made))


def messages(magic: int) -> bytes:
    return b"".join(build_message(Record(number, 7, b"k", b"v" * number), magic) for number in range(5))


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("content", [batches(50), messages(0), messages(1), messages(0) + messages(1) + batches(3)])
def test_entries_of_all_versions_are_walked_over(content: bytes, checked: bool) -> None:
    """Every entry comes with its place, its offset and whether its checksum is right; nothing is left at the end."""
    walk = a_walk(content, checked)
    found = list(walk)
    assert all(valid for _, _, valid in found)
    ends = [position + fields[1] + 12 for position, fields, _ in found]
    assert [position for position, _, _ in found] == [0, *ends[:-1]]
    assert (walk.ending, walk.position) == (Ending.END, len(content))


def test_what_old_messages_lack_is_shown_as_in_a_batch() -> None:
    """A message has the offset of its one record, a timestamp from version 1 on, and no producer."""
    [*_, (_, old, _)] = a_walk(messages(0))
    [*_, (_, newer, _)] = a_walk(messages(1))
    assert (old[0], old[6], old[8], old[9], old[12]) == (4, 0, -1, -1, -1)
    assert (newer[0], newer[8]) == (4, 7)


@pytest.mark.parametrize("size", [READ_BYTES - 200, READ_BYTES, 3 * READ_BYTES + 17])
def test_batches_around_and_above_the_size_of_the_buffer(size: int) -> None:
    """A batch that does not fit into what is read at a time has its checksum computed all the same."""
    content = bytearray(batches(2) + batches(1, size) + batches(2))
    assert [valid for _, _, valid in a_walk(bytes(content))] == [True] * 5
    content[-400] ^= 1
    assert [valid for _, _, valid in a_walk(bytes(content))] == [True, True, False, True, True]
    assert [valid for _, _, valid in a_walk(bytes(content), checked=False)] == [True] * 5


def test_a_large_old_message_is_checked_too() -> None:
    """The same for messages of version 1, which have another checksum."""
    content = bytearray(build_message(Record(0, 7, b"k", b"v" * (READ_BYTES + 5)), 1))
    assert [valid for _, _, valid in a_walk(bytes(content))] == [True]
    content[-1] ^= 1
    assert [valid for _, _, valid in a_walk(bytes(content))] == [False]


def test_a_walk_goes_on_behind_a_wrong_checksum() -> None:
    """Damage inside a batch does not hide the batches behind it."""
    content = bytearray(batches(5))
    content[len(content) // 2] ^= 1
    assert [valid for _, _, valid in a_walk(bytes(content))].count(False) == 1
    assert len(list(a_walk(bytes(content)))) == 5


@pytest.mark.parametrize(
    ("tail", "ending"),
    [
        (batches(1)[:-1], Ending.CUT),
        (batches(1)[:30], Ending.CUT),
        (b"\x01\x02\x03", Ending.CUT),
        (bytes(500), Ending.ZEROS),
        (b"\xee" * 500, Ending.GARBAGE),
        ((7).to_bytes(8, "big") + (5).to_bytes(4, "big") + bytes(60), Ending.GARBAGE),
        (batches(1)[:16] + b"\x09" + batches(1)[17:], Ending.GARBAGE),
        (batches(1)[:8] + (20).to_bytes(4, "big") + batches(1)[12:], Ending.GARBAGE),
    ],
)
def test_the_end_of_a_walk_is_told(tail: bytes, ending: Ending) -> None:
    """What stands behind the last whole entry is told with its place: cut, zeros, or no entry at all."""
    whole = batches(3)
    walk = a_walk(whole + tail)
    assert len(list(walk)) == 3
    assert (walk.ending, walk.position) == (ending, len(whole))
    assert walk.reason


def test_a_size_of_two_gigabytes_takes_no_memory() -> None:
    """What a damaged size field says is held against the file before anything is allocated."""
    content = batches(2) + bytes(8) + (0x7FFF_FFF0).to_bytes(4, "big") + b"\0\0\0\0\2" + bytes(1000)
    file = a_file(content)
    tracemalloc.start()
    walk = EntryWalk(file, len(content))
    assert len(list(walk)) == 2
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert walk.ending is Ending.CUT
    assert peak < 4 * READ_BYTES


def test_a_file_that_is_cut_meanwhile_ends_the_walk() -> None:
    """A broker may cut the file that is being read; that is told, and no loop without end."""
    content = batches(5)
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/f", content)
    for size in (0, 10, 100, len(content) - 3):
        file = fs.open("/d/f")
        walk = EntryWalk(file, len(content))
        fs.write_bytes("/d/f", content[:size])
        list(walk)
        assert walk.ending is not Ending.END
        fs.write_bytes("/d/f", content)


@given(st.data())
def test_whatever_the_bytes_a_walk_ends(data: st.DataObject) -> None:
    """Changed, cut and foreign bytes never raise, and positions only ascend within the file."""
    content = bytearray(batches(4) + messages(1))
    for _ in range(data.draw(st.integers(0, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    walk = a_walk(cut + data.draw(st.binary(max_size=40)))
    positions = [position for position, _, _ in walk]
    assert positions == sorted(set(positions))
    assert all(0 <= position < walk.end for position in positions)
    assert (walk.ending is Ending.END) == (walk.position == walk.end)
