"""Validation of a batch: what is patched, what is rewritten, what is looked at in large batches."""

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import Codec, check_crc, read_header
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.compression import compress
from odradek.protocol.records.errors import CorruptRecord, InvalidRecord, TooMuchData
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.validation import (
    Effort,
    RejectedRecords,
    TakesLonger,
    ValidatedBatch,
    ValidationRules,
    assign_offsets,
    validate_client_batch,
)
from odradek.storage.validation.errors import TooManyRecordsInBatch
from tests.unit.protocol.records.handmade import HandmadeBatch, HandmadeRecord, records, zigzag

NOW = 1_795_246_204_644
PLAIN = ValidationRules(max_message_bytes=1 << 24)
APPEND_TIME = replace(PLAIN, log_append_time=True)
COMPACTED = replace(PLAIN, compacted=True)
LARGE = [17, 40, 64, 65, 200, 9000]
"""Counts of records that are too many to be all looked at closely."""


def validate(data: bytes | bytearray, rules: ValidationRules = PLAIN) -> ValidatedBatch:
    """Validate a copy of the batch."""
    return validate_client_batch(memoryview(bytearray(data)), rules, NOW)


def fixed(count: int) -> list[bytes]:
    """Return records of one size, as far as their offsets allow."""
    return [HandmadeRecord(i, value=b"v" * 90).encode() for i in range(count)]


def varied(count: int) -> list[bytes]:
    """Return records of many sizes, with lengths of one and of two bytes."""
    return [HandmadeRecord(i, value=b"v" * (i * 37 % 150)).encode() for i in range(count)]


def batch(parts: list[bytes], **fields: int) -> bytearray:
    """Return a batch of the encoded records, made now."""
    made = HandmadeBatch(b"".join(parts), count=len(parts), base_timestamp=NOW)
    return replace(made, **fields).encode()  # type: ignore[arg-type]  # names of integer fields


# --- in place


@pytest.mark.parametrize("parts", [fixed(1), fixed(16), fixed(500), varied(500)])
def test_a_good_batch_is_not_touched(parts: list[bytes]) -> None:
    """A batch whose header tells the truth stays where it is, byte for byte."""
    data = batch(parts)
    view = memoryview(data)
    before = bytes(data)
    stored = validate_client_batch(view, PLAIN, NOW)
    assert stored.data is view
    assert data == before
    assert stored[1:] == (read_header(before), -1, NOW)


def test_what_follows_the_batch_is_left_out() -> None:
    """The batch that is stored ends where its header says."""
    data = batch(fixed(2))
    stored = validate_client_batch(memoryview(data + b"rest"), PLAIN, NOW)
    assert stored.data == data


def test_offsets_are_assigned_in_place() -> None:
    """Base offset and leader epoch are written, and the checksum is as right as before."""
    data = batch(fixed(3))
    crc = read_header(data).crc
    assign_offsets(data, 1 << 40, 17)
    header = read_header(data)
    assert (header.base_offset, header.partition_leader_epoch, header.last_offset) == (1 << 40, 17, (1 << 40) + 2)
    assert (header.crc, header.size) == (crc, len(data))
    check_crc(memoryview(data), header)
    assert [r.offset for r in iter_records(data)] == [(1 << 40) + i for i in range(3)]


@pytest.mark.parametrize("parts", [fixed(1), fixed(500), varied(500)])
def test_the_append_time_is_patched_in(parts: list[bytes]) -> None:
    """Type and time are written into the request's own bytes, with the checksum; deltas stay as they are."""
    data = batch(parts, base_timestamp=NOW - 10**9)
    stored = validate_client_batch(memoryview(data), APPEND_TIME, NOW)
    header = read_header(data)
    assert (header.is_log_append_time, header.max_timestamp, header.base_timestamp) == (True, NOW, NOW - 10**9)
    assert stored.data == data
    assert stored[1:] == (header, NOW, NOW)
    check_crc(memoryview(data), header)
    assert {r.timestamp for r in iter_records(data)} == {NOW}


