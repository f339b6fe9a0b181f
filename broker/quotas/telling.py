"""Where an answer says how long its client is to wait.

Most answers begin with it; Produce's ends with it, and where it stands elsewhere the answer is read and written again.
Answers of old versions have no place for it: their clients are only muted. Pure.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Final

from odradek.broker.runtime.responses import Piece, Throttled
from odradek.protocol.codec import decode, encode
from odradek.protocol.codec.fields import parse_versions
from odradek.protocol.registry import Api, ApiKey

_INT32: Final = Struct(">i")
_THROTTLE: Final = "throttle_time_ms"
MOST_TOLD_MS: Final = (1 << 31) - 1


def throttled(answer: bytes | list[Piece] | None, api: Api, version: int, throttle_ms: int) -> Throttled:
    """Return an answer that says how long to wait, with the time for which nothing is read."""
    return Throttled(with_throttle(answer, api, version, throttle_ms), throttle_ms / 1000)


def with_throttle(
    answer: bytes | list[Piece] | None, api: Api, version: int, throttle_ms: int
) -> bytes | list[Piece] | None:
    """Return an answer that says how long to wait, where its version has a place for that."""
    if not isinstance(answer, bytes):
        return answer
    throttle_ms = min(throttle_ms, MOST_TOLD_MS)
    at = _head_size(api, version)
    if _begins_with_throttle(api, version):
        return answer[:at] + _INT32.pack(throttle_ms) + answer[at + 4 :]
    response, _ = decode(api.response, answer, version, at)
    if hasattr(response, _THROTTLE):
        response.throttle_time_ms = throttle_ms
    return answer[:at] + encode(response, version)


def told_throttle_ms(answer: object, api: Api, version: int) -> int:
    """Return how long an answer says that its client is to wait."""
    if not isinstance(answer, bytes) or not _begins_with_throttle(api, version):
        return 0
    at = _head_size(api, version)
    return int(_INT32.unpack_from(answer, at)[0]) if len(answer) >= at + 4 else 0


def _head_size(api: Api, version: int) -> int:
    return 5 if api.is_flexible(version) and api.key != ApiKey.API_VERSIONS else 4


@cache
def _begins_with_throttle(api: Api, version: int) -> bool:
    there = (one for one in api.response.SCHEMA.fields if one.tag is None and version in parse_versions(one.versions))
    first = next(there, None)
    return first is not None and first.name == _THROTTLE
