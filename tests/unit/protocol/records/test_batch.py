"""The header of a batch, byte by byte, and walking over what lies in a log."""

from dataclasses import replace
from itertools import pairwise

import pytest

from odradek.protocol.records import batch as layout
from odradek.protocol.records.batch import BatchHeader, check_crc, compute_crc, entry_size, iter_batches, read_header
from odradek.protocol.records.errors import CorruptRecord
from tests.unit.protocol.records import golden
from tests.unit.protocol.records.handmade import HandmadeBatch, legacy_entry, records

PLAIN = HandmadeBatch(records(3), count=3, base_offset=40, leader_epoch=7, base_timestamp=1000, max_timestamp=1005)


def test_the_header_is_read_field_by_field() -> None:
    """Every field has the value that its writer gave it."""
    made = replace(PLAIN, producer_id=9, producer_epoch=2, base_sequence=11, attributes=0x1B)
    encoded = made.encode()
    header = read_header(encoded)
    assert header == BatchHeader(40, len(encoded) - 12, 7, 2, header.crc, 0x1B, 2, 1000, 1005, 9, 2, 11, 3)
    assert header == read_header(memoryview(b"x" * 5 + encoded), 5)
    assert header.size == len(encoded)
    assert (header.last_offset, header.next_offset, header.last_sequence) == (42, 43, 13)
    assert header.has_producer_id


def test_the_places_of_fields_that_are_patched() -> None:
    """The named positions are where the header has those fields, one after the other, to its end."""
    places = [
        layout.BASE_OFFSET_AT,
        layout.LENGTH_AT,
        layout.LEADER_EPOCH_AT,
        layout.MAGIC_AT,
        layout.CRC_AT,
        layout.ATTRIBUTES_AT,
        layout.LAST_OFFSET_DELTA_AT,
        layout.BASE_TIMESTAMP_AT,
        layout.MAX_TIMESTAMP_AT,
        layout.PRODUCER_ID_AT,
        layout.PRODUCER_EPOCH_AT,
        layout.BASE_SEQUENCE_AT,
        layout.RECORDS_COUNT_AT,
        layout.HEADER_SIZE,
    ]
    sizes = [after - before for before, after in pairwise(places)]
    assert sizes == [8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4]
    assert layout.HEADER_SIZE == 61


@pytest.mark.parametrize(
    ("attributes", "name"),
    [(0x08, "is_log_append_time"), (0x10, "is_transactional"), (0x20, "is_control"), (0x04, "is_compressed")],
)
def test_attribute_bits(attributes: int, name: str) -> None:
    """Each bit of the attributes is one property, and no other sets it."""
    assert getattr(read_header(replace(PLAIN, attributes=attributes).encode()), name)
    assert not getattr(read_header(replace(PLAIN, attributes=0x7F & ~attributes & ~7).encode()), name)


def test_the_delete_horizon_is_the_base_timestamp_where_its_bit_is_set() -> None:
    """Bit 6 turns the base timestamp into the time from which tombstones may go."""
    assert read_header(replace(PLAIN, attributes=0x40).encode()).delete_horizon_ms == 1000
    assert read_header(PLAIN.encode()).delete_horizon_ms is None


def test_a_header_without_producer_has_no_sequence() -> None:
    """-1 says that there is neither a producer id nor a sequence."""
    header = read_header(PLAIN.encode())
    assert not header.has_producer_id
    assert header.last_sequence == -1


def test_sequences_start_again_at_zero() -> None:
    """After 2147483647 comes 0."""
    made = replace(PLAIN, producer_id=1, producer_epoch=0, base_sequence=2**31 - 1)
    assert read_header(made.encode()).last_sequence == 1
    assert read_header(replace(made, base_sequence=2**31 - 3).encode()).last_sequence == 2**31 - 1


def test_too_few_bytes_for_a_header_are_corrupt() -> None:
    """Sixty bytes are no header."""
    with pytest.raises(CorruptRecord):
        read_header(PLAIN.encode()[:60])
    assert read_header(PLAIN.encode()[:61]).records_count == 3