def test_only_the_type_and_unused_bits_of_the_attributes_change() -> None:
    """Where the header is patched, codec, transaction and horizon stay, and bits without a meaning go, as in Kafka."""
    data = batch(fixed(1), attributes=0x7FD0 & ~0x08, max_timestamp=NOW + 1, producer_id=1, base_sequence=0)
    assert validate(data).header.attributes == 0x50
    untouched = batch(fixed(1), attributes=0x7FD0 & ~0x08, producer_id=1, base_sequence=0)
    assert validate(untouched).header.attributes == 0x7FD0 & ~0x08


@pytest.mark.parametrize("claimed", [-1, -5, 0, NOW - 1, NOW + 51, NOW + 10**10, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("count", [2, *LARGE])
def test_the_greatest_timestamp_is_that_of_the_records(count: int, claimed: int) -> None:
    """Whatever the header claims, the batch is stored with the greatest timestamp that a record has."""
    parts = fixed(count)
    parts[1] = HandmadeRecord(1, timestamp_delta=50).encode()
    stored = validate(batch(parts, max_timestamp=claimed))
    assert stored.header.max_timestamp == stored.max_timestamp == NOW + 50
    check_crc(stored.data, stored.header)


def test_timestamps_below_minus_one_count_as_none() -> None:
    """The greatest timestamp is at least -1, however the records are dated."""
    assert validate(batch(fixed(1), base_timestamp=-700)).max_timestamp == -1


# --- rewritten


@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.parametrize("source", list(Codec))
def test_batches_get_the_topics_codec(source: Codec, target: Codec) -> None:
    """Records, producer, sequence and transaction go over into a batch of the topic's codec."""
    made = [Record(i, NOW + i % 7, b"key", b"value %d " % i * 20, ((b"h", None),)) for i in range(100)]
    fields = BatchFields(codec=source, producer_id=5, producer_epoch=6, base_sequence=7, transactional=True)
    stored = validate(build_batch(made, fields), replace(PLAIN, codec=target))
    header = stored.header
    assert header.codec == target
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.is_transactional) == (5, 6, 7, True)
    assert (header.last_offset_delta, header.records_count, header.max_timestamp) == (99, 100, NOW + 6)
    check_crc(stored.data, header)
    assert list(iter_records(stored.data)) == made


def test_a_batch_of_the_topics_codec_stays_as_it_is() -> None:
    """The codec decides, not the level: what came compressed the right way is not compressed again."""
    data = build_batch([Record(0, NOW, b"k", b"v" * 1000)], BatchFields(codec=Codec.GZIP, level=1))
    assert validate(data, replace(PLAIN, codec=Codec.GZIP, level=9)).data == data
    assert validate(data).data == data


def test_the_topics_level_is_used() -> None:
    """Compressing for the topic takes the topic's level."""
    text = b"".join(b"user %d of %d, " % (i * 7919 % 1009, i % 13) for i in range(5000))
    data = build_batch([Record(0, NOW, b"k", text)])
    sizes = [len(validate(data, replace(PLAIN, codec=Codec.GZIP, level=level)).data) for level in (1, 9)]
    assert sizes[0] > sizes[1]


def test_an_append_time_and_another_codec() -> None:
    """Both changes are made at once."""
    stored = validate(batch(fixed(3)), replace(APPEND_TIME, codec=Codec.LZ4))
    assert (stored.header.is_log_append_time, stored.header.codec, stored.header.max_timestamp) == (
        True,
        Codec.LZ4,
        NOW,
    )


def test_a_batch_that_grows_beyond_the_limit_is_refused() -> None:
    """The topic's limit holds for what is stored, too."""
    data = batch([HandmadeRecord(value=bytes(5000)).encode()])
    small = build_batch(list(iter_records(data)), BatchFields(codec=Codec.ZSTD))
    rules = ValidationRules(max_message_bytes=1000)
    assert validate(small, rules).header.codec == Codec.ZSTD
    with pytest.raises(Exception, match="exceeds the maximum") as refused:
        validate(small, replace(rules, codec=Codec.NONE))
    assert getattr(refused.value, "code", None) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
@pytest.mark.parametrize("deltas", [[4], [1, 0], [0, 1, 3], [-1]])
def test_offsets_are_counted_anew_where_the_producer_counted_wrongly(deltas: list[int], codec: Codec) -> None:
    """Records lie in a log in the order they came, each at the next offset."""
    body = b"".join(HandmadeRecord(delta, value=b"%d" % delta).encode() for delta in deltas)
    made = HandmadeBatch(compress(codec, body), count=len(deltas), attributes=codec, base_timestamp=NOW)
    stored = validate(made.encode())
    found = list(iter_records(stored.data))
    assert [r.offset for r in found] == list(range(len(deltas)))
    assert [r.value for r in found] == [b"%d" % delta for delta in deltas]
    assert stored.header.codec == codec
    check_crc(stored.data, stored.header)


# --- large batches


@pytest.mark.parametrize("count", LARGE)
@pytest.mark.parametrize("make", [fixed, varied])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_the_count_must_be_true_in_batches_of_any_size(count: int, make: type, codec: Codec) -> None:
    """One record more or fewer than the header says, or a byte too many or too few, and the batch is refused."""
    parts = make(count)
    body = b"".join(parts)

    def made(body: bytes, count: int) -> bytearray:
        return HandmadeBatch(compress(codec, body), count=count, attributes=codec, base_timestamp=NOW).encode()

    assert validate(made(body, count)).header.records_count == count
    for wrong in (count - 1, count + 1, 2 * count, 2**31 - 1):
        with pytest.raises(InvalidRecord):
            validate(made(body, wrong))
    for wrong_body in (body[:-1], body + b"\0", body[: -len(parts[-1])], body + parts[-1][:5]):
        with pytest.raises(InvalidRecord):
            validate(made(wrong_body, count))


@pytest.mark.parametrize("count", LARGE[:-1])
@pytest.mark.parametrize("make", [fixed, varied])
def test_a_length_that_lies_is_noticed_anywhere(count: int, make: type) -> None:
    """A record whose length leads elsewhere spoils the row, wherever it stands."""
    parts = make(count)
    for place in (0, 16, count // 2, count - 1):
        for length in (0, 1, 5, 3000, 10**6, -1, -70, 2**31 - 1, -(2**31)):
            lying = HandmadeRecord(place, value=b"v" * 90, length=length).encode()
            spoilt = [*parts[:place], lying, *parts[place + 1 :]]
            with pytest.raises(InvalidRecord):
                validate(batch(spoilt))


@pytest.mark.parametrize("negative", [b"\x81\x80\x00", b"\x83\x80\x80\x00", b"\xff\xff\xff\xff\x0f"])
def test_a_negative_length_in_many_bytes_is_noticed(negative: bytes) -> None:
    """A length below zero is refused even where the walk would go on behind it."""
    parts = varied(41)
    parts[30] = negative
    with pytest.raises(InvalidRecord):
        validate(batch(parts))


@pytest.mark.parametrize("place", [3, 15, 16, 40])
def test_wrong_offsets_in_large_batches_are_counted_anew_where_they_are_seen(place: int) -> None:
    """One wrong offset among the first records, or the last one's, and all are given the offsets they should have."""
    parts = varied(41)
    parts[place] = HandmadeRecord(place + 7).encode()
    stored = validate(batch(parts))
    offsets = [r.offset for r in iter_records(stored.data)]
    assert (offsets == list(range(41))) == (place != 16)


@pytest.mark.parametrize("place", [0, 7, 15, 40])
@pytest.mark.parametrize(
    "malformed",
    [zigzag(7) + b"\0\0\0" + zigzag(50) + zigzag(1) + b"v\0", HandmadeRecord(0, tail=b"zz").encode()],
)
def test_malformed_records_at_either_end_are_noticed(place: int, malformed: bytes) -> None:
    """The first sixteen records and the last one are read field by field in any batch."""
    parts = varied(41)
    parts[place] = malformed
    with pytest.raises(InvalidRecord):
        validate(batch(parts))


@pytest.mark.parametrize("place", [0, 15, 16, 100, 199])
def test_every_record_is_looked_at_where_a_rule_concerns_every_record(place: int) -> None:
    """In a compacted topic, and where timestamps have a limit in the past, one bad record among many is found."""
    parts = varied(200)
    parts[place] = HandmadeRecord(place, key=None).encode()
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts), COMPACTED)
    assert [error.batch_index for error in refused.value.record_errors] == [place]
    parts[place] = HandmadeRecord(place, timestamp_delta=-1001).encode()
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts), replace(PLAIN, timestamp_before_max_ms=1000))
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.value.record_errors] == [place]
    assert validate(batch(parts)).max_timestamp == NOW


