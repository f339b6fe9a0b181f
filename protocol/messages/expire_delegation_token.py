"""ExpireDelegationToken (api key 40): a token ends, now or at another time (KIP-48)."""

from __future__ import annotations

from odradek.protocol.codec import Message, binary, int16, int32, int64


class ExpireDelegationTokenRequest(Message, api_key=40, versions="0-2", flexible="2+"):
    """Which token, and when; less than 0 is now."""

    hmac: bytes = binary()
    expiry_time_period_ms: int = int64()


class ExpireDelegationTokenResponse(Message, api_key=40, versions="0-2", flexible="2+"):
    """Until when it is valid now."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
