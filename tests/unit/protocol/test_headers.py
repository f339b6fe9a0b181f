"""Request and response headers: which version stands before which message, and what a bad one gives."""

import pytest

from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from odradek.protocol.registry import API, ApiKey

METADATA_V8 = bytes.fromhex("0003 0008 0000002a 0005") + b"rdkaf"
METADATA_V12 = bytes.fromhex("0003 000c 0000002a 0005") + b"rdkaf" + b"\0"


def test_header_version_1_ends_after_the_client_id() -> None:
    """A version that is not flexible has header version 1: the request follows the client id."""
    header, offset = decode_request_header(memoryview(METADATA_V8 + b"body"))
    assert header == RequestHeader(api_key=3, api_version=8, correlation_id=42, client_id="rdkaf")
    assert offset == len(METADATA_V8)


def test_header_version_2_ends_after_its_tags() -> None:
    """A flexible version has header version 2: tagged fields stand between client id and request."""
    header, offset = decode_request_header(memoryview(METADATA_V12 + b"body"))
    assert header == (3, 12, 42, "rdkaf")
    assert offset == len(METADATA_V12)


def test_unknown_tags_of_a_header_are_passed_over() -> None:
    """A tag that we do not know is skipped by its size."""
    tagged = METADATA_V12[:-1] + bytes.fromhex("02 00 01 ff 05 02 aa bb")
    assert decode_request_header(tagged + b"body")[1] == len(tagged)


def test_client_id_can_be_null() -> None:
    """A client need not say who it is."""
    header, offset = decode_request_header(bytes.fromhex("0012 0000 00000001 ffff"))
    assert header == (18, 0, 1, None)
    assert offset == 10


def test_client_id_keeps_its_two_byte_length_in_version_2() -> None:
    """Header version 2 has tags, but the client id is no compact string."""
    header, _ = decode_request_header(bytes.fromhex("0012 0003 00000001 0001 78 00"))
    assert header.client_id == "x"


@pytest.mark.parametrize(("api_key", "version"), [(9999, 1), (-1, 0), (76, 0)])
def test_header_of_an_unknown_api_is_read_as_far_as_it_can_be(api_key: int, version: int) -> None:
    """The log line before the close of the connection can name the key and the client."""
    frame = api_key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big") + bytes.fromhex("00000007 0001 78")
    assert decode_request_header(frame) == ((api_key, version, 7, "x"), len(frame))


def test_header_of_a_version_from_the_future_is_read() -> None:
    """A version beyond ours is flexible as the last one is: ApiVersions is answered then."""
    header, offset = decode_request_header(bytes.fromhex("0012 7fff 00000001 ffff 00"))
    assert (header.api_version, offset) == (0x7FFF, 11)


@pytest.mark.parametrize("length", range(len(METADATA_V12)))
def test_cut_headers_are_refused(length: int) -> None:
    """A header that ends early is a DecodeError, wherever it ends."""
    with pytest.raises(DecodeError):
        decode_request_header(METADATA_V12[:length])


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("0003 0008 0000002a 7fff 78", id="client id beyond the frame"),
        pytest.param("0003 0008 0000002a 0001 ff", id="client id not UTF-8"),
        pytest.param("0003 000c 0000002a ffff ffffffffff01", id="count of tags over five bytes"),
        pytest.param("0003 000c 0000002a ffff 01 00 7f", id="tag beyond the frame"),
        pytest.param("0003 000c 0000002a ffff ff ff ff ff 0f 00 00", id="more tags than bytes"),
        pytest.param("0003 000c 0000002a ffff 02 01 00 01 00", id="tag twice"),
    ],
)
def test_bad_headers_are_refused(frame: str) -> None:
    """Whatever is wrong with a header is a DecodeError."""
    with pytest.raises(DecodeError):
        decode_request_header(bytes.fromhex(frame))


@pytest.mark.parametrize(
    "header", [RequestHeader(3, 8, 42, "rdkaf"), RequestHeader(3, 12, 42, "rdkaf"), RequestHeader(18, 0, 1, None)]
)
def test_request_headers_go_both_ways(header: RequestHeader) -> None:
    """What a client encodes is what the broker decodes."""
    frame = encode_request_header(header)
    assert decode_request_header(frame) == (header, len(frame))


def test_response_header_has_tags_where_the_version_is_flexible() -> None:
    """Version 0 is the correlation id alone, version 1 adds an empty tag buffer."""
    assert encode_response_header(42, ApiKey.METADATA, 8) == bytes.fromhex("0000002a")
    assert encode_response_header(42, ApiKey.METADATA, 9) == bytes.fromhex("0000002a 00")


@pytest.mark.parametrize("version", range(5))
def test_response_header_of_api_versions_never_has_tags(version: int) -> None:
    """Every client can read it, whatever the version it asked for (KIP-511)."""
    assert encode_response_header(-1, ApiKey.API_VERSIONS, version) == b"\xff\xff\xff\xff"


def test_response_header_follows_the_table_of_apis() -> None:
    """For all other APIs the first flexible version decides."""
    for api in API.values():
        if api.key is not ApiKey.API_VERSIONS:
            for version in range(api.served.last + 1):
                assert len(encode_response_header(1, api.key, version)) == 4 + api.is_flexible(version)


@pytest.mark.parametrize(("key", "version"), [(ApiKey.METADATA, 8), (ApiKey.METADATA, 9), (ApiKey.API_VERSIONS, 4)])
def test_response_headers_go_both_ways(key: ApiKey, version: int) -> None:
    """What a broker encodes is what the client decodes."""
    header = encode_response_header(-7, key, version)
    assert decode_response_header(header + b"rest", key, version) == (-7, len(header))


def test_tags_of_a_response_header_are_passed_over() -> None:
    """A broker may say more than is known here."""
    assert decode_response_header(bytes.fromhex("00000001 01 05 02 aabb 99"), ApiKey.METADATA, 9) == (1, 9)


@pytest.mark.parametrize("frame", ["", "000000", "00000001", "00000001 01 05 09 aa"])
def test_response_headers_that_end_early_are_refused(frame: str) -> None:
    """Whoever answers, the reader gets one kind of error."""
    with pytest.raises(DecodeError):
        decode_response_header(bytes.fromhex(frame), ApiKey.METADATA, 9)
