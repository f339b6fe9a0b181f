"""Message sets of old clients: what Kafka's LogValidator makes of them, as one batch."""

import gzip
from dataclasses import replace

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Codec, check_crc, read_header
from odradek.protocol.records.building import build_batch
from odradek.protocol.records.errors import TooManyRecords, TooMuchData
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.validation import ValidationRules, convert_message_set, validate_client_batch
from odradek.storage.validation.messages import Allowance
from tests.unit.protocol.records.legacy_handmade import gzip_wrapper, message

NOW = 1_700_000_000_000
RULES = ValidationRules()
V2 = bytes(build_batch([Record(0, NOW, b"k", b"v")]))
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def sent(magic: int, count: int = 3) -> list[Record]:
    """Return records as a client has them."""
    return [Record(i, NOW + 10 - i if magic else -1, b"k%d" % i, b"v%d" % i) for i in range(count)]


def stored(data: bytes, rules: ValidationRules = RULES) -> tuple[bytes, list[Record]]:
    """Return the batch to be stored for a set, and its records, after the checks that every batch goes through."""
    batch = convert_message_set(data, rules, NOW)
    assert batch is not None
    valid = validate_client_batch(bytearray(batch), rules, NOW)
    check_crc(valid.data, valid.header)
    return bytes(valid.data), list(iter_records(valid.data))


def refusal(data: bytes, rules: ValidationRules = RULES) -> ErrorCode:
    """Return the code with which a set is refused."""
    try:
        convert_message_set(data, rules, NOW)
    except KafkaError as refused:
        return refused.code
    return ErrorCode.NONE


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_set_becomes_one_batch_with_its_codec(magic: int, codec: Codec) -> None:
    """Records keep key, value and timestamp, and are numbered in a row; the codec stays."""
    batch, records = stored(build_message_set(sent(magic), magic, codec))
    header = read_header(batch)
    assert records == sent(magic)
    assert (header.magic, header.codec, header.records_count, header.base_offset) == (2, codec, 3, 0)
    assert header.max_timestamp == (NOW + 10 if magic else -1)
    assert not header.has_producer_id


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("topic_codec", Codec)
def test_the_topics_codec_comes_first(codec: Codec, topic_codec: Codec) -> None:
    """With compression.type set, that is what is stored, whatever came; zstd too, which no old client reads."""
    rules = replace(RULES, codec=topic_codec)
    batch, records = stored(build_message_set(sent(1), 1, codec), rules)
    assert read_header(batch).codec == topic_codec
    assert records == sent(1)


def test_append_time_takes_the_place_of_all_others() -> None:
    """On a topic with LogAppendTime every record has the broker's time, from either version."""
    rules = replace(RULES, log_append_time=True)
    for magic in (0, 1):
        batch, records = stored(build_message_set(sent(magic), magic, Codec.GZIP), rules)
        assert read_header(batch).is_log_append_time
        assert {record.timestamp for record in records} == {NOW}


def test_offsets_of_a_client_do_not_matter() -> None:
    """Wrong offsets, inside a wrapper too, are not held against a client, as long as they are possible."""
    content = message(1, 7, NOW) + message(1, 7, NOW) + message(1, 3, NOW)
    _, records = stored(gzip_wrapper(content, 1, 99, NOW))
    assert [record.offset for record in records] == [0, 1, 2]
    _, records = stored(message(0, 50) + message(0, 2))
    assert [record.offset for record in records] == [0, 1]


@pytest.mark.parametrize("cut", [0, 1, 16, 17, 30])
def test_a_set_without_a_whole_message_is_nothing(cut: int) -> None:
    """There is nothing to append, and nothing wrong with that."""
    assert convert_message_set(message(1, timestamp=NOW)[:cut], RULES, NOW) is None


