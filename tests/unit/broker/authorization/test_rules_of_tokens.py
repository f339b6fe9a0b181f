"""Delegation tokens of others: who makes them, and who sees them."""

import pytest

from odradek.broker.authorization.partly import Partly
from odradek.protocol.acls import Acl, AclOperation, AclResourceType
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from odradek.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from tests.unit.broker.authorization.support import Front, allow

USER, TOKEN = AclResourceType.USER, AclResourceType.DELEGATION_TOKEN


@pytest.mark.parametrize(
    ("owner", "acls", "is_made"),
    [
        (None, [], True),
        ("", [], True),
        ("anna", [], True),
        ("ben", [], False),
        ("ben", [allow(USER, "User:ben", AclOperation.CREATE_TOKENS)], True),
        ("ben", [allow(USER, "User:carl", AclOperation.CREATE_TOKENS)], False),
        ("ben", [allow(USER, "User:ben", AclOperation.DESCRIBE_TOKENS)], False),
    ],
)
def test_a_token_for_somebody_else_takes_create_tokens_on_him(owner: str | None, acls: list[Acl], is_made: bool) -> None:  # fmt: skip # noqa: E501
    """Everybody makes his own."""
    request = CreateDelegationTokenRequest(
        owner_principal_type=None if owner is None else "User", owner_principal_name=owner
    )
    outcome = Front(*acls).admit(request, 3)
    if is_made:
        assert outcome is None
    else:
        assert isinstance(outcome, CreateDelegationTokenResponse)
        assert outcome.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert (outcome.principal_name, outcome.token_requester_principal_name) == (owner, "anna")
        assert outcome.hmac == b""


def token(name: str, owner: str, requester: str = "x", renewer: str = "y") -> DescribedDelegationToken:
    """Return a token as the handler tells it."""
    return DescribedDelegationToken(
        token_id=name,
        principal_type="User",
        principal_name=owner,
        token_requester_principal_type="User",
        token_requester_principal_name=requester,
        renewers=[DescribedDelegationTokenRenewer(principal_type="User", principal_name=renewer)],
    )


@pytest.mark.parametrize(
    ("owners", "acls", "seen"),
    [
        (None, [], ["own", "asked", "renews"]),
        (None, [allow(TOKEN, "bens", AclOperation.DESCRIBE)], ["own", "asked", "renews", "bens"]),
        (None, [allow(USER, "User:ben", AclOperation.DESCRIBE_TOKENS)], ["own", "asked", "renews"]),
        (["ben"], [allow(USER, "User:ben", AclOperation.DESCRIBE_TOKENS)], ["own", "asked", "renews", "bens"]),
        (["ben"], [allow(USER, "User:ben", AclOperation.CREATE_TOKENS)], ["own", "asked", "renews"]),
    ],
)
def test_tokens_of_others_are_left_out(owners: list[str] | None, acls: list[Acl], seen: list[str]) -> None:
    """All of a token's people see it; others by DESCRIBE on it, or DESCRIBE_TOKENS on an owner that they name."""
    named = [DescribeDelegationTokenOwner(principal_type="User", principal_name=one) for one in owners or ()]
    request = DescribeDelegationTokenRequest(owners=None if owners is None else named)
    outcome = Front(*acls).admit(request, 3)
    assert isinstance(outcome, Partly)
    told = [token("own", "anna"), token("asked", "ben", "anna"), token("renews", "ben", renewer="anna")]
    answer = outcome.merge(DescribeDelegationTokenResponse(tokens=[*told, token("bens", "ben")]))
    assert isinstance(answer, DescribeDelegationTokenResponse)
    assert [one.token_id for one in answer.tokens] == seen
