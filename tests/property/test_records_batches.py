"""Batches go both ways, and mean the same to other implementations of the format."""

import datetime
import io
from typing import Any

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_records
import kio.records.readers
import kio.records.schema
import kio.records.writers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from odradek.protocol.records.batch import Codec, check_crc, iter_batches, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.record import Record, iter_records
from odradek.protocol.records.varint import encode_varint, read_varint, read_varlong, varint_size
from tests.property.records_strategies import any_timestamps, examples, record_lists

PYTHON_CLIENTS = [
    pytest.param(kafka_records.DefaultRecordBatch, kafka_records.DefaultRecordBatchBuilder, id="kafka-python"),
    pytest.param(aiokafka_records.DefaultRecordBatch, aiokafka_records.DefaultRecordBatchBuilder, id="aiokafka"),
]
codecs = st.sampled_from(list(Codec))
int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)


@given(value=int64)
@examples(200)
def test_integers_go_both_ways(value: int) -> None:
    """Any 64-bit integer is read as it was written, and so is a 32-bit one in the shorter form."""
    data = encode_varint(value)
    assert read_varlong(data + b"rest", 0) == (value, len(data)) == (value, varint_size(value))
    if -(2**31) <= value < 2**31:
        assert read_varint(b"x" + data, 1) == (value, 1 + len(data))


@given(made=record_lists(timestamps=any_timestamps), codec=codecs, base=st.integers(0, 2**62), data=st.data())
@examples(100)
def test_batches_go_both_ways(made: list[Record], codec: Codec, base: int, data: st.DataObject) -> None:
    """Records and header fields come back as they were given, whatever they are."""
    given_records = [record._replace(offset=base + record.offset) for record in made]
    fields = BatchFields(
        leader_epoch=data.draw(int32),
        codec=codec,
        producer_id=data.draw(int64),
        producer_epoch=data.draw(int16),
        base_sequence=data.draw(int32),
        transactional=data.draw(st.booleans()),
        control=data.draw(st.booleans()),
    )
    batch = build_batch(given_records, fields)
    header = read_header(batch)
    check_crc(memoryview(batch), header)
    assert list(iter_records(batch)) == given_records
    assert (header.base_offset, header.next_offset, header.records_count) == (base, base + len(made), len(made))
    assert header.max_timestamp == max(record.timestamp for record in made)
    assert (header.partition_leader_epoch, header.producer_id) == (fields.leader_epoch, fields.producer_id)
    assert (header.producer_epoch, header.base_sequence) == (fields.producer_epoch, fields.base_sequence)
    assert (header.is_transactional, header.is_control) == (fields.transactional, fields.control)
    assert [at for at, _ in iter_batches(batch * 3)] == [0, len(batch), 2 * len(batch)]


@pytest.mark.parametrize(("reader", "_writer"), PYTHON_CLIENTS)
@given(made=record_lists(), codec=codecs)
@examples(40)
def test_python_clients_read_what_we_build(reader: Any, _writer: Any, made: list[Record], codec: Codec) -> None:
    """kafka-python and aiokafka find the same records in our batches."""
    batch = reader(build_batch(made, BatchFields(codec=codec)))
    assert batch.validate_crc()
    found = [
        Record(r.offset, r.timestamp, r.key, r.value, tuple((name.encode(), value) for name, value in r.headers))
        for r in batch
    ]
    assert found == made


@pytest.mark.parametrize(("_reader", "writer"), PYTHON_CLIENTS)
@given(made=record_lists(), codec=codecs)
@examples(40)
def test_what_python_clients_build_is_read(_reader: Any, writer: Any, made: list[Record], codec: Codec) -> None:
    """We find in the batches of kafka-python and aiokafka what was put there."""
    builder = writer(2, int(codec), False, 7, 1, 3, 1 << 30)
    for record in made:
        names = [(name.decode(), value) for name, value in record.headers]
        assert builder.append(record.offset, record.timestamp, record.key, record.value, names) is not None
    batch = builder.build()
    assert list(iter_records(batch)) == made
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 3)
    if not header.is_compressed:
        fields = BatchFields(
            producer_id=7, producer_epoch=1, base_sequence=3, leader_epoch=header.partition_leader_epoch
        )
        assert bytes(build_batch(made, fields)) == bytes(batch)


def to_kio(record: Record) -> kio.records.schema.Record:
    """Return the record as kio has it."""
    moment = datetime.datetime.fromtimestamp(record.timestamp / 1000, datetime.UTC)
    return kio.records.schema.Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(moment),
        offset=i64(record.offset),
        key=record.key,
        value=record.value,
        headers=tuple(kio.records.schema.RecordHeader(key=name, value=value) for name, value in record.headers),
    )


whole_seconds = st.integers(1, 4_000_000_000).map(lambda seconds: seconds * 1000)


@given(made=record_lists(timestamps=whole_seconds))
@examples(40)
def test_kio_agrees_in_both_directions(made: list[Record]) -> None:
    """kio, which knows no compression and seconds only, reads and writes the same uncompressed batches."""
    fields = BatchFields(producer_id=7, producer_epoch=1, base_sequence=3, leader_epoch=0)
    batch = bytes(build_batch(made, fields))
    theirs, size = kio.records.readers.read_batch(batch, 0)
    assert size == len(batch)
    assert theirs.records == tuple(map(to_kio, made))
    header = read_header(batch)
    assert (theirs.base_offset, theirs.crc, theirs.last_offset_delta) == (0, header.crc, header.last_offset_delta)
    buffer = io.BytesIO()
    new = kio.records.schema.NewRecordBatch(
        producer_id=i64(7), producer_epoch=i16(1), base_sequence=i32(3), attributes=i16(0), records=theirs.records
    )
    kio.records.writers.write_batch(buffer, new)
    assert list(iter_records(buffer.getvalue())) == made
