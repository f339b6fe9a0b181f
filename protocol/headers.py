"""Request and response headers: what stands before every message of a connection.

Request headers are version 1, or version 2 (tagged fields) where the API's version is flexible; the client id keeps its
two-byte length in both. Response headers are version 0, or version 1 likewise, but those of ApiVersions are always
version 0, so that a client of any age can read them (KIP-511).
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.codec.runtime import skip_tags
from odradek.protocol.registry import API, ApiKey

_FIXED = Struct(">hhih")
_CORRELATION_ID = Struct(">i")

_NEVER = 0x8000
_FLEXIBLE_FROM: dict[int, int] = {
    key: _NEVER if api.first_flexible is None else api.first_flexible for key, api in API.items()
}
"""First version with tagged fields in the request header."""
_RESPONSE_FLEXIBLE_FROM = _FLEXIBLE_FROM | {ApiKey.API_VERSIONS: _NEVER}
"""First version with tagged fields in the response header."""


class RequestHeader(NamedTuple):
    """Who asks what: the header of one request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(data: bytes | memoryview) -> tuple[RequestHeader, int]:
    """Decode the header at the start of a frame, and say where the request begins.

    Of an API or a version that is not known here the header is still read as far as it goes without that knowledge, for
    the log line before the connection is closed.

    Raises:
        DecodeError: the bytes are no header.
    """
    try:
        api_key, api_version, correlation_id, length = _FIXED.unpack_from(data)
        pos = _FIXED.size
        client_id = None
        if length >= 0:
            end = pos + length
            if end > len(data):
                raise DecodeError(f"the client id of a request declares {length} bytes, {len(data) - pos} remain")
            client_id = str(data[pos:end], "utf-8")
            pos = end
        if api_version >= _FLEXIBLE_FROM.get(api_key, _NEVER):
            count = data[pos]
            pos += 1
            if count:
                pos = skip_tags(data, pos, count)
    except (error, IndexError):
        raise DecodeError(f"the header of a request ends early, the frame has {len(data)} bytes") from None
    except UnicodeDecodeError as bad:
        raise DecodeError(f"the client id of a request is not UTF-8: {bad}") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id), pos


def encode_request_header(header: RequestHeader) -> bytes:
    """Encode a header as a client does."""
    client_id = None if header.client_id is None else header.client_id.encode()
    length = -1 if client_id is None else len(client_id)
    fixed = _FIXED.pack(header.api_key, header.api_version, header.correlation_id, length)
    flexible = header.api_version >= _FLEXIBLE_FROM[header.api_key]
    return fixed + (client_id or b"") + (b"\0" if flexible else b"")


def encode_response_header(correlation_id: int, api_key: int, api_version: int) -> bytes:
    """Encode the header of the answer to a request of that key and version."""
    header = _CORRELATION_ID.pack(correlation_id)
    return header + b"\0" if api_version >= _RESPONSE_FLEXIBLE_FROM[api_key] else header


def decode_response_header(frame: bytes | memoryview, api_key: int, api_version: int) -> tuple[int, int]:
    """Decode the header at the start of an answer to a request of that key and version.

    Returns the correlation id, and where the answer begins.

    Raises:
        DecodeError: the bytes are no header.
    """
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        pos = _CORRELATION_ID.size
        if api_version >= _RESPONSE_FLEXIBLE_FROM[api_key]:
            count = frame[pos]
            pos = skip_tags(frame, pos + 1, count) if count else pos + 1
    except (error, IndexError):
        raise DecodeError(f"the header of an answer ends early, the frame has {len(frame)} bytes") from None
    return correlation_id, pos
