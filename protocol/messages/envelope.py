"""Envelope (api key 58): a broker hands a client's request on to the controller, and says who asks (KIP-590)."""

from __future__ import annotations

from odradek.protocol.codec import Message, binary, int16


class EnvelopeRequest(Message, api_key=58, versions="0", flexible="0+"):
    """The request, its header included."""

    request_data: bytes = binary()
    request_principal: bytes | None = binary(nullable="0+")
    """The principal that asks, in the form of the broker's principal serde."""
    client_host_address: bytes = binary()
    """4 or 16 bytes."""


class EnvelopeResponse(Message, api_key=58, versions="0", flexible="0+"):
    """The answer, its header included."""

    response_data: bytes | None = binary(nullable="0+", default=None)
    error_code: int = int16()
