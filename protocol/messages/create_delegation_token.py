"""CreateDelegationToken (api key 38): a credential of its own for somebody who may log in already (KIP-48).

Version notes: v3 makes one for somebody else (KIP-373).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, int16, int32, int64, string


class CreatableRenewers(Struct):
    """Who may renew the token, beside its owner."""

    principal_type: str = string()
    principal_name: str = string()


class CreateDelegationTokenRequest(Message, api_key=38, versions="0-3", flexible="2+"):
    """For whom, who may renew it, and for how long it may live."""

    owner_principal_type: str | None = string("3+", nullable="3+")
    owner_principal_name: str | None = string("3+", nullable="3+")
    renewers: list[CreatableRenewers] = array(CreatableRenewers)
    max_lifetime_ms: int = int64()


class CreateDelegationTokenResponse(Message, api_key=38, versions="0-3", flexible="2+"):
    """The token; its HMAC is the password, and is told this once and by DescribeDelegationToken."""

    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string("3+")
    token_requester_principal_name: str = string("3+")
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = binary()
    throttle_time_ms: int = int32()
