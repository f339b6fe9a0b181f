"""A batch taken apart to the byte."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.logs.batch_bytes import MOST_HEADERS, attributes_text, header_fields, iter_record_bytes
from odradek.protocol.records.batch import HEADER_SIZE, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.errors import CorruptRecord, InvalidRecord
from odradek.protocol.records.legacy_building import build_message
from odradek.protocol.records.record import Record, iter_body

_content = st.none() | st.binary(max_size=300)
_records = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.integers(0, 2**41),
        _content,
        _content,
        st.lists(st.tuples(st.binary(max_size=9), _content), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


@given(records=_records)
def test_the_fields_of_a_batch_are_all_of_its_bytes_in_order(records: list[Record]) -> None:
    """Every byte of header and records belongs to one field, and the fields say what the reader of records says."""
    numbered = [each._replace(offset=number) for number, each in enumerate(records)]
    batch = bytes(build_batch(numbered))
    fields = header_fields(batch)
    assert [each.start for each in fields] == [0, *(each.end for each in fields[:-1])]
    assert fields[-1].end == HEADER_SIZE
    assert tuple(each.value for each in fields) == tuple(read_header(batch))
    body = batch[HEADER_SIZE:]
    position = 0
    for told, record in zip(iter_record_bytes(body, len(records)), iter_body(body, read_header(batch)), strict=True):
        for field in told.fields:
            assert field.start == position
            position = field.end
            if isinstance(field.value, bytes):
                assert field.value == body[field.start : field.end]
        by_name = {field.name: field.value for field in told.fields}
        assert (by_name["key"], by_name["value"]) == (record.key, record.value)
        names = [by_name[f"header {each} key"] for each in range(len(record.headers))]
        assert names == [name for name, _ in record.headers]
    assert position == len(body)


@given(body=st.binary(max_size=60), count=st.integers(0, 4))
def test_any_bytes_are_taken_apart_or_refused(body: bytes, count: int) -> None:
    """What is no record is refused as such, with no other error."""
    try:
        for told in iter_record_bytes(body, count):
            assert 0 <= told.start < told.start + told.size <= len(body)
    except InvalidRecord:
        pass


@given(data=st.binary(max_size=80))
def test_any_bytes_have_header_fields_or_are_refused(data: bytes) -> None:
    """A header that is cut off, or whose fields do not fit, is refused as corrupt."""
    with suppress(CorruptRecord):
        assert header_fields(data)[0].start == 0


def test_a_record_of_many_headers_is_taken_apart_in_part() -> None:
    """Beyond a hundred headers the rest is one piece, so that a page stays one that can be read."""
    headers = tuple((b"name", b"value") for _ in range(MOST_HEADERS + 5))
    body = bytes(build_batch([Record(0, 0, b"k", b"v", headers)])[HEADER_SIZE:])
    [told] = iter_record_bytes(body, 1)
    assert told.fields[-1].name == "5 more headers"
    assert told.fields[-1].end == len(body)


def test_an_old_message() -> None:
    """Messages of version 0 and 1 have other fields, which are told up to the last byte."""
    for magic in (0, 1):
        message = build_message(Record(7, 1_700_000_000_000 if magic else -1, b"key", b"value"), magic)
        fields = {each.name: each for each in header_fields(bytes(message))}
        assert fields["offset"].value == 7
        assert fields["key"].value == b"key"
        assert fields["value"].value == b"value"
        assert fields["value"].end == len(message)
        assert ("timestamp" in fields) == (magic == 1)


def test_attributes_in_words() -> None:
    """Every bit that means something is named."""
    assert attributes_text(0) == "compression none, CreateTime"
    told = attributes_text(4 | 8 | 16 | 32 | 64)
    assert told == "compression zstd, LogAppendTime, transactional, control batch, baseTimestamp is the delete horizon"
    fields = BatchFields(transactional=True, producer_id=4, producer_epoch=0)
    batch = bytes(build_batch([Record(0, 0, b"k", b"v")], fields))
    assert "transactional" in next(each.meaning for each in header_fields(batch) if each.name == "attributes")


def test_a_header_that_is_cut_off() -> None:
    """It is refused, with how many bytes there are."""
    with pytest.raises(CorruptRecord, match="60 bytes"):
        header_fields(bytes(build_batch([Record(0, 0, b"k", b"v")])[:60]))
