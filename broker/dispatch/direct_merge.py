"""Answers of direct handlers to what was left of a request, with what was refused put back in.

Handlers of Produce write their own bytes. Where some of a request was refused, which is rare, these are read again by
the compiled codec, and written with the rest. Must not know: who may what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import Message
from odradek.protocol.registry import Api, decode, encode


def merged(
    outcome: Response | Deferred[Response], api: Api, version: int, head: bytes, merge: Callable[[Any], Message]
) -> Response | Deferred[Response]:
    """Return the answer to the whole request, now or when the handler has answered its part."""

    def whole(response: Response) -> Response:
        if not isinstance(response, bytes):
            return response if response is not None else CloseConnectionError("what was refused has no answer")
        part, _ = decode(api.response, response, version, len(head))
        return head + encode(merge(part), version)

    return then(outcome, whole)
