"""SaslAuthenticate (api key 36): one token of a SASL mechanism, each way (KIP-152).

Version notes: v1 tells for how long the session may last (KIP-368).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, binary, int16, int64, string


class SaslAuthenticateRequest(Message, api_key=36, versions="0-2", flexible="2+"):
    """What the client says."""

    auth_bytes: bytes = binary()


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+"):
    """What the server says, or why the client is not let in."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64("1+")
