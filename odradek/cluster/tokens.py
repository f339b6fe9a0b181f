"""Delegation tokens of a cluster: made, renewed, ended and told (KIP-48)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NoBase64Error
from collections.abc import Sequence
from typing import NamedTuple

from odradek.cluster.broker_requests import check
from odradek.cluster.connection import ClusterClients
from odradek.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from odradek.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from odradek.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from odradek.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from odradek.terminal.errors import WrongUsageError


class Token(NamedTuple):
    """A token; times in milliseconds since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int


class NewToken(NamedTuple):
    """A token that was just made, with its password."""

    token: Token
    password: str
    """The HMAC in base64."""

    def __repr__(self) -> str:
        return f"<token {self.token.token_id}>"


def create_token(cluster: ClusterClients, owner: str | None, renewers: Sequence[str], lifetime_ms: int) -> NewToken:
    """Make a token, for oneself or for another user; CommandError where that cannot be."""
    kind, name = (None, None) if owner is None else _principal(owner)
    renewing = [_principal(one) for one in renewers]
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind,
        owner_principal_name=name,
        renewers=[CreatableRenewers(principal_type=each, principal_name=of) for each, of in renewing],
        max_lifetime_ms=lifetime_ms,
    )
    answer = cluster.requests.ask(request, CreateDelegationTokenResponse, "a delegation token")
    check(answer.error_code, None, "a delegation token")
    owned_by = f"{answer.principal_type}:{answer.principal_name}"
    requester = f"{answer.token_requester_principal_type}:{answer.token_requester_principal_name}"
    token = Token(
        answer.token_id,
        owned_by,
        owned_by if requester == ":" else requester,  # told from version 3 on
        tuple(f"{each}:{of}" for each, of in renewing),
        answer.issue_timestamp_ms,
        answer.expiry_timestamp_ms,
        answer.max_timestamp_ms,
    )
    return NewToken(token, b64encode(bytes(answer.hmac)).decode())


def list_tokens(cluster: ClusterClients, owners: Sequence[str]) -> list[Token]:
    """Return the tokens that may be seen, of all or of these owners."""
    asked = [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, name in map(_principal, owners)]  # fmt: skip # noqa: E501
    request = DescribeDelegationTokenRequest(owners=asked or None)
    answer = cluster.requests.ask(request, DescribeDelegationTokenResponse, "delegation tokens")
    check(answer.error_code, None, "delegation tokens")
    found = []
    for one in answer.tokens:
        owner = f"{one.principal_type}:{one.principal_name}"
        requester = f"{one.token_requester_principal_type}:{one.token_requester_principal_name}"
        found.append(
            Token(
                one.token_id,
                owner,
                owner if requester == ":" else requester,
                tuple(f"{each.principal_type}:{each.principal_name}" for each in one.renewers),
                one.issue_timestamp,
                one.expiry_timestamp,
                one.max_timestamp,
            )
        )
    return sorted(found, key=lambda token: (token.owner, token.issued_ms, token.token_id))


def renew_token(cluster: ClusterClients, password: str, period_ms: int) -> int:
    """Let a token be valid for longer; return until when, in milliseconds since 1970."""
    request = RenewDelegationTokenRequest(hmac=_hmac(password), renew_period_ms=period_ms)
    answer = cluster.requests.ask(request, RenewDelegationTokenResponse, "the delegation token")
    check(answer.error_code, None, "the delegation token")
    return answer.expiry_timestamp_ms


def expire_token(cluster: ClusterClients, password: str, period_ms: int) -> int:
    """End a token after a time, at once where that is below 0; return when."""
    request = ExpireDelegationTokenRequest(hmac=_hmac(password), expiry_time_period_ms=period_ms)
    answer = cluster.requests.ask(request, ExpireDelegationTokenResponse, "the delegation token")
    check(answer.error_code, None, "the delegation token")
    return answer.expiry_timestamp_ms


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.partition(":")
    if not colon or not name:
        return "User", text
    return kind, name


def _hmac(password: str) -> bytes:
    try:
        return b64decode(password.strip(), validate=True)
    except NoBase64Error:
        raise WrongUsageError("that is no password of a delegation token: it is base64") from None
