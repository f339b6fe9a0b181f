"""RenewDelegationToken (api key 39): a token is valid for longer (KIP-48)."""

from __future__ import annotations

from odradek.protocol.codec import Message, binary, int16, int32, int64


class RenewDelegationTokenRequest(Message, api_key=39, versions="0-2", flexible="2+"):
    """Which token, and for how long."""

    hmac: bytes = binary()
    renew_period_ms: int = int64()


class RenewDelegationTokenResponse(Message, api_key=39, versions="0-2", flexible="2+"):
    """Until when it is valid now."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
