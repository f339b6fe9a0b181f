"""What a produce request may carry, by its version."""

from dataclasses import replace

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Codec
from odradek.storage.validation import check_produce_records
from tests.unit.protocol.records.handmade import HandmadeBatch, legacy_entry, records

ONE = HandmadeBatch(records(1))
VERSIONS = range(3, 14)


def code(data: bytes | bytearray | None, version: int) -> ErrorCode:
    """Return the code of the answer to a request with these records."""
    try:
        check_produce_records(data if data is None else memoryview(bytearray(data)), version)
    except KafkaError as refused:
        return refused.code
    return ErrorCode.NONE


@pytest.mark.parametrize("version", VERSIONS)
def test_one_batch_is_right(version: int) -> None:
    """Exactly one batch of version 2, with or without a rest that is no batch."""
    assert code(ONE.encode(), version) is ErrorCode.NONE
    assert code(ONE.encode() + b"rest", version) is ErrorCode.NONE


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "data",
    [None, b"", ONE.encode()[:-1], ONE.encode() * 2, legacy_entry(0, 0, b"x"), legacy_entry(0, 1, b"x"), bytes(8)],
    ids=["null", "empty", "cut", "two", "V0", "V1", "a few bytes"],
)
def test_all_else_is_invalid(data: bytes | bytearray | None, version: int) -> None:
    """No batch, several, or old ones: INVALID_RECORD."""
    assert code(data, version) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "data", [bytes(12), replace(ONE, magic=3).encode(), replace(ONE, length=1).encode(), ONE.encode() + bytes(40)]
)
def test_what_is_no_batch_at_all_is_corrupt(data: bytes, version: int) -> None:
    """Sizes and versions that cannot be: CORRUPT_MESSAGE, in the first place and after the batch."""
    assert code(data, version) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("version", VERSIONS)
def test_zstd_came_with_version_7(version: int, codec: Codec) -> None:
    """Before it, zstd is an UNSUPPORTED_COMPRESSION_TYPE; other codecs are as old as batches."""
    refused = codec is Codec.ZSTD and version < 7
    expected = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if refused else ErrorCode.NONE
    assert code(replace(ONE, attributes=codec).encode(), version) is expected


def test_of_older_requests_nothing_is_asked() -> None:
    """Versions 0 to 2 carry whatever there is; that is looked at elsewhere."""
    for version in range(3):
        assert code(ONE.encode() * 2, version) is ErrorCode.NONE
        assert code(b"", version) is ErrorCode.NONE


def test_a_batch_too_small_for_attributes_has_no_codec() -> None:
    """A batch that ends before its attributes is left to validation."""
    assert code(bytes(8) + b"\0\0\0\x0e" + bytes(4) + b"\2" + bytes(9), 3) is ErrorCode.NONE