def test_the_checksum_covers_the_attributes_and_what_follows() -> None:
    """A flipped bit is noticed from byte 21 on, and only there; offset and leader epoch may change."""
    encoded = PLAIN.encode()
    header = read_header(encoded)
    assert compute_crc(memoryview(encoded)) == header.crc
    for place in range(len(encoded)):
        encoded[place] ^= 0x10
        if place >= 21:
            with pytest.raises(CorruptRecord):
                check_crc(memoryview(encoded), header)
        else:
            check_crc(memoryview(encoded), header)
        encoded[place] ^= 0x10


def test_batches_are_walked_to_the_last_complete_one() -> None:
    """Batches follow each other; a piece of one at the end is left out."""
    first, second = PLAIN.encode(), replace(PLAIN, base_offset=43).encode()
    log = first + second + first[:70]
    assert [(at, header.base_offset) for at, header in iter_batches(log)] == [(0, 40), (len(first), 43)]
    assert [at for at, _ in iter_batches(memoryview(log), len(first))] == [len(first)]
    assert list(iter_batches(b"")) == []


def test_old_entries_are_walked_over() -> None:
    """Entries of versions 0 and 1 have an extent, an offset, and one record with at most a timestamp."""
    old, newer = legacy_entry(5, 0, b"x"), legacy_entry(6, 1, b"yz", timestamp=77, attributes=2)
    batches = list(iter_batches(old + newer + PLAIN.encode()))
    assert [at for at, _ in batches] == [0, len(old), len(old) + len(newer)]
    headers = [header for _, header in batches]
    assert [h.magic for h in headers] == [0, 1, 2]
    assert [h.last_offset for h in headers] == [5, 6, 42]
    assert [h.max_timestamp for h in headers] == [-1, 77, 1005]
    assert [h.records_count for h in headers] == [-1, -1, 3]
    assert [h.size for h in headers] == [len(old), len(newer), len(PLAIN.encode())]
    assert headers[1].codec == 2
    assert not headers[1].has_producer_id


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"", 0),
        (bytes(11), 0),
        (bytes(8) + b"\0\0\0\x40" + bytes(4), 0),
        (PLAIN.encode()[:-1], 0),
        (PLAIN.encode(), len(PLAIN.encode())),
        (PLAIN.encode() + b"more", len(PLAIN.encode())),
    ],
)
def test_the_size_of_an_entry(data: bytes, size: int) -> None:
    """An entry has a size once all of it is there; before that there is none, and no error."""
    assert entry_size(data) == size


@pytest.mark.parametrize(
    "data",
    [
        bytes(12),
        replace(PLAIN, length=13).encode(),
        replace(PLAIN, length=-1).encode(),
        replace(PLAIN, magic=3).encode(),
        replace(PLAIN, magic=-1).encode(),
    ],
)
def test_what_cannot_be_an_entry_is_corrupt(data: bytes) -> None:
    """A size below the smallest message and a version from the future are damage, as are zeros."""
    with pytest.raises(CorruptRecord):
        entry_size(data)
    with pytest.raises(CorruptRecord):
        list(iter_batches(data))


def test_a_batch_smaller_than_its_header_is_corrupt() -> None:
    """A size that an old message may have is too small for a batch of version 2."""
    with pytest.raises(CorruptRecord):
        list(iter_batches(replace(PLAIN, length=48).encode()))


@pytest.mark.parametrize("name", [name for name in vars(golden) if name.isupper()])
def test_batches_of_others_have_headers_and_checksums_as_expected(name: str) -> None:
    """What Apache Kafka and librdkafka wrote is walked over exactly, and every checksum fits."""
    data = memoryview(getattr(golden, name))
    end = 0
    for position, header in iter_batches(data):
        assert position == end
        check_crc(data[position : position + header.size], header)
        end += header.size
    assert end == len(data)
