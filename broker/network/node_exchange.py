"""What a connection to another node keeps of each request: what was asked, in which version, and who waits.

Must not know: sockets.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.nodes.requests import Disconnected
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import DecodeError, Message
from odradek.protocol.headers import decode_response_header
from odradek.protocol.registry import Api, ApiKey


class Request(NamedTuple):
    """A request that waits for its answer."""

    message: Message
    api: Api
    version: int | None
    """The newest that may be used, None for the newest there is."""
    answer: Deferred[Message | Disconnected]
    timer: TimerHandle


class Expected(NamedTuple):
    """An answer that is to come, oldest first."""

    correlation_id: int
    version: int
    request: Request


def common_version(request: Request, versions: Mapping[int, tuple[int, int]]) -> int | None:
    """Return the newest version of a request that both sides know, None where there is none."""
    known = versions.get(request.api.key)
    if known is None:
        return None
    newest = request.api.request.SCHEMA.versions.last if request.version is None else request.version
    version = min(newest, known[1])
    return version if version >= max(known[0], request.api.request.SCHEMA.versions.first) else None


def answer_begin(frame: memoryview, key: ApiKey, version: int, expected: int) -> int:
    """Return where the answer begins behind its header, which must be that of the request that is due."""
    correlation_id, begin = decode_response_header(frame, key, version)
    if correlation_id != expected:
        raise DecodeError(f"it answers request {correlation_id}, due is {expected}")
    return begin
