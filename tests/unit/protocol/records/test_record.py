"""Records inside a batch: every field, and everything that cannot be a record."""

from dataclasses import replace

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import Codec, iter_batches
from odradek.protocol.records.errors import InvalidRecord, TooMuchData
from odradek.protocol.records.record import MAX_HEADERS, Record, iter_records
from tests.unit.protocol.records import golden
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord, records, zigzag

HEADERS = ((b"h", b"v"), (b"h", None), (b"", b""))


def read(body: bytes, count: int = 1, **fields: int) -> list[Record]:
    """Read the records of a batch with this body."""
    made = HandmadeBatch(body, count=count, base_timestamp=1000)
    return list(iter_records(replace(made, **fields).encode()))  # type: ignore[arg-type]  # names of integer fields


def test_every_field_is_read() -> None:
    """Offset and timestamp are relative to the batch; keys, values and header values may be null."""
    body = HandmadeRecord(0, 0, b"key", b"value", HEADERS).encode() + HandmadeRecord(1, -7, None, None).encode()
    assert read(body, 2, base_offset=50) == [
        Record(50, 1000, b"key", b"value", HEADERS),
        Record(51, 993, None, None, ()),
    ]


def test_the_append_time_is_the_time_of_every_record() -> None:
    """Where the batch has the time of its append, what records say is not heard."""
    body = HandmadeRecord(0, 5).encode() + HandmadeRecord(1, 9).encode()
    assert [r.timestamp for r in read(body, 2, attributes=8, max_timestamp=4444)] == [4444, 4444]
    assert [r.timestamp for r in read(body, 2, attributes=0, max_timestamp=4444)] == [1005, 1009]


def test_offsets_may_have_gaps() -> None:
    """Compaction takes records away and leaves the offsets of the others."""
    body = HandmadeRecord(2).encode() + HandmadeRecord(9).encode()
    assert [r.offset for r in read(body, 2, base_offset=100, last_offset_delta=20)] == [102, 109]


def test_an_empty_batch_has_no_records() -> None:
    """Compaction may leave a header alone."""
    assert read(b"", 0) == []


def test_long_fields() -> None:
    """Lengths of two, three and four bytes are read."""
    for size in (63, 64, 8191, 8192, 1_048_576):
        (record,) = read(HandmadeRecord(key=b"k" * size, value=b"v" * size).encode())
        assert record.key is not None
        assert record.value is not None
        assert (len(record.key), len(record.value)) == (size, size)


MALFORMED = {
    "fewer records than said": (records(1), 2),
    "more records than said": (records(2), 1),
    "bytes after the records": (records(1) + b"\0", 1),
    "no records": (b"", 1),
    "length beyond the batch": (HandmadeRecord(length=100).encode(), 1),
    "length too short": (HandmadeRecord(length=3).encode(), 1),
    "negative length": (HandmadeRecord(length=-1).encode(), 1),
    "length of zero": (zigzag(0), 1),
    "bytes inside after the fields": (HandmadeRecord(tail=b"zz").encode(), 1),
    "length of six bytes": (b"\x90\x80\x80\x80\x80\x80\x00" + records(1)[1:], 1),
    "key beyond the record": (zigzag(7) + b"\0\0\0" + zigzag(50) + zigzag(1) + b"v\0", 1),
    "value beyond the record": (zigzag(7) + b"\0\0\0" + zigzag(1) + b"k" + zigzag(50) + b"\0", 1),
    "negative header count": (zigzag(7) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(-1), 1),
    "more headers than bytes": (zigzag(7) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(9), 1),
    "header without name": (zigzag(9) + b"\0\0\0" + zigzag(-1) + zigzag(1) + b"v" + zigzag(1) + zigzag(-1) * 2, 1),
    "timestamp without end": (zigzag(12) + b"\0" + b"\x80" * 11, 1),
}


@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("codec", list(Codec))
def test_malformed_records_are_invalid(case: str, codec: Codec) -> None:
    """A record that breaks the format is an InvalidRecord, compressed or not."""
    from odradek.protocol.records.compression import compress

    body, count = MALFORMED[case]
    with pytest.raises(InvalidRecord):
        read(compress(codec, body), count, attributes=int(codec))


def test_a_batch_that_is_cut_off_is_invalid() -> None:
    """No record is read from a batch that is not all there."""
    encoded = HandmadeBatch(records(2), count=2).encode()
    for size in range(61, len(encoded)):
        with pytest.raises(InvalidRecord):
            list(iter_records(encoded[:size]))
    with pytest.raises(KafkaError):
        list(iter_records(encoded[:60]))


def test_decompression_keeps_to_the_limit() -> None:
    """A batch that holds more than the caller allows is refused, however small it is."""
    from odradek.protocol.records.compression import compress

    body = HandmadeRecord(value=bytes(100_000)).encode()
    encoded = HandmadeBatch(compress(Codec.GZIP, body), attributes=1).encode()
    assert len(list(iter_records(encoded, limit=len(body)))) == 1
    with pytest.raises(TooMuchData):
        iter_records(encoded, limit=len(body) - 1)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("producer", ["JAVA", "LIBRDKAFKA"])
def test_batches_of_producers_are_read(producer: str, codec: Codec) -> None:
    """What the Java producer and librdkafka wrote with each codec is read record by record."""
    data = getattr(golden, f"{producer}_{codec.name}")
    ((_, header),) = iter_batches(data)
    assert header.codec == codec
    found = list(iter_records(data))
    assert [r.key for r in found] == [b"key0", b"key1", b"key2"]
    assert [r.value for r in found] == [b"value %d of a batch, a batch, a batch" % i for i in range(3)]
    last = b"v2" if producer == "JAVA" else None
    assert {r.headers for r in found} == {((b"h1", b"v1"), (b"h2", last))}
    assert max(r.timestamp for r in found) == header.max_timestamp
    assert found[0].timestamp == header.base_timestamp


def test_a_record_of_millions_of_headers_is_not_read() -> None:
    """Eleven kilobytes of zstd can be sixty million headers, each of them an object."""

    def with_headers(count: int) -> bytes:
        body = b"\0\0\0\1\1" + zigzag(count) + b"\0\1" * count
        return zigzag(len(body)) + body

    [largest] = read(with_headers(MAX_HEADERS))
    assert len(largest.headers) == MAX_HEADERS
    with pytest.raises(InvalidRecord, match=f"{MAX_HEADERS + 1} headers is not read; at most {MAX_HEADERS} are"):
        read(with_headers(MAX_HEADERS + 1))