@pytest.mark.parametrize("place", [0, 15, 16, 100, 199])
def test_a_record_in_the_far_future_is_refused_where_the_header_tells_of_it(place: int) -> None:
    """The greatest timestamp leads to the records that are at fault."""
    parts = varied(200)
    parts[place] = HandmadeRecord(place, timestamp_delta=10**8).encode()
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts, max_timestamp=NOW + 10**8))
    assert [error.batch_index for error in refused.value.record_errors] == [place]


@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_bombs_are_refused(codec: Codec) -> None:
    """A batch that holds more than the limit of its topic once it is decompressed is MESSAGE_TOO_LARGE."""
    body = HandmadeRecord(value=bytes(PLAIN.decompressed_limit)).encode()
    made = HandmadeBatch(compress(codec, body), attributes=codec, base_timestamp=NOW)
    with pytest.raises(TooMuchData) as refused:
        validate(made.encode())
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_holds_at_most_64_times_the_largest_of_its_topic() -> None:
    """The limit follows max.message.bytes, between 16 and 128 MiB; one byte less is taken."""
    sizes = {1_000: 16 << 20, 1_048_588: 64 * 1_048_588, 100_000_000: 128 << 20}
    assert {size: ValidationRules(max_message_bytes=size).decompressed_limit for size in sizes} == sizes
    rules = ValidationRules(max_message_bytes=300_000)
    overhead = len(HandmadeRecord(value=bytes(19_000_000)).encode()) - 19_000_000
    for size, fits in ((rules.decompressed_limit, True), (rules.decompressed_limit + 1, False)):
        body = HandmadeRecord(value=bytes(size - overhead)).encode()
        assert len(body) == size
        made = HandmadeBatch(compress(Codec.ZSTD, body), attributes=Codec.ZSTD, base_timestamp=NOW).encode()
        if fits:
            assert len(validate(made, rules).data) == len(made)
        else:
            with pytest.raises(TooMuchData):
                validate(made, rules)


