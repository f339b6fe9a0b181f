"""Records from version to version: what is kept, what is left out, and how much is made at a time."""

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records import conversion
from odradek.protocol.records.batch import Codec, compute_crc, iter_batches
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from odradek.protocol.records.conversion import down_convert, up_convert, whole_messages
from odradek.protocol.records.errors import InvalidRecord, TooManyRecords
from odradek.protocol.records.legacy import check_message_crc, read_message
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record, iter_records

OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
ROOM = 1 << 20


def records(first: int = 10, count: int = 5) -> list[Record]:
    """Return records with headers."""
    return [Record(first + i, 1000 + i, b"k%d" % i, b"v%d" % i, ((b"h", b"x"),)) for i in range(count)]


def without(given: list[Record], magic: int) -> list[Record]:
    """Return what is left of records in an old message."""
    return [record._replace(headers=(), timestamp=record.timestamp if magic else -1) for record in given]


def read(data: bytes | bytearray) -> list[Record]:
    """Return the records of old messages, all of which must be whole and undamaged."""
    found: list[Record] = []
    end = 0
    for position, header in iter_batches(data):
        end = position + header.size
        check_message_crc(bytes(data[position:end]))
        found += iter_entry_records(bytes(data[position:end]))
    assert end == len(data)
    return found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_batch_becomes_messages_with_its_codec(magic: int, codec: Codec) -> None:
    """Offsets, keys, values and (version 1) timestamps stay, headers go; a compressed batch becomes one wrapper."""
    out, next_offset = down_convert(build_batch(records(), BatchFields(codec=codec)), magic, 10, ROOM)
    assert read(out) == without(records(), magic)
    assert next_offset == 15
    outer = read_message(bytes(out))
    assert (outer.magic, outer.codec) == (magic, codec)
    assert outer.size == len(out) or codec is Codec.NONE


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_append_times_stay_append_times(codec: Codec) -> None:
    """In version 1 the messages say that the time is the broker's."""
    batch = build_batch(records(), BatchFields(codec=codec, log_append_time_ms=77))
    out, _ = down_convert(batch, 1, 10, ROOM)
    assert read_message(bytes(out)).is_log_append_time
    assert {record.timestamp for record in read(out)} == {77}


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_records_before_the_offset_are_left_out(codec: Codec) -> None:
    """A reader in the middle of a batch is not given what it has; offsets are right although a wrapper begins later."""
    out, _ = down_convert(build_batch(records(), BatchFields(codec=codec)), 1, 13, ROOM)
    assert [record.offset for record in read(out)] == [13, 14]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.NONE])
def test_gaps_of_compaction_stay(codec: Codec) -> None:
    """Offsets that are missing inside a batch are missing afterwards, and next comes what follows the batch."""
    kept = [records()[1], records()[3]]
    batch = build_batch(kept, BatchFields(base_offset=10, last_offset=19, codec=codec))
    out, next_offset = down_convert(batch, 1, 10, ROOM)
    assert [record.offset for record in read(out)] == [11, 13]
    assert next_offset == 20


def test_control_batches_are_left_out() -> None:
    """What ends a transaction is passed over, committed or aborted; data of aborted ones is not."""
    marker = build_end_transaction_batch(EndTransactionMarker(False, 0), 7, 0, 5, offset=15)
    data = bytes(build_batch(records(), BatchFields(producer_id=7, producer_epoch=0, base_sequence=0)))
    out, next_offset = down_convert(data + bytes(marker), 1, 10, ROOM)
    assert read(out) == without(records(), 1)
    assert next_offset == 16
    assert down_convert(marker, 1, 15, ROOM) == (bytearray(), 16)


def test_zstd_has_no_form_in_old_messages() -> None:
    """UNSUPPORTED_COMPRESSION_TYPE, unless something before it can be sent."""
    zstd = bytes(build_batch(records(20), BatchFields(codec=Codec.ZSTD)))
    with pytest.raises(KafkaError) as refused:
        down_convert(zstd, 1, 20, ROOM)
    assert refused.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    out, next_offset = down_convert(bytes(build_batch(records())) + zstd, 1, 10, ROOM)
    assert read(out) == without(records(), 1)
    assert next_offset == 15


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_old_messages_are_taken_as_they_are_where_a_client_reads_them(codec: Codec) -> None:
    """Version 1 becomes version 0 for those who read nothing else; no message changes without need."""
    given = without(records(), 1)
    for magic in (0, 1):
        data = build_message_set(given, magic, codec)
        assert down_convert(data, 1, 10, ROOM) == (bytearray(data), 15)
    out, _ = down_convert(build_message_set(given, 1, codec), 0, 10, ROOM)
    assert read(out) == without(records(), 0)
    assert read_message(bytes(out)).codec == codec


