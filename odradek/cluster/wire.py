"""One request over a socket of our own, for what librdkafka cannot ask. PLAINTEXT listeners only.

Versions are chosen by the caller, of those before the flexible ones: every broker in use has them.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from struct import Struct
from typing import TypeVar

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.registry import ApiKey

Answer = TypeVar("Answer", bound=Message)

TIMEOUT_S = 5.0
MAX_ANSWER_BYTES = 256 << 20

_SIZE = Struct(">i")
_CORRELATION_ID_BYTES = 4


def can_ask(settings: Mapping[str, str]) -> bool:
    """Tell whether a broker that clients with these settings talk to can be asked."""
    return settings.get("security.protocol", "plaintext").lower() == "plaintext"


def ask(
    host: str, port: int, api: ApiKey, version: int, request: Message, answer: type[Answer], timeout: float = TIMEOUT_S
) -> Answer:
    """Send one request to a broker and return its answer; OSError or DecodeError where there is none."""
    with socket.create_connection((host, port), timeout) as connection:
        header = encode_request_header(RequestHeader(api, version, 1, "odradek"))
        frame = header + encode(request, version)
        connection.sendall(_SIZE.pack(len(frame)) + frame)
        with connection.makefile("rb") as incoming:
            start = incoming.read(_SIZE.size)
            if len(start) < _SIZE.size:
                raise OSError("it closed the connection")
            [size] = _SIZE.unpack(start)
            if not _CORRELATION_ID_BYTES <= size <= MAX_ANSWER_BYTES:
                raise OSError(f"its answer claims {size} bytes")
            frame = incoming.read(size)
    if len(frame) < size:
        raise OSError("its answer ends early")
    return decode(answer, frame, version, _CORRELATION_ID_BYTES)[0]
