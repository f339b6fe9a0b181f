"""Who may do what with delegation tokens of others (KIP-48, KIP-373); everybody may with his own."""

from __future__ import annotations

from typing import Any, Final

from odradek.broker.authorization.asking import Asking
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.protocol.acls import AclOperation, AclResourceType
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.create_delegation_token import CreateDelegationTokenResponse

_NO_TIME: Final = -1


def create(asking: Asking, request: Any) -> Outcome:
    """For somebody else: CREATE_TOKENS on the user."""
    who = asking.context.principal
    if not request.owner_principal_name:
        return None
    owner = f"{request.owner_principal_type or ''}:{request.owner_principal_name}"
    if owner == str(who) or asking.may(AclOperation.CREATE_TOKENS, AclResourceType.USER, owner):
        return None
    return CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        principal_type=request.owner_principal_type or "",
        principal_name=request.owner_principal_name,
        token_requester_principal_type=who.principal_type,
        token_requester_principal_name=who.name,
        issue_timestamp_ms=_NO_TIME,
        expiry_timestamp_ms=_NO_TIME,
        max_timestamp_ms=_NO_TIME,
    )


def describe(asking: Asking, request: Any) -> Outcome:
    """Somebody else's: DESCRIBE on the token, or where owners are asked for, DESCRIBE_TOKENS on the user. Others are
    left out."""
    who = str(asking.context.principal)
    are_asked_for = request.owners is not None

    def sees(token: Any) -> bool:
        owner = f"{token.principal_type}:{token.principal_name}"
        requester = f"{token.token_requester_principal_type}:{token.token_requester_principal_name}"
        renewers = (f"{one.principal_type}:{one.principal_name}" for one in token.renewers)
        if who in (owner, requester) or who in renewers:
            return True
        if asking.may_silently(AclOperation.DESCRIBE, AclResourceType.DELEGATION_TOKEN, token.token_id):
            return True
        return are_asked_for and asking.may_silently(AclOperation.DESCRIBE_TOKENS, AclResourceType.USER, owner)

    def merge(response: Any) -> Message:
        response.tokens = [token for token in response.tokens if sees(token)]
        answered: Message = response
        return answered

    return Partly(request, merge)
