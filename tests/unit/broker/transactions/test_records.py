"""The records of `__transaction_state` are those that Apache Kafka writes, and are read back as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.transactions.records import decode_key, decode_value, encode_key, encode_value
from odradek.broker.transactions.state import NO_PARTITIONS, TransactionMetadata, TransactionState
from odradek.protocol.codec import DecodeError

START, MIDDLE, END = 0x01A202E709DA, 0x01A202E709DF, 0x01A202E709E5
BEGUN = TransactionMetadata(0x33, 0, 60_000, updated_ms=START, previous_id=0x33)
OPEN = BEGUN._replace(
    state=TransactionState.ONGOING, partitions={"txn": frozenset({0})}, updated_ms=MIDDLE, started_ms=MIDDLE
)
DECIDED = OPEN._replace(state=TransactionState.PREPARE_COMMIT, producer_epoch=1, updated_ms=END, version=2)
OVER = DECIDED._replace(state=TransactionState.COMPLETE_COMMIT, partitions=NO_PARTITIONS)


@pytest.mark.parametrize(
    ("known", "value"),
    [
        (BEGUN, "0001000000000000003300000000ea600000000001a202e709daffffffffffffffff0100080000000000000033"),
        (
            OPEN,
            "0001000000000000003300000000ea6001020474786e020000000000000001a202e709df000001a202e709df"
            "0100080000000000000033",
        ),
        (
            DECIDED,
            "0001000000000000003300010000ea6002020474786e020000000000000001a202e709e5000001a202e709df"
            "02000800000000000000330202"
            "0002",
        ),
        (
            OVER,
            "0001000000000000003300010000ea600401000001a202e709e5000001a202e709df020008000000000000003302020002",
        ),
    ],
)
def test_records_have_the_bytes_of_kafka(known: TransactionMetadata, value: str) -> None:
    """Read off the log of Apache Kafka 4.3 with transaction.version 2."""
    assert encode_value(known, 2).hex() == value
    assert decode_value(bytes.fromhex(value)) == known


def test_keys_have_the_bytes_of_kafka() -> None:
    """The type of the record, and the id."""
    assert encode_key("look-open").hex() == "000000096c6f6f6b2d6f70656e"
    assert decode_key(encode_key("ödradek")) == "ödradek"


TRANSACTIONS = st.builds(
    TransactionMetadata,
    producer_id=st.integers(0, 2**63 - 1),
    producer_epoch=st.integers(0, 2**15 - 1),
    timeout_ms=st.integers(1, 2**31 - 1),
    state=st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
    partitions=st.dictionaries(st.text(max_size=5), st.frozensets(st.integers(0, 2**31 - 1), min_size=1), max_size=3),
    updated_ms=st.integers(-1, 2**63 - 1),
    started_ms=st.integers(-1, 2**63 - 1),
    previous_id=st.integers(-1, 2**63 - 1),
    next_id=st.integers(-1, 2**63 - 1),
    version=st.integers(0, 2),
    last_epoch=st.just(-1),
)


@given(TRANSACTIONS)
def test_what_is_written_is_read_back(known: TransactionMetadata) -> None:
    """All of it in the version of today; the older one knows neither other producer ids nor versions."""
    assert decode_value(encode_value(known, 1)) == known
    assert decode_value(encode_value(known, 0)) == known._replace(previous_id=-1, next_id=-1, version=0)


def test_very_many_partitions_with_long_names_are_read_back() -> None:
    """Lengths then take more than a byte."""
    partitions = {f"{number:0200}": frozenset(range(number, number + 300)) for number in range(200)}
    known = OPEN._replace(partitions=partitions)
    assert decode_value(encode_value(known, 1)) == known


@pytest.mark.parametrize("value", ["", "00", "0002", "0001", "000100000000000000330000"])
def test_bytes_that_are_no_record_are_refused(value: str) -> None:
    """Too short, or of a version to come."""
    with pytest.raises(DecodeError):
        decode_value(bytes.fromhex(value))


def test_states_and_keys_to_come_are_refused() -> None:
    """They are named in the broker's log, and left out."""
    value = bytearray(encode_value(OVER, 1))
    value[16] = 99
    with pytest.raises(DecodeError, match="state 99"):
        decode_value(bytes(value))
    for key in (b"", b"\x00", b"\x00\x00", b"\x00\x01\x00\x01a", b"\x00\x00\x00\x02a", b"\x00\x00\x00\x01\xff"):
        with pytest.raises(DecodeError):
            decode_key(key)
