"""The framing of metadata records, held against records that Apache Kafka 4.3 wrote."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.records import make_record, read_record
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord, TopicRecord
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.record import iter_records
from tests.unit.broker.metadata.support import DATA

KAFKA_NO_OP = bytes.fromhex("01 14 00 00")


def kafka_values() -> list[tuple[int, bytes]]:
    """Return offset and value of every metadata record in a log that Kafka wrote."""
    log = memoryview((DATA / "kafka-4.3.log").read_bytes())
    return [
        (record.offset, record.value or b"")
        for header, batch in ((header, log[at : at + header.size]) for at, header in iter_batches(log))
        if not header.is_control
        for record in iter_records(batch)
    ]


def test_records_are_framed_as_kafka_frames_them() -> None:
    """A record is frame version, type and version, then the body in flexible encoding."""
    assert make_record(FeatureLevelRecord(name="metadata.version", feature_level=30)).value == bytes.fromhex(
        "01 0c 00 11"
    ) + b"metadata.version" + bytes.fromhex("00 1e 00")


def test_every_record_of_kafka_is_read_and_written_back_the_same() -> None:
    """Reading a record that Kafka wrote and writing it again gives Kafka's bytes."""
    seen = set()
    for offset, value in kafka_values():
        record = read_record(value, offset)
        if record is not None:
            seen.add(type(record.message).__name__)
            assert record.value == value
            assert make_record(record.message, value[2]).value == value
    assert {"TopicRecord", "PartitionRecord", "PartitionChangeRecord", "ConfigRecord", "RegisterBrokerRecord"} <= seen


@pytest.mark.parametrize("value", [KAFKA_NO_OP, bytes.fromhex("01 14 07 99"), bytes.fromhex("01 15 00 01 00")])
def test_records_that_carry_nothing_are_stepped_over(value: bytes) -> None:
    """A NoOp record and the state of a migration from ZooKeeper say nothing to a broker, in any version."""
    assert read_record(value, 5) is None


def test_unknown_type_is_refused_with_type_version_and_offset() -> None:
    """What a newer Kafka wrote must not be ignored: it could be what keeps data from being deleted."""
    with pytest.raises(UnsupportedMetadataError, match=r"offset 77 has type 29 \(version 3\)"):
        read_record(bytes.fromhex("01 1d 03 00"), 77)


def test_newer_version_of_a_known_type_is_refused_with_its_name() -> None:
    """The sentence names the record, its version, the offset and what is known."""
    with pytest.raises(UnsupportedMetadataError, match=r"PartitionRecord of version 3 at offset 9 .* up to 2"):
        read_record(bytes.fromhex("01 03 03 00"), 9)


def test_other_frame_version_is_refused() -> None:
    """Frame version 1 is the only one there is."""
    with pytest.raises(UnsupportedMetadataError, match="frame version 2"):
        read_record(bytes.fromhex("02 02 00 00"), 0)


@pytest.mark.parametrize(
    "value",
    [b"", b"\x01", b"\x01\x02", b"\xff" * 9, make_record(TopicRecord(name="t", topic_id=UUID(int=7))).value[:-4]],
)
def test_bytes_that_are_no_record_are_corrupt(value: bytes) -> None:
    """A value that ends early is damage."""
    with pytest.raises(CorruptMetadataError):
        read_record(value, 0)


def test_bytes_behind_a_record_are_corrupt() -> None:
    """Nothing may follow the body."""
    with pytest.raises(CorruptMetadataError, match="2 stray bytes"):
        read_record(make_record(ConfigRecord(resource_type=2, resource_name="t", name="k")).value + b"zz", 0)