@pytest.mark.parametrize("cut", [1, 16, 17, 30])
def test_a_last_message_that_is_cut_off_is_left_out(cut: int) -> None:
    """The whole ones before it are taken."""
    whole = message(1, timestamp=NOW)
    _, records = stored(whole + whole[:cut])
    assert len(records) == 1


@pytest.mark.parametrize(
    "data",
    [
        message(1, timestamp=NOW, crc=1),
        message(0, crc=1),
        message(0) + message(0, length=13),
        message(0, length=0) + bytes(20),
        message(3),
        message(-1),
        message(1, timestamp=NOW) + message(1, timestamp=NOW, crc=7),
        gzip_wrapper(message(1, 0, NOW) + message(1, 1, NOW, crc=7), timestamp=NOW),
        gzip_wrapper(message(1, 0, NOW) + message(1, 1, NOW, length=13), timestamp=NOW),
        V2[:-1] + b"\xff",
        message(0) + V2[:-1] + b"\xff",
    ],
)
def test_damage_is_corruption(data: bytes) -> None:
    """A wrong checksum, outside or inside, a size or version that cannot be: CORRUPT_MESSAGE."""
    assert refusal(data) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "data",
    [
        gzip_wrapper(message(0), 1, timestamp=NOW),
        gzip_wrapper(message(1, timestamp=NOW), 0),
        gzip_wrapper(V2, 1, timestamp=NOW),
        message(0) + message(1, timestamp=NOW),
        message(1, timestamp=NOW) + V2,
        gzip_wrapper(message(1, timestamp=NOW), timestamp=NOW) * 2,
        message(1, timestamp=NOW) + gzip_wrapper(message(1, timestamp=NOW), timestamp=NOW),
        gzip_wrapper(gzip_wrapper(message(1, timestamp=NOW), timestamp=NOW), timestamp=NOW),
        gzip_wrapper(b"", timestamp=NOW),
        gzip_wrapper(message(1, 0, NOW) + message(1, 7, NOW), 1, 5, NOW),
        message(1, timestamp=NOW, value=None, attributes=1),
        message(1, timestamp=NOW, value=b"x", attributes=4),
        V2 + V2,
        V2 + message(1, timestamp=NOW),
    ],
)
def test_what_no_client_may_send_is_invalid(data: bytes) -> None:
    """Versions mixed, several wrappers, wrappers in wrappers, zstd, several batches: INVALID_RECORD."""
    assert refusal(data) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_an_error_of_the_server(codec: int) -> None:
    """As Kafka answers it, and so for bytes that do not decompress."""
    assert refusal(message(1, timestamp=NOW, value=b"x", attributes=codec)) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert refusal(message(1, timestamp=NOW, value=b"x", attributes=1)) is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_compacted_topic_needs_keys(wrapped: bool) -> None:
    """A null key is INVALID_RECORD there; an empty one is a key."""
    rules = replace(RULES, compacted=True)

    def data(key: bytes | None) -> bytes:
        one = message(1, 0, NOW) + message(1, 1, NOW, key=key)
        return gzip_wrapper(one, offset=1, timestamp=NOW) if wrapped else one

    assert refusal(data(None), rules) is ErrorCode.INVALID_RECORD
    assert refusal(data(b""), rules) is ErrorCode.NONE
    assert refusal(data(None)) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("timestamp", "code"),
    [
        (NOW + 1000, ErrorCode.NONE),
        (NOW + 1001, ErrorCode.INVALID_TIMESTAMP),
        (NOW - 2000, ErrorCode.NONE),
        (NOW - 2001, ErrorCode.INVALID_TIMESTAMP),
        (-1, ErrorCode.NONE),
        (-2, ErrorCode.INVALID_TIMESTAMP),
        ((1 << 63) - 1, ErrorCode.INVALID_TIMESTAMP),
        (-(1 << 63), ErrorCode.INVALID_TIMESTAMP),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_timestamps_stay_within_the_topics_limits(timestamp: int, code: ErrorCode, wrapped: bool) -> None:
    """message.timestamp.before.max.ms and after.max.ms hold for each message; -1 is no timestamp."""
    rules = replace(RULES, timestamp_before_max_ms=2000, timestamp_after_max_ms=1000)
    data = message(1, 0, NOW) + message(1, 1, timestamp)
    assert refusal(gzip_wrapper(data, offset=1, timestamp=NOW) if wrapped else data, rules) is code


@pytest.mark.parametrize(("append_time_topic", "timestamp"), [(True, NOW), (False, -1), (True, -1)])
def test_only_the_broker_sets_append_times(append_time_topic: bool, timestamp: int) -> None:
    """A client that says LogAppendTime is refused where its own timestamp would not be looked at, as in Kafka."""
    rules = replace(RULES, log_append_time=append_time_topic)
    assert refusal(message(1, 0, timestamp, attributes=8), rules) is ErrorCode.INVALID_TIMESTAMP
    data = gzip_wrapper(message(1, 0, 5), timestamp=timestamp, log_append_time=True)
    assert refusal(data, rules) is ErrorCode.INVALID_TIMESTAMP
    assert refusal(message(1, 0, NOW, attributes=8)) is ErrorCode.NONE
    assert refusal(message(0, attributes=8), rules) is ErrorCode.NONE


def test_each_message_and_what_is_stored_has_to_fit() -> None:
    """max.message.bytes holds for every message that comes, and for the batch that is made of them."""
    one = message(0, value=bytes(100))
    assert refusal(one, replace(RULES, max_message_bytes=len(one))) is ErrorCode.MESSAGE_TOO_LARGE  # as a batch
    assert refusal(one, replace(RULES, max_message_bytes=len(one) - 1)) is ErrorCode.MESSAGE_TOO_LARGE
    assert refusal(one, replace(RULES, max_message_bytes=200)) is ErrorCode.NONE
    assert refusal(one * 3, replace(RULES, max_message_bytes=200)) is ErrorCode.MESSAGE_TOO_LARGE
    _, records = stored(one * 3, replace(RULES, max_message_bytes=200, codec=Codec.GZIP))
    assert len(records) == 3


def test_a_bomb_is_refused() -> None:
    """A wrapper that holds more than the limit is not decompressed to the end."""
    bomb = message(1, timestamp=NOW, value=gzip.compress(bytes(64 << 20), 9), attributes=1)
    assert refusal(bomb) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_of_today_passes_as_it_is() -> None:
    """Kafka does not mind one batch of version 2 in an old request; it is checked like in a new one."""
    assert convert_message_set(V2, RULES, NOW) == V2
    assert convert_message_set(V2 + V2[:40], RULES, NOW) == V2
    assert refusal(V2[:20]) is ErrorCode.NONE
    assert refusal(V2, replace(RULES, max_message_bytes=10)) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_a_request_may_have_a_bounded_number_of_records(codec: Codec) -> None:
    """All its sets together: a few kilobytes, compressed, can be more records than anybody wants to wait for."""
    allowance = Allowance(records=7)
    data = build_message_set(sent(1), 1, codec)
    for _ in range(2):
        assert convert_message_set(data, RULES, NOW, allowance) is not None
    for _ in range(2):
        with pytest.raises(TooManyRecords) as refused:
            convert_message_set(data, RULES, NOW, allowance)
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert allowance.records == 1, "they are refused before any of them is looked at"


def test_what_the_wrappers_of_a_request_hold_is_bounded() -> None:
    """All together, as well as each: otherwise many small ones would be no less than a large one."""
    data = gzip_wrapper(message(1, value=b"v" * 1000, timestamp=NOW), 1, 0, NOW)
    allowance = Allowance(unwrapped_bytes=2500)
    for _ in range(2):
        assert convert_message_set(data, RULES, NOW, allowance) is not None
    with pytest.raises(TooMuchData):
        convert_message_set(data, RULES, NOW, allowance)
