"""Delegation tokens, as the active controller makes, renews and ends them (KIP-48, KIP-373).

Pure. Codes and times follow Kafka's `DelegationTokenControlManager`. Who may at all is decided before: by the handler
(not over a connection that knows nobody, nor with a token), and by the authorizer for somebody else's.
"""

from typing import Final, NamedTuple

from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.delegation_tokens import DelegationToken, token_record
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from odradek.protocol.messages.metadata_records import RemoveDelegationTokenRecord

USER: Final = "User"
MAX_RENEWERS: Final = 50
MAX_TOKENS: Final = 2_000
"""Of a cluster: all of them are in the memory of every node, and told in one answer, which takes 30 ms."""


class TokenLifetimes(NamedTuple):
    """Names are Kafka's: delegation.token.max.lifetime.ms, delegation.token.expiry.time.ms."""

    max_lifetime_ms: int
    expiry_time_ms: int


def plan_token(
    view: ControllerView,
    request: CreateDelegationTokenRequest,
    requester: str,
    now_ms: int,
    lifetimes: TokenLifetimes,
    token_id: str,
) -> tuple[list[MetadataRecord], DelegationToken]:
    """Return the record of a new token, and the token; KafkaError where there cannot be one."""
    for renewer in request.renewers:
        if renewer.principal_type != USER:
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE, f"{renewer.principal_type} cannot renew a token")
    if len(request.renewers) > MAX_RENEWERS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{MAX_RENEWERS} renewers of a token are the most")
    if len(view.image.delegation_tokens) >= MAX_TOKENS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"there are {MAX_TOKENS} tokens, which is the most")
    asked = request.max_lifetime_ms
    lifetime = min(asked, lifetimes.max_lifetime_ms) if asked > 0 else lifetimes.max_lifetime_ms
    max_ms = now_ms + lifetime
    owner = owner_of(request, requester)
    renewers = tuple(f"{one.principal_type}:{one.principal_name}" for one in request.renewers)
    expires_ms = min(max_ms, now_ms + lifetimes.expiry_time_ms)
    token = DelegationToken(token_id, owner, requester, renewers, now_ms, max_ms, expires_ms)
    return [make_record(token_record(token))], token


def owner_of(request: CreateDelegationTokenRequest, requester: str) -> str:
    """Return whose token is asked for."""
    if request.owner_principal_name:
        return f"{request.owner_principal_type or ''}:{request.owner_principal_name}"
    return requester


def plan_renewal(
    token: DelegationToken | None, principal: str, now_ms: int, period_ms: int, lifetimes: TokenLifetimes
) -> tuple[list[MetadataRecord], int]:
    """Return the record of a token that is valid for longer, and until when; KafkaError where that cannot be."""
    found = _checked(token, principal)
    _check_in_time(found, now_ms)
    wanted = min(period_ms, lifetimes.expiry_time_ms) if period_ms > 0 else lifetimes.expiry_time_ms
    return _until(found, now_ms + wanted)


def plan_expiry(
    token: DelegationToken | None, principal: str, now_ms: int, period_ms: int
) -> tuple[list[MetadataRecord], int]:
    """Return the record of a token that ends after a time, at once where that is below 0, and when."""
    found = _checked(token, principal)
    if period_ms < 0:
        return [_removal(found)], now_ms
    _check_in_time(found, now_ms)
    return _until(found, now_ms + period_ms)


def plan_sweep(view: ControllerView, now_ms: int, most: int = 1000) -> list[MetadataRecord]:
    """Return the records that remove tokens which are over, so many at the most."""
    over = [token for token in view.image.delegation_tokens.values() if token.is_over(now_ms)]
    return [_removal(token) for token in over[:most]]


def _checked(token: DelegationToken | None, principal: str) -> DelegationToken:
    if token is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")
    if not token.is_of(principal):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, "the token is somebody else's")
    return token


def _check_in_time(token: DelegationToken, now_ms: int) -> None:
    if token.is_over(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token is over")


def _until(token: DelegationToken, expires_ms: int) -> tuple[list[MetadataRecord], int]:
    expires_ms = min(token.max_ms, expires_ms)
    return [make_record(token_record(token._replace(expires_ms=expires_ms)))], expires_ms


def _removal(token: DelegationToken) -> MetadataRecord:
    return make_record(RemoveDelegationTokenRecord(token_id=token.token_id))