# --- what takes long


SMALLEST = HandmadeRecord(key=None, value=None).encode()


def smallest(count: int, **fields: int) -> bytearray:
    """Return a batch of the smallest records there are, all of offset 0, compressed to some hundred bytes."""
    made = HandmadeBatch(compress(Codec.ZSTD, SMALLEST * count), attributes=Codec.ZSTD, count=count, base_timestamp=NOW)
    return replace(made, **fields).encode()  # type: ignore[arg-type]  # names of integer fields


def test_a_batch_has_no_more_records_than_its_topic_allows_bytes() -> None:
    """One record for each byte of max.message.bytes, at least 65,536; more are MESSAGE_TOO_LARGE."""
    rules = ValidationRules(max_message_bytes=70_000)
    parts = [HandmadeRecord(place, key=None, value=None).encode() for place in range(70_001)]
    made = HandmadeBatch(b"", attributes=Codec.ZSTD, base_timestamp=NOW)
    fits = replace(made, body=compress(Codec.ZSTD, b"".join(parts[:70_000])), count=70_000)
    assert len(fits.encode()) <= 70_000
    assert validate(fits.encode(), rules).header.records_count == 70_000
    with pytest.raises(TooManyRecordsInBatch) as refused:
        validate(replace(made, body=compress(Codec.ZSTD, b"".join(parts)), count=70_001).encode(), rules)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert replace(rules, max_message_bytes=1_000).records_limit == 65_536


def test_more_records_than_there_is_space_for_are_refused_at_once() -> None:
    """A count that the bytes cannot hold costs no walk over them."""
    with pytest.raises(InvalidRecord, match="premature EOF"):
        validate_client_batch(memoryview(batch(varied(500), count=5_000_000)), PLAIN, NOW, Effort(300))


