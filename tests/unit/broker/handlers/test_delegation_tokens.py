"""Delegation tokens: who may, their times, the sweep. tests/interop/sasl/test_tokens.py compares them with Kafka's."""

from uuid import UUID

import pytest

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.delegation_tokens import MAX_RENEWERS, TokenLifetimes
from odradek.broker.controller.token_sweep import token_sweep
from odradek.broker.handlers.delegation_tokens import DelegationTokenHandlers
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.token_secrets import TokenSecrets
from odradek.broker.runtime.context import ANONYMOUS, KafkaPrincipal, RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from odradek.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from odradek.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from odradek.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource

HOUR_MS = 3_600_000
ANNA, BEN, CARL = (KafkaPrincipal("User", name) for name in ("anna", "ben", "carl"))


class World:
    """A node with tokens that are valid for a day, and renewable for a week."""

    def __init__(self, secret: str | None = "master") -> None:
        self.source = MemorySource()
        self.clock = ManualClock()
        self.controller = Controller(self.source, RULES, BrokerConfigs(self.source, NODE, {}), ONE_BROKER)
        self.ids = iter(range(1, 1000))
        self.handlers = DelegationTokenHandlers(
            self.source,
            self.controller,
            None if secret is None else TokenSecrets(secret),
            TokenLifetimes(7 * 24 * HOUR_MS, 24 * HOUR_MS),
            self.clock,
            lambda: UUID(int=next(self.ids)),
        )

    def create(self, who: KafkaPrincipal = ANNA, by_token: bool = False, **fields: object) -> CreateDelegationTokenResponse:  # fmt: skip # noqa: E501
        """Make a token."""
        request = CreateDelegationTokenRequest(owner_principal_type=None, owner_principal_name=None)
        for name, value in fields.items():
            setattr(request, name, value)
        return now(self.handlers.create(context(who, by_token), request))

    def renew(self, hmac: bytes, who: KafkaPrincipal = ANNA, period_ms: int = -1) -> RenewDelegationTokenResponse:
        """Renew a token."""
        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)
        return now(self.handlers.renew(context(who), request))

    def expire(self, hmac: bytes, who: KafkaPrincipal = ANNA, period_ms: int = -1) -> ExpireDelegationTokenResponse:
        """End a token."""
        request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)
        return now(self.handlers.expire(context(who), request))

    def described(self, *owners: str) -> list[str]:
        """Return the owners of the tokens that are told."""
        asked = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
        request = DescribeDelegationTokenRequest(owners=asked or None)
        return sorted(one.principal_name for one in self.handlers.describe(context(ANNA), request).tokens)


def context(who: KafkaPrincipal, by_token: bool = False) -> RequestContext:
    """Return who asks."""
    return RequestContext("c:1", "c", "SASL", "127.0.0.1", 9092, api_version=3, principal=who, by_token=by_token)


def renewers(*names: str) -> list[CreatableRenewers]:
    """Return users."""
    return [CreatableRenewers(principal_type="User", principal_name=name) for name in names]


def test_the_password_is_told_once_made_and_is_in_no_record() -> None:
    """It is made of the id and the cluster's secret."""
    world = World()
    token = world.create(renewers=renewers("ben"))
    assert token.hmac == TokenSecrets("master").hmac_of(token.token_id)
    assert TokenSecrets("other").hmac_of(token.token_id) != token.hmac
    (record,) = world.source.batches[0]
    assert token.hmac not in record.value
    assert "master" not in repr(TokenSecrets("master"))


@pytest.mark.parametrize(
    ("who", "by_token", "secret", "code"),
    [
        (ANONYMOUS, False, "s", ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (ANNA, True, "s", ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (ANNA, False, None, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        (ANONYMOUS, False, None, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ],
)
def test_who_has_no_tokens(who: KafkaPrincipal, by_token: bool, secret: str | None, code: ErrorCode) -> None:
    """Nobody that is not known, nobody with a token, and nobody without a secret of the cluster."""
    world = World(secret)
    asks = context(who, by_token)
    assert world.create(who, by_token).error_code == code
    assert now(world.handlers.renew(asks, RenewDelegationTokenRequest())).error_code == code
    assert now(world.handlers.expire(asks, ExpireDelegationTokenRequest())).error_code == code
    assert world.handlers.describe(asks, DescribeDelegationTokenRequest(owners=None)).error_code == code
    assert not world.source.batches


def test_times_of_a_token() -> None:
    """A renewal goes as far as the cluster lets it, and never beyond the life of the token."""
    world = World()
    start = world.clock.now_ms()
    token = world.create(max_lifetime_ms=30 * HOUR_MS)
    assert (token.expiry_timestamp_ms, token.max_timestamp_ms) == (start + 24 * HOUR_MS, start + 30 * HOUR_MS)
    world.clock.advance(3600)
    assert world.renew(token.hmac, period_ms=2 * HOUR_MS).expiry_timestamp_ms == start + 3 * HOUR_MS
    assert world.renew(token.hmac).expiry_timestamp_ms == start + 25 * HOUR_MS
    world.clock.advance(20 * 3600)
    assert world.renew(token.hmac).expiry_timestamp_ms == start + 30 * HOUR_MS
    world.clock.advance(10 * 3600)
    assert world.renew(token.hmac).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert world.expire(token.hmac, period_ms=5).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert world.expire(token.hmac).error_code == 0


def test_owner_requester_and_renewers_may_change_a_token() -> None:
    """Nobody else, and nobody a token that there is not."""
    world = World()
    token = world.create(ANNA, owner_principal_type="User", owner_principal_name="ben", renewers=renewers("carl"))
    assert (token.principal_name, token.token_requester_principal_name) == ("ben", "anna")
    for who in (ANNA, BEN, CARL):
        assert world.renew(token.hmac, who).error_code == 0
    dora = KafkaPrincipal("User", "dora")
    assert world.renew(token.hmac, dora).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert world.expire(token.hmac, dora).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert world.renew(b"x").error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert world.expire(token.hmac, CARL).error_code == 0
    assert world.renew(token.hmac).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_tokens_are_told_by_whoever_is_one_of_their_people() -> None:
    """Owner, requester or renewer; all, where nobody is named."""
    world = World()
    world.create(ANNA)
    world.create(BEN, renewers=renewers("anna"))
    world.create(CARL)
    assert world.described() == ["anna", "ben", "carl"]
    assert world.described("anna") == ["anna", "ben"]
    assert world.described("carl", "nobody") == ["carl"]


def test_only_users_renew_and_not_any_number_of_them() -> None:
    """Each is in the memory of every node."""
    world = World()
    group = CreatableRenewers(principal_type="Group", principal_name="x")
    assert world.create(renewers=[group]).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    many = renewers(*(str(number) for number in range(MAX_RENEWERS + 1)))
    assert world.create(renewers=many).error_code == ErrorCode.POLICY_VIOLATION
    world.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    refused = world.create()
    assert (refused.error_code, refused.hmac, refused.token_id) == (ErrorCode.KAFKA_STORAGE_ERROR, b"", "")


def test_tokens_that_are_over_are_removed() -> None:
    """By the sweep, and nothing is written where there are none."""
    world = World()
    world.create(max_lifetime_ms=HOUR_MS)
    kept = world.create()
    sweep = token_sweep(world.controller, world.clock.now_ms)
    sweep()
    assert len(world.source.image.delegation_tokens) == 2
    world.clock.advance(3601)
    sweep()
    assert list(world.source.image.delegation_tokens) == [kept.token_id]
    batches = len(world.source.batches)
    sweep()
    assert len(world.source.batches) == batches
