"""Messages that Apache Kafka 2.8 wrote in the old formats: read as its own tool reads them, and built alike."""

import pytest

from odradek.protocol.records.batch import Codec, iter_batches
from odradek.protocol.records.legacy import check_message_crc, read_message, unwrap
from odradek.protocol.records.legacy_building import build_message, build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from tests.support.legacy_logs import NAMES, dumped_records, read_file


def entries(name: str) -> list[bytes]:
    """Return the entries of one of the logs."""
    data = read_file(name)
    return [data[position : position + header.size] for position, header in iter_batches(data)]


@pytest.mark.parametrize("name", NAMES)
def test_records_are_those_that_kafka_sees(name: str) -> None:
    """Offsets, timestamps, keys and values are what DumpLogSegments prints, and all checksums are right."""
    for entry in entries(name):
        check_message_crc(entry)
    assert [record for entry in entries(name) for record in iter_entry_records(entry)] == dumped_records(name)


@pytest.mark.parametrize("name", ["v0-uncompressed", "v1-uncompressed"])
def test_plain_messages_are_built_byte_for_byte(name: str) -> None:
    """Building the same records gives Kafka's bytes."""
    magic = int(name[1])
    assert b"".join(build_message(record, magic) for record in dumped_records(name)) == read_file(name)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("uncompressed")])
def test_wrappers_are_built_byte_for_byte(name: str) -> None:
    """A wrapper of the same records has the same fields and content; only the compressed bytes may differ."""
    for entry in entries(name):
        wrapper = read_message(entry)
        records = list(iter_entry_records(entry))
        append_time = records[0].timestamp if wrapper.is_log_append_time else None
        built = build_message_set(records, wrapper.magic, Codec(wrapper.codec), append_time)
        ours = read_message(built)
        assert ours[:2] == (wrapper.offset, len(built) - 12)
        assert (ours.magic, ours.attributes, ours.timestamp, ours.key) == (
            wrapper.magic,
            wrapper.attributes,
            wrapper.timestamp,
            wrapper.key,
        )
        assert unwrap(ours) == unwrap(wrapper)
        if wrapper.codec == Codec.LZ4:
            assert wrapper.value is not None
            assert ours.value is not None
            assert bytes(ours.value[:7]) == bytes(wrapper.value[:7])


def test_the_logs_cover_what_they_should() -> None:
    """Both formats, all their codecs, and append times."""
    found = set()
    for name in NAMES:
        message = read_message(read_file(name))
        found.add((message.magic, message.codec, message.is_log_append_time))
    assert found == {(magic, codec, False) for magic in (0, 1) for codec in range(4)} | {(1, Codec.GZIP, True)}
    assert all(isinstance(record, Record) for record in dumped_records("v0-gzip"))