@pytest.mark.parametrize(
    ("make", "rules"),
    [
        pytest.param(lambda: smallest(50_000), PLAIN, id="offsets to be counted anew"),
        pytest.param(lambda: smallest(50_000, base_timestamp=NOW * 2), PLAIN, id="timestamps to be refused"),
        pytest.param(lambda: batch(fixed(50_000)), COMPACTED, id="records to be looked at"),
        pytest.param(lambda: batch(fixed(50_000)), replace(PLAIN, codec=Codec.GZIP), id="records to be compressed"),
        pytest.param(
            lambda: batch([HandmadeRecord(headers=[(b"", None)] * 9_000).encode()]), PLAIN, id="headers to be read"
        ),
        pytest.param(
            lambda: batch([HandmadeRecord(value=bytes(13_000_000)).encode()]), PLAIN, id="bytes to be checked"
        ),
    ],
)
def test_what_takes_longer_than_allowed_is_left_alone(make: Callable[[], bytearray], rules: ValidationRules) -> None:
    """Little effort suffices for no large batch, and without bound each gets the outcome that it would have had."""
    data = make()
    view = memoryview(bytearray(data))
    with pytest.raises(TakesLonger):
        validate_client_batch(view, rules, NOW, Effort(40_000))
    assert view == data
    try:
        expected: object = bytes(validate(data, rules).data)
    except RejectedRecords as rejected:
        expected = rejected.message
    try:
        found: object = bytes(validate_client_batch(view, rules, NOW, Effort(10_000_000)).data)
    except RejectedRecords as rejected:
        found = rejected.message
    assert found == expected


def test_the_batches_of_a_request_share_what_effort_there_is() -> None:
    """What one of them took is not there for the next."""
    data = batch(varied(2_000))
    effort = Effort(6_500)
    for _ in range(2):
        validate_client_batch(memoryview(bytearray(data)), PLAIN, NOW, effort)
    with pytest.raises(TakesLonger):
        validate_client_batch(memoryview(bytearray(data)), PLAIN, NOW, effort)


def test_effort_that_was_spent_in_vain_is_gone() -> None:
    """A second batch that decompresses to too much is not even begun, be there thirty of them."""
    effort = Effort(40_000)
    data = smallest(200_000)
    for _ in range(2):
        with pytest.raises(TakesLonger):
            validate_client_batch(memoryview(bytearray(data)), PLAIN, NOW, effort)
    assert effort.steps == 0


@pytest.mark.parametrize("rules", [PLAIN, replace(COMPACTED, codec=Codec.NONE)])
def test_no_more_than_a_thousand_records_are_named(rules: ValidationRules) -> None:
    """However many records of a batch are at fault, the answer stays small."""
    with pytest.raises(RejectedRecords) as refused:
        validate(smallest(50_000, base_timestamp=NOW * 2), rules)
    assert [error.batch_index for error in refused.value.record_errors] == list(range(1000))


def test_a_million_records_are_not_counted_anew() -> None:
    """Wrong offsets are put right in batches of a size that clients send; with right ones a million are taken."""
    with pytest.raises(TooManyRecordsInBatch):
        validate(smallest(65_537))
    assert validate(smallest(65_536)).header.records_count == 65_536
    parts = [HandmadeRecord(place, key=None, value=None).encode() for place in range(100_000)]
    assert validate(batch(parts)).header.records_count == 100_000


def test_records_at_fault_are_found_behind_many_that_are_not() -> None:
    """Stretches of good records are passed over, and places still count from the first record."""
    parts = [HandmadeRecord(i, value=b"v" * (i % 5)).encode() for i in range(3_000)]
    for place in (511, 512, 2_999):
        parts[place] = HandmadeRecord(place, timestamp_delta=10**8).encode()
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts, max_timestamp=NOW + 10**8))
    assert [error.batch_index for error in refused.value.record_errors] == [511, 512, 2_999]


def test_records_that_are_counted_anew_keep_all_but_their_offsets() -> None:
    """Timestamps become relative to the first record's; keys, values and headers stay as they are."""
    parts = [
        HandmadeRecord(7, timestamp_delta=5, key=b"k" * 70, value=None).encode(),
        HandmadeRecord(7, timestamp_delta=-3, headers=[(b"h", b"1"), (b"n", None)]).encode(),
        HandmadeRecord(300, timestamp_delta=1_000_000, value=b"v" * 9_000).encode(),
    ]
    before = list(iter_records(batch(parts)))
    stored = validate(batch(parts, max_timestamp=NOW + 1_000_000))
    assert list(iter_records(stored.data)) == [r._replace(offset=i) for i, r in enumerate(before)]
    assert stored.header.base_timestamp == NOW + 5


# --- messages