def test_damage_is_not_hidden_by_a_new_checksum() -> None:
    """A batch, or a message, whose checksum is wrong is not converted."""
    for data in (build_batch(records()), bytearray(build_message_set(records(), 1))):
        data[-1] ^= 1
        with pytest.raises(KafkaError) as refused:
            down_convert(data[:], 0, 14, ROOM)
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    """Only whole batches are converted."""
    data = bytes(build_batch(records()))
    assert down_convert(data + data[:-1], 1, 10, ROOM)[0] == down_convert(data, 1, 10, ROOM)[0]
    assert down_convert(data[:-1], 1, 10, ROOM) == (bytearray(), 10)


def test_no_more_is_made_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversion stops with the first message that reaches the limit, in the middle of a batch too."""
    many = [Record(i, 5, None, bytes(100)) for i in range(1000)]
    out, _ = down_convert(build_batch(many), 1, 0, 1000)
    assert 1000 <= len(out) < 1200
    monkeypatch.setattr(conversion, "WRAPPED_BYTES", 10_000)
    out, _ = down_convert(build_batch(many, BatchFields(codec=Codec.GZIP)), 1, 0, 1)
    assert 70 < len(read(out)) < 80


def test_a_large_batch_becomes_several_wrappers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one wrapper holds is bounded; together they have all records."""
    monkeypatch.setattr(conversion, "WRAPPED_BYTES", 1000)
    many = [Record(i, 5, None, bytes(100)) for i in range(100)]
    out, _ = down_convert(build_batch(many, BatchFields(codec=Codec.GZIP)), 1, 0, ROOM)
    assert sum(1 for _ in iter_batches(out)) > 5
    assert read(out) == many


def test_numbers_that_no_message_can_have_are_refused() -> None:
    """A timestamp beyond 64 bits, which only damage can make, is an error, not a crash."""
    batch = build_batch([Record(0, 5), Record(1, 6 + (1 << 62))], BatchFields())
    batch[27:35] = ((1 << 63) - 1).to_bytes(8, "big")
    batch[17:21] = compute_crc(memoryview(batch)).to_bytes(4, "big")
    with pytest.raises(InvalidRecord):
        down_convert(batch, 1, 1, ROOM)


def test_a_batch_is_made_of_records_in_any_order() -> None:
    """Up-conversion numbers records from 0 and takes the first timestamp as the base; there must be one."""
    given = [Record(9, 50, b"a", None), Record(3, 40, None, b"b"), Record(3, 60)]
    batch = up_convert(given, BatchFields(codec=Codec.LZ4))
    assert list(iter_records(batch)) == [given[0]._replace(offset=0), given[1]._replace(offset=1), Record(2, 60)]
    with pytest.raises(InvalidRecord):
        up_convert([], BatchFields())


def test_whole_messages_are_counted() -> None:
    """A part of a message at the end, by the limit or by the data, does not count."""
    one = build_message_set([Record(0, 5)], 1)
    assert whole_messages(one * 3, len(one) * 2 + 5) == len(one) * 2
    assert whole_messages(one * 2 + one[:20], ROOM) == len(one) * 2
    assert whole_messages(one, len(one) - 1) == 0
    assert whole_messages(b"", ROOM) == 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_no_more_records_of_an_entry_are_looked_at_than_is_sensible(
    monkeypatch: pytest.MonkeyPatch, wrapped: bool
) -> None:
    """A batch says how many it has, and an old wrapper shows it; whoever reads near its end pays for all of them."""
    five = records(10, 5)
    entry = (
        build_message_set(five, 1, Codec.GZIP) if wrapped else bytes(build_batch(five, BatchFields(codec=Codec.LZ4)))
    )
    monkeypatch.setattr(conversion, "MOST_RECORDS", 5)
    assert read(down_convert(entry, 0, 14, ROOM)[0]) == without(five, 0)[4:]
    monkeypatch.setattr(conversion, "MOST_RECORDS", 4)
    with pytest.raises(TooManyRecords):
        down_convert(entry, 0, 14, ROOM)
