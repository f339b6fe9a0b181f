"""Messages of versions 0 and 1: what is built is read, here and by kafka-python, and damage is only ever refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.batch import Codec
from odradek.protocol.records.errors import CorruptRecord, DecompressionError, InvalidRecord, TooMuchData
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from tests.property.records_strategies import damage, examples, record_lists
from tests.unit.protocol.records.legacy_handmade import gzip_wrapper

codecs = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
magics = st.sampled_from([0, 1])
DOCUMENTED = (CorruptRecord, InvalidRecord, DecompressionError, TooMuchData)


def entries(data: bytes) -> list[bytes]:
    """Return the entries of a set."""
    found, position = [], 0
    while position < len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        found.append(data[position : position + size])
        position += size
    return found


def plain(records: list[Record], magic: int) -> list[Record]:
    """Return what is left of the records in a message of that version."""
    return [r._replace(headers=(), timestamp=r.timestamp if magic else -1) for r in records]


def kafka_python(name: str) -> Callable[..., Any]:
    """Return a class of kafka-python, which is not typed."""
    from kafka.record import legacy_records, memory_records

    return getattr(memory_records, name, None) or getattr(legacy_records, name)  # type: ignore[no-any-return]


@given(made=record_lists(), magic=magics, codec=codecs, first=st.integers(0, 1 << 40))
@examples(60)
def test_what_is_built_is_read(made: list[Record], magic: int, codec: Codec, first: int) -> None:
    """Building and reading a set gives the records again, headers excepted."""
    records = [record._replace(offset=first + record.offset) for record in made]
    read = [r for entry in entries(build_message_set(records, magic, codec)) for r in iter_entry_records(entry)]
    assert read == plain(records, magic)


@given(made=record_lists(), magic=magics, codec=codecs, first=st.integers(1, 1 << 40))
@examples(40)
def test_kafka_python_reads_what_is_built(made: list[Record], magic: int, codec: Codec, first: int) -> None:
    """An independent reader finds right checksums, and the same records."""
    records = [record._replace(offset=first + record.offset) for record in made]
    read = []
    for batch in kafka_python("MemoryRecords")(build_message_set(records, magic, codec)):
        assert batch.validate_crc()
        read += [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in batch]
    assert read == plain(records, magic)


@given(made=record_lists(), magic=magics, codec=codecs)
@examples(40)
def test_what_kafka_python_builds_is_read(made: list[Record], magic: int, codec: Codec) -> None:
    """The records of an independent writer are read as they were given; plain messages are the same bytes."""
    builder = kafka_python("LegacyRecordBatchBuilder")(magic, int(codec), 1 << 30)
    for record in made:
        builder.append(record.offset, record.timestamp, record.key, record.value)
    built = bytes(builder.build())
    assert [r for entry in entries(built) for r in iter_entry_records(entry)] == plain(made, magic)
    if codec is Codec.NONE:
        assert built == build_message_set(made, magic)


@given(made=record_lists(max_size=5), magic=magics, codec=codecs, data=st.data())
@examples(200)
def test_damage_is_refused_or_read(made: list[Record], magic: int, codec: Codec, data: st.DataObject) -> None:
    """Whatever happened to an entry, reading it ends with records or with a documented error, within the limit."""
    damaged = data.draw(damage(build_message_set(made, magic, codec)))
    try:
        records = list(iter_entry_records(damaged, limit=1 << 16))
    except DOCUMENTED:
        return
    assert sum(len(r.key or b"") + len(r.value or b"") for r in records) <= max(1 << 16, len(damaged))


@given(made=record_lists(max_size=5), magic=magics, offset=st.integers(0, 10), data=st.data())
@examples(200)
def test_damage_inside_a_wrapper_is_refused_or_read(
    made: list[Record], magic: int, offset: int, data: st.DataObject
) -> None:
    """The same for what is compressed, where no checksum stands in the way."""
    wrapper = gzip_wrapper(data.draw(damage(build_message_set(made, magic))), magic, offset)
    try:
        list(iter_entry_records(wrapper, limit=1 << 20))
    except DOCUMENTED:
        return


@pytest.mark.parametrize("magic", [0, 1, 2])
@given(tail=st.binary(max_size=80))
@examples(100)
def test_noise_is_refused_or_read(magic: int, tail: bytes) -> None:
    """Any bytes behind a plausible start end in a documented error or in records."""
    data = bytes(8) + len(tail).to_bytes(4, "big") + bytes(4) + bytes([magic]) + tail
    try:
        list(iter_entry_records(data, limit=1 << 16))
    except DOCUMENTED:
        return
