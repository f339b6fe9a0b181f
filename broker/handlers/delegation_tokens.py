"""CreateDelegationToken (0-3), RenewDelegationToken (0-2), ExpireDelegationToken (0-2), DescribeDelegationToken (0-3).

The controller makes, renews and ends tokens (`controller.delegation_tokens`); any broker tells of them, from its image.
Without `delegation.token.secret.key` there are none. A client that has not said who it is, or has done so with a token,
may do none of it. Whom the tokens of others are told to is decided by the gate (`authorization.rules_of_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from uuid import UUID

from odradek.broker.controller.controller import Controller, Plan
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.controller.delegation_tokens import (
    TokenLifetimes,
    owner_of,
    plan_expiry,
    plan_renewal,
    plan_token,
)
from odradek.broker.metadata.delegation_tokens import DelegationToken
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.metadata.token_secrets import TokenSecrets
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import ANONYMOUS, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from odradek.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from odradek.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from odradek.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

R = TypeVar("R")

NO_TIME: Final = -1


def may_have_tokens(context: RequestContext) -> bool:
    """Tell whether a client may do anything with tokens: it has said who it is, and not with a token."""
    return context.principal != ANONYMOUS and not context.by_token


class DelegationTokenHandlers:
    """Answers the requests about delegation tokens."""

    def __init__(
        self,
        metadata: MetadataImages,
        controller: Controller | None,
        secrets: TokenSecrets | None,
        lifetimes: TokenLifetimes,
        clock: Clock,
        draw_id: Callable[[], UUID],
    ) -> None:
        """`controller` is None where changes are handed on, `secrets` where there are no tokens."""
        self._metadata = metadata
        self._controller = controller
        self._secrets = secrets
        self._lifetimes = lifetimes
        self._clock = clock
        self._draw_id = draw_id

    def create(
        self, context: RequestContext, request: CreateDelegationTokenRequest
    ) -> CreateDelegationTokenResponse | Deferred[CreateDelegationTokenResponse]:
        """Answer CreateDelegationToken."""
        requester = str(context.principal)

        def refused(code: ErrorCode) -> CreateDelegationTokenResponse:
            return _created(owner_of(request, requester), requester, code)

        secrets = self._secrets
        if not may_have_tokens(context):
            return refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        if secrets is None:
            return refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], CreateDelegationTokenResponse]:
            now_ms, token_id = self._clock.now_ms(), str(self._draw_id())
            records, token = plan_token(view, request, requester, now_ms, self._lifetimes, token_id)
            response = _created(token.owner, token.requester, ErrorCode.NONE)
            response.issue_timestamp_ms, response.max_timestamp_ms = token.issued_ms, token.max_ms
            response.expiry_timestamp_ms, response.token_id = token.expires_ms, token.token_id
            response.hmac = secrets.hmac_of(token.token_id)
            return records, response

        return self._change(plan, lambda error: refused(error.code))

    def renew(
        self, context: RequestContext, request: RenewDelegationTokenRequest
    ) -> RenewDelegationTokenResponse | Deferred[RenewDelegationTokenResponse]:
        """Answer RenewDelegationToken."""
        secrets, principal = self._secrets, str(context.principal)
        code = self._refusal(context)
        if code is not None or secrets is None:
            return RenewDelegationTokenResponse(error_code=code or 0, expiry_timestamp_ms=_time_of(code))

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], RenewDelegationTokenResponse]:
            token = secrets.find(view.image.delegation_tokens, request.hmac)
            now_ms = self._clock.now_ms()
            records, until = plan_renewal(token, principal, now_ms, request.renew_period_ms, self._lifetimes)
            return records, RenewDelegationTokenResponse(expiry_timestamp_ms=until)

        return self._change(plan, lambda error: RenewDelegationTokenResponse(error_code=error.code))

    def expire(
        self, context: RequestContext, request: ExpireDelegationTokenRequest
    ) -> ExpireDelegationTokenResponse | Deferred[ExpireDelegationTokenResponse]:
        """Answer ExpireDelegationToken."""
        secrets, principal = self._secrets, str(context.principal)
        code = self._refusal(context)
        if code is not None or secrets is None:
            return ExpireDelegationTokenResponse(error_code=code or 0, expiry_timestamp_ms=_time_of(code))

        def plan(view: ControllerView) -> tuple[list[MetadataRecord], ExpireDelegationTokenResponse]:
            token = secrets.find(view.image.delegation_tokens, request.hmac)
            records, until = plan_expiry(token, principal, self._clock.now_ms(), request.expiry_time_period_ms)
            return records, ExpireDelegationTokenResponse(expiry_timestamp_ms=until)

        return self._change(plan, lambda error: ExpireDelegationTokenResponse(error_code=error.code))

    def describe(
        self, context: RequestContext, request: DescribeDelegationTokenRequest
    ) -> DescribeDelegationTokenResponse:
        """Answer DescribeDelegationToken, with the tokens of all who are asked for."""
        code = self._refusal(context)
        secrets = self._secrets
        if code is not None or secrets is None:
            return DescribeDelegationTokenResponse(error_code=code or 0)
        asked = request.owners
        owners = None if asked is None else {f"{one.principal_type}:{one.principal_name}" for one in asked}
        tokens = self._metadata.image.delegation_tokens.values()
        found = [one for one in tokens if owners is None or not owners.isdisjoint(one.people)]
        return DescribeDelegationTokenResponse(tokens=[_described(one, secrets) for one in found])

    def _refusal(self, context: RequestContext) -> ErrorCode | None:
        if not may_have_tokens(context):
            return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED if self._secrets is None else None

    def _change(self, plan: Plan[R], refused: Callable[[KafkaError], R]) -> R | Deferred[R]:
        assert self._controller is not None, "changes are handed on to the controller"
        return self._controller.change(plan, refused)


def _time_of(code: ErrorCode | None) -> int:
    return NO_TIME if code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED else 0


def _created(owner: str, requester: str, code: ErrorCode) -> CreateDelegationTokenResponse:
    owner_type, _, owner_name = owner.partition(":")
    requester_type, _, requester_name = requester.partition(":")
    time = 0 if code == ErrorCode.NONE else NO_TIME
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=time,
        expiry_timestamp_ms=time,
        max_timestamp_ms=time,
    )


def _described(token: DelegationToken, secrets: TokenSecrets) -> DescribedDelegationToken:
    owner_type, _, owner_name = token.owner.partition(":")
    requester_type, _, requester_name = token.requester.partition(":")
    return DescribedDelegationToken(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=secrets.hmac_of(token.token_id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name)
            for kind, _, name in (renewer.partition(":") for renewer in token.renewers)
        ],
    )
