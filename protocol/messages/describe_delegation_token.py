"""DescribeDelegationToken (api key 41): the tokens that somebody may see (KIP-48).

Version notes: v3 tells who asked for a token (KIP-373).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, binary, int16, int32, int64, string


class DescribeDelegationTokenOwner(Struct):
    """Whose tokens."""

    principal_type: str = string()
    principal_name: str = string()


class DescribeDelegationTokenRequest(Message, api_key=41, versions="0-3", flexible="2+"):
    """Whose tokens; null for everybody's, none for nobody's."""

    owners: list[DescribeDelegationTokenOwner] | None = array(DescribeDelegationTokenOwner, nullable="0+")


class DescribedDelegationTokenRenewer(Struct):
    """Who may renew a token."""

    principal_type: str = string()
    principal_name: str = string()


class DescribedDelegationToken(Struct):
    """A token."""

    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string("3+")
    token_requester_principal_name: str = string("3+")
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    max_timestamp: int = int64()
    token_id: str = string()
    hmac: bytes = binary()
    renewers: list[DescribedDelegationTokenRenewer] = array(DescribedDelegationTokenRenewer)


class DescribeDelegationTokenResponse(Message, api_key=41, versions="0-3", flexible="2+"):
    """The tokens."""

    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array(DescribedDelegationToken)
    throttle_time_ms: int = int32()
