"""Control batches: markers and notes as Apache Kafka writes them."""

import pytest

from odradek.protocol.records.batch import iter_batches, read_header
from odradek.protocol.records.control import (
    ControlType,
    EndTransactionMarker,
    build_control_batch,
    build_end_transaction_batch,
    control_key,
    control_type,
    end_transaction_marker,
)
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.record import Record, iter_records
from tests.unit.protocol.records import golden


def batches(data: bytes) -> list[bytes]:
    """Cut a log into its batches."""
    return [data[at : at + header.size] for at, header in iter_batches(data)]


def test_transactions_of_apache_kafka_are_understood() -> None:
    """Data, commit, data, abort: markers stand in transactional control batches of their own."""
    first, commit, second, abort = batches(golden.TRANSACTIONS)
    assert [read_header(b).is_transactional for b in (first, commit, second, abort)] == [True] * 4
    assert [read_header(b).is_control for b in (first, commit, second, abort)] == [False, True, False, True]
    markers = [end_transaction_marker(next(iter_records(b))) for b in (commit, abort)]
    assert markers == [EndTransactionMarker(True, 0), EndTransactionMarker(False, 0)]


@pytest.mark.parametrize("place", [1, 3])
def test_markers_are_made_as_apache_kafka_makes_them(place: int) -> None:
    """The same marker has the same bytes."""
    data = batches(golden.TRANSACTIONS)[place]
    header = read_header(data)
    marker = end_transaction_marker(next(iter_records(data)))
    assert marker is not None
    made = build_end_transaction_batch(
        marker, header.producer_id, header.producer_epoch, header.base_timestamp, header.base_offset, leader_epoch=0
    )
    assert made == data


def test_notes_of_kraft_are_made_again_byte_by_byte() -> None:
    """Leader change, snapshot header and snapshot footer: type and value make the bytes that Apache Kafka wrote."""
    header_note, _, footer_note = batches(golden.BOOTSTRAP_CHECKPOINT)
    kinds = []
    for data in (golden.LEADER_CHANGE, header_note, footer_note):
        header = read_header(data)
        notes = [(control_type(r.key), r.value or b"") for r in iter_records(data)]
        kinds += [kind for kind, _ in notes]
        made = build_control_batch(notes, header.base_timestamp, header.base_offset, header.partition_leader_epoch)
        assert made == data
    assert kinds == [ControlType.LEADER_CHANGE, ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER]


@pytest.mark.parametrize("kind", [kind for kind in ControlType if kind >= 0])
def test_types_go_both_ways(kind: ControlType) -> None:
    """A key is a version and a type, two bytes each."""
    assert control_key(kind) == bytes([0, 0, 0, kind])
    assert control_type(control_key(kind)) is kind


@pytest.mark.parametrize("key", [b"\0\0\0\x63", b"\0\0\xff\xff"])
def test_types_of_the_future_are_unknown(key: bytes) -> None:
    """A type that we do not know is no error; a later version and more bytes are none either."""
    assert control_type(key) is ControlType.UNKNOWN
    assert control_type(b"\0\7\0\1more") is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_keys_that_are_none(key: bytes | None) -> None:
    """No key, too short a one, and a negative version are invalid."""
    with pytest.raises(InvalidRecord):
        control_type(key)


@pytest.mark.parametrize("value", [None, b"", bytes(5), b"\xff\xff\0\0\0\0"])
def test_markers_that_are_none(value: bytes | None) -> None:
    """No value, too short a one, and a negative version are invalid."""
    with pytest.raises(InvalidRecord):
        end_transaction_marker(Record(0, 0, control_key(ControlType.COMMIT), value))


def test_other_notes_are_no_marker() -> None:
    """A control record of KRaft says nothing of a transaction."""
    assert end_transaction_marker(Record(0, 0, control_key(ControlType.LEADER_CHANGE), b"")) is None
