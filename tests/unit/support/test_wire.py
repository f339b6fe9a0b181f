"""The schema-driven client of the tests and the broker's own codec are checks on each other."""

from dataclasses import replace

import pytest

from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.registry import API, ApiKey
from odradek.protocol.registry import decode as decode_ours
from odradek.protocol.registry import encode as encode_ours
from tests.support.wire import BatchFields, Record, UndecodableError, build_batch, decode, encode, served_versions

CRC_COVERS_FROM = 21

CREATE = {
    "topics": [
        {
            "name": "ünïcode",
            "num_partitions": 3,
            "replication_factor": 1,
            "assignments": [{"partition_index": 1, "broker_ids": [1, 2]}],
            "configs": [{"name": "a", "value": None}, {"name": "b", "value": ""}],
        }
    ],
    "timeout_ms": 5000,
    "validate_only": True,
}


@pytest.mark.parametrize("version", served_versions("CreateTopics"))
def test_both_codecs_write_and_read_the_same_bytes(version: int) -> None:
    """A request with nested arrays and nulls is the same bytes from both, and means the same to both."""
    data = encode("CreateTopicsRequest", version, CREATE)
    request, end = decode_ours(API[ApiKey.CREATE_TOPICS].request, data, version)
    assert end == len(data)
    assert encode_ours(request, version) == data
    assert decode("CreateTopicsRequest", version, data)["topics"] == CREATE["topics"]


@pytest.mark.parametrize("cut", [1, 5])
def test_bytes_that_are_missing_or_left_over_are_an_error(cut: int) -> None:
    """What does not follow the schema to the byte is refused."""
    data = encode("CreateTopicsRequest", 5, CREATE)
    with pytest.raises(UndecodableError):
        decode("CreateTopicsRequest", 5, data[:-cut])
    with pytest.raises(UndecodableError):
        decode("CreateTopicsRequest", 5, data + bytes(cut))


def test_batches_built_for_tests_are_right_unless_told_otherwise() -> None:
    """A batch has the header that its fields say and a checksum that holds; flipping the checksum breaks it."""
    fields = BatchFields(timestamp=5, producer_id=7)
    batch = build_batch([Record(b"k", b"v"), Record(None, None)], fields)
    [(position, header)] = iter_batches(batch)
    assert (position, header.size) == (0, len(batch))
    assert (header.records_count, header.max_timestamp, header.producer_id) == (2, 5, 7)
    assert header.crc == crc32c(batch[CRC_COVERS_FROM:], 0)
    broken = build_batch([Record(b"k", b"v")], replace(fields, crc_flip=1))
    [(_, header)] = iter_batches(broken)
    assert header.crc != crc32c(broken[CRC_COVERS_FROM:], 0)