def test_the_errors_of_records_are_worded_as_by_kafka() -> None:
    """Each record at fault is named, and the message shows the first three of them."""
    parts = [HandmadeRecord(i, key=None if i else b"a").encode() for i in range(5)]
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts), replace(COMPACTED, partition="c1-0"))
    told = "Compacted topic cannot accept message without key in topic partition c1-0"
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [(e.batch_index, e.message) for e in refused.value.record_errors] == [(i, told) for i in (1, 2, 3, 4)]
    shown = ", ".join(f"RecordError(batchIndex={i}, message='{told}')" for i in (1, 2, 3))
    assert refused.value.message == (
        "One or more records have been rejected due to 4 record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )


def test_the_errors_of_timestamps_are_worded_as_by_kafka() -> None:
    """One timestamp out of range makes the whole an INVALID_TIMESTAMP; the message tells the range."""
    parts = [HandmadeRecord(0).encode(), HandmadeRecord(1, timestamp_delta=4_000_000).encode()]
    with pytest.raises(RejectedRecords) as refused:
        validate(batch(parts), replace(PLAIN, timestamp_before_max_ms=10**6))
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert refused.value.message == "One or more records have been rejected due to invalid timestamp"
    assert list(refused.value.record_errors) == [
        (
            1,
            f"Timestamp {NOW + 4_000_000} of message with offset 1 is out of range. "
            f"The timestamp should be within [{NOW - 10**6}, {NOW + 3_600_000}]",
        )
    ]


def test_the_errors_of_the_timestamp_type_are_worded_as_by_kafka() -> None:
    """A producer may not say that its timestamps are the broker's."""
    with pytest.raises(RejectedRecords) as refused:
        validate(batch([HandmadeRecord().encode()], attributes=8, max_timestamp=-1))
    assert list(refused.value.record_errors) == [
        (
            0,
            "Invalid timestamp type in message DefaultRecord(offset=0, timestamp=-1, key=1 bytes, value=1 bytes). "
            "Producer should not set timestamp type to LogAppendTime.",
        )
    ]


# --- beyond reason


def test_no_timestamp_overflows() -> None:
    """Timestamps that no 64-bit number holds are refused, even where there is no limit."""
    free = replace(PLAIN, timestamp_after_max_ms=2**63 - 1)
    assert validate(batch(fixed(1), base_timestamp=2**63 - 1), free).max_timestamp == 2**63 - 1
    for base, delta in ((2**63 - 1, 1), (-(2**63), -1), (2**63 - 1, 2**63 - 1)):
        with pytest.raises(RejectedRecords):
            validate(batch([HandmadeRecord(timestamp_delta=delta).encode()], base_timestamp=base), free)


@pytest.mark.parametrize("size", range(61))
def test_less_than_a_header_is_corrupt(size: int) -> None:
    """Validation on its own is as safe as after the check of the request."""
    with pytest.raises(CorruptRecord):
        validate(batch(fixed(1))[:size])


def test_part_of_a_batch_is_invalid() -> None:
    """A batch whose end is missing is none."""
    data = batch(fixed(2))
    for size in range(61, len(data)):
        with pytest.raises(InvalidRecord):
            validate(data[:size])


def test_offset_deltas_and_counts_that_overflow() -> None:
    """Header fields at the ends of their range are refused like any wrong ones."""
    for count, delta in ((2**31 - 1, 2**31 - 2), (-(2**31), 2**31 - 1), (1, 2**31 - 1), (0, -1)):
        with pytest.raises(InvalidRecord):
            validate(batch(fixed(1), count=count, last_offset_delta=delta))


def test_a_record_of_every_length_of_length() -> None:
    """Lengths of one to four bytes are walked over, alone and in a row."""
    for size in (0, 55, 56, 8180, 8181, 1_048_570):
        for count in (1, 20):
            parts = [HandmadeRecord(i, value=bytes(size)).encode() for i in range(count)]
            if len(parts[0]) * count < 1 << 24:
                assert validate(batch(parts)).header.records_count == count


def test_padding_in_lengths_is_tolerated() -> None:
    """Numbers in more bytes than they need are read, in the first records and in those after them."""
    padded = records(20)[: 9 * 17]
    for place in range(17, 20):
        body = HandmadeRecord(place).encode()[1:]
        length = len(body) * 2
        padded += struct.pack("BBB", length | 0x80, 0x80, 0) + body
    assert validate(batch([padded], count=20, last_offset_delta=19)).header.records_count == 20
