"""What requests ask quotas."""

from contextlib import suppress

import pytest

from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.support.clock import ManualClock
from tests.support.partitions import context
from tests.unit.broker.metadata.support import image_of
from tests.unit.broker.metadata.test_client_quotas import quota
from tests.unit.broker.quotas.support import enforcing

PRODUCED, FETCHED, WORKED, CHANGED = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def client(user: str = "u", client_id: str = "c") -> RequestContext:
    """Return the context of a client."""
    of_client = context(9, client_id)
    of_client.principal = KafkaPrincipal("User", user)
    return of_client


def test_nobody_is_limited_where_nothing_is_set_for_him(clock: ManualClock) -> None:
    """Whatever is set for others."""
    quotas = enforcing(clock, quota(PRODUCED, 1.0, user="v"), quota("connection_creation_rate", 1.0, ip=None))
    assert quotas.is_active
    assert not quotas.is_timed
    assert quotas.produced(client(), 1 << 40) == 0
    assert quotas.most_fetched(client()) is None
    assert quotas.before_fetch(client(), 1 << 40) == 0
    assert quotas.worked(client(), 1000.0) == 0
    assert quotas.mutations(client(), is_strict=True).throttle_ms == 0
    assert not enforcing(clock, quota("connection_creation_rate", 1.0, ip=None)).is_active


def test_connections_of_a_user_share_his_limit(clock: ManualClock) -> None:
    """Of whatever client id; those of another user have their own."""
    quotas = enforcing(clock, quota(PRODUCED, 50_000.0, user=None))
    assert quotas.produced(client(client_id="a"), 500_000) == 0
    assert quotas.produced(client(client_id="b"), 100_000) == 2_000
    assert quotas.produced(client("v"), 500_000) == 0


def test_what_is_set_later_counts_for_connections_that_there_are(clock: ManualClock) -> None:
    """And what they took before counts, too."""
    quotas = enforcing(clock, quota(PRODUCED, 1e9, user="u"))
    who = client()
    assert quotas.produced(who, 1_000_000) == 0
    quotas.follow(image_of([quota(PRODUCED, 50_000.0, user="u")]).client_quotas)
    assert quotas.produced(who, 1) == 10_000
    quotas.follow(image_of([]).client_quotas)
    assert quotas.produced(who, 1_000_000) == 0
    assert not quotas.is_active


def test_a_client_that_changes_its_id_has_another_limit(clock: ManualClock) -> None:
    """The header of each request says it."""
    quotas = enforcing(clock, quota(PRODUCED, 50_000.0, client_id="a"))
    who = client()
    assert quotas.produced(who, 1_000_000) == 0
    who.set_client_id(b"a")
    assert quotas.produced(who, 600_000) == 2_000


def test_a_fetch_that_is_throttled_counts_for_nothing(clock: ManualClock) -> None:
    """So it can be sent once the time is over."""
    quotas = enforcing(clock, quota(FETCHED, 50_000.0, user="u"))
    who = client()
    assert quotas.most_fetched(who) == 500_000
    quotas.fetched(who, 450_000)
    assert quotas.before_fetch(who, 100_000) == 1_000
    assert quotas.before_fetch(who, 100_000) == 1_000
    assert quotas.before_fetch(who, 50_000) == 0
    clock.advance(11)
    assert quotas.before_fetch(who, 100_000) == 0


def test_a_fetch_is_bounded_by_what_fits_into_an_answer(clock: ManualClock) -> None:
    """However large the quota is."""
    quotas = enforcing(clock, quota(FETCHED, 2.0**63, user="u"), quota(FETCHED, 1.0, user="v"))
    assert quotas.most_fetched(client()) == 2**31 - 1
    assert quotas.most_fetched(client("v")) == 10


def test_time_is_limited_in_percent_of_a_thread_and_throttled_for_a_window_at_most(clock: ManualClock) -> None:
    """Ten percent: a second of work in ten is what may be."""
    quotas = enforcing(clock, quota(WORKED, 10.0, user="u"))
    assert quotas.is_timed
    assert quotas.worked(client(), 1.0) == 0
    assert quotas.worked(client(), 0.05) == 500
    assert quotas.worked(client(), 10.0) == 1_000
    clock.advance(12)
    assert quotas.worked(client(), 0.5) == 0


@pytest.mark.parametrize("limit", [float("inf"), float("nan")])
def test_what_is_no_limit_costs_nothing(clock: ManualClock, limit: float) -> None:
    """Kafka takes both."""
    quotas = enforcing(clock, quota(WORKED, limit, user="u"), quota(CHANGED, limit, user="u"))
    assert quotas.worked(client(), 1e9) == 0
    quotas.mutations(client(), is_strict=True).take(10**9)


@pytest.mark.parametrize("limit", [1e-9, 1.0, 2.0**63])
def test_limits_of_any_size_are_kept(clock: ManualClock, limit: float) -> None:
    """The smallest and the largest that can be set."""
    quotas = enforcing(clock, quota(PRODUCED, limit, user="u"), quota(FETCHED, limit, user="u"))
    told = quotas.produced(client(), 1_000_000)
    assert (told > 0) == (limit < 100_000)
    assert (quotas.before_fetch(client(), 1_000_000) > 0) == (limit < 100_000)


def mutate(quotas: ClientQuotaEnforcement, *partitions: int, is_strict: bool) -> tuple[list[bool], int]:
    """Change something for each of these; return which were refused, and the throttle time."""
    mutation, refused = quotas.mutations(client(), is_strict=is_strict), []
    for count in partitions:
        with suppress(KafkaError):
            mutation.take(count)
            refused.append(False)
            continue
        refused.append(True)
    return refused, mutation.throttle_ms


def test_changes_beyond_the_quota_are_refused_once_it_is_overdrawn(clock: ManualClock) -> None:
    """The one that overdraws is done."""
    quotas = enforcing(clock, quota(CHANGED, 2.0, user="u"))
    assert mutate(quotas, 20, 4, 1, is_strict=True) == ([False, False, True], 1_000)
    clock.advance(1)
    assert mutate(quotas, 1, is_strict=True) == ([False], 0)
    with pytest.raises(KafkaError) as refused:
        quotas.mutations(client(), is_strict=True).take(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_clients_that_do_not_know_the_error_are_only_throttled(clock: ManualClock) -> None:
    """All is done."""
    quotas = enforcing(clock, quota(CHANGED, 2.0, user="u"))
    assert mutate(quotas, 22, 4, 1, is_strict=False) == ([False] * 3, 2_500)


def test_without_a_quota_anything_may_be_changed(clock: ManualClock) -> None:
    """By anybody."""
    assert mutate(enforcing(clock), 10**9, 1, is_strict=True) == ([False, False], 0)
