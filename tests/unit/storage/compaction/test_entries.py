"""Reading closed segments, checked, and the records in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.compaction.entries import MAX_ENTRY_BYTES, RECORDS_AT_A_TIME, body_of, find_records, read_entries
from odradek.storage.errors import CorruptFile
from tests.support.compaction import unpaced
from tests.support.logs import old_message
from tests.support.memory_files import MemoryFiles

PATH = "/entries.log"


def entries(data: bytes, piece_bytes: int = 1 << 20) -> list[bytes]:
    """Read the entries of a file with this content."""
    files = MemoryFiles()
    files.write_bytes(PATH, data)
    file = files.open(PATH)
    return [one.data[one.start : one.end] for one in read_entries(file, len(data), piece_bytes, unpaced)]


def batches() -> list[bytes]:
    """Entries of all versions; a short old one is the last."""
    new = [bytes(build_batch(make_records([(b"k", b"v" * size)], 1, size))) for size in (1, 1000, 5)]
    return [*new, old_message(1, 2000, b"value"), old_message(0, 2001, b"")]


@pytest.mark.parametrize("piece_bytes", [1, 17, 64, 100, 2000, 1 << 20])
def test_entries_come_whole_whatever_the_pieces_are(piece_bytes: int) -> None:
    """Smaller than a header, smaller than a batch, or larger than the file."""
    assert entries(b"".join(batches()), piece_bytes) == batches()


def test_damage_is_found_and_located() -> None:
    """A flipped byte in any entry, a size field that cannot be right, an end in the middle: file and byte are named."""
    good = batches()
    position = 0
    for number, batch in enumerate(good):
        for at in (len(batch) - 1, 18):
            bad = bytearray(b"".join(good))
            bad[position + at] ^= 1
            with pytest.raises(CorruptFile, match=f"byte {position} ") as raised:
                entries(bytes(bad))
            assert raised.value.path == PATH
        cut = b"".join(good[: number + 1])[:-1]
        with pytest.raises(CorruptFile, match=f"byte {position}"):
            entries(cut)
        position += len(batch)
    with pytest.raises(CorruptFile, match="size field 3, magic 2"):
        entries(good[0] + b"\0" * 8 + b"\0\0\0\3" + b"\0" * 4 + b"\2" + bytes(100))


RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**40), 2**40),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=300) | st.just(b"x" * 20_000),
        st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@given(RECORDS, st.sampled_from(Codec), st.integers(1, 100_000))
def test_places_of_records_are_those_of_the_careful_reader(
    given_records: list[tuple[int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]],
    codec: Codec,
    step: int,
) -> None:
    """Key, offset, time and whether there is a value; each place is the record as it was encoded."""
    records = [
        Record(number * step, 10**12 + time, key, value, headers)
        for number, (time, key, value, headers) in enumerate(given_records)
    ]
    batch = bytes(build_batch(records, BatchFields(codec=codec)))
    files = MemoryFiles()
    files.write_bytes(PATH, batch)
    [entry] = read_entries(files.open(PATH), len(batch), 1 << 20, unpaced)
    data, start, end = body_of(entry, 1 << 20)
    [places] = find_records(data, start, end, len(records), unpaced)
    header = entry.header
    expected = list(iter_records(batch))
    assert [
        (header.base_offset + place[3], header.base_timestamp + place[2], place[4], place[5]) for place in places
    ] == [(record.offset, record.timestamp, record.key, record.value is not None) for record in expected]
    assert places[0][0] == start
    assert [place[1] for place in places] == [*(place[0] for place in places[1:]), end]


@given(st.binary(max_size=60), st.integers(0, 5))
def test_bytes_that_are_no_records_are_refused(data: bytes, count: int) -> None:
    """Whatever they are, there is one error, or records that fill them exactly."""
    try:
        [places] = find_records(data, 0, len(data), count, unpaced)
    except InvalidRecord:
        return
    assert len(places) == count
    assert (places[-1][1] if places else 0) == len(data)


def test_never_more_than_some_of_the_places_are_known_at_a_time() -> None:
    """A batch of kilobytes can hold millions of records, and a place takes 150 bytes; a round can be ended between."""
    record = b"\x0e\0\0\0\2k\1\0"
    paces: list[int] = []
    portions = find_records(record * 200_000, 0, len(record) * 200_000, 200_000, paces.append)
    sizes = [len(places) for places in portions]
    assert sum(sizes) == 200_000
    assert max(sizes) == RECORDS_AT_A_TIME
    assert paces == [0] * (len(sizes) - 1)


def test_a_batch_larger_than_any_broker_takes_is_not_read() -> None:
    """A file of a single gigabyte batch is refused by its size field, before memory is taken for it."""
    size = MAX_ENTRY_BYTES + 1
    head = bytearray(build_batch(make_records([(b"k", b"v")], 1, 1)))
    head[8:12] = (size - 12).to_bytes(4, "big")
    reads: list[int] = []

    class Sparse:
        path = PATH

        def pread(self, wanted: int, _position: int) -> bytes:
            reads.append(wanted)
            return bytes(head[:wanted])

    with pytest.raises(CorruptFile, match=f"has {size} bytes; at most {MAX_ENTRY_BYTES} are compacted"):
        list(read_entries(Sparse(), size, 64, unpaced))  # type: ignore[arg-type]  # what is used of a file
    assert max(reads) < 100
