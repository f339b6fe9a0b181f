"""SaslHandshake (api key 17): the mechanism with which a client is going to authenticate (KIP-43, KIP-152).

Version notes: after v0 the tokens of the mechanism follow as frames without a header, after v1 in SaslAuthenticate.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, array, int16, string


class SaslHandshakeRequest(Message, api_key=17, versions="0-1"):
    """The mechanism that the client has chosen."""

    mechanism: str = string()


class SaslHandshakeResponse(Message, api_key=17, versions="0-1"):
    """Whether it may be used, and those that are enabled."""

    error_code: int = int16()
    mechanisms: list[str] = array(string)
