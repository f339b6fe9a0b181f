"""Buckets of tokens as Kafka has them."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.quotas.buckets import TokenBucket
from odradek.broker.quotas.rates import Windows


def test_a_burst_passes_and_then_as_much_as_comes() -> None:
    """Eleven seconds' worth at first; one may take more than there is, the next has to wait."""
    bucket = TokenBucket(Windows(), 2.0)
    bucket.take(22, 1_000.0)
    assert bucket.throttle_ms(1_000.0) == 0
    bucket.take(5, 1_000.0)
    assert bucket.throttle_ms(1_000.0) == 2500
    assert bucket.throttle_ms(3_000.0) == 500
    assert bucket.throttle_ms(3_500.0) == 0


def test_it_never_holds_more_than_a_burst() -> None:
    """However long nobody takes anything."""
    bucket = TokenBucket(Windows(), 2.0)
    bucket.take(0, 0.0)
    bucket.take(23, 1e12)
    assert bucket.throttle_ms(1e12) == 500


def test_another_limit_counts_from_then_on() -> None:
    """What is missing stays missing."""
    bucket = TokenBucket(Windows(), 1.0)
    bucket.take(31, 0.0)
    assert bucket.throttle_ms(0.0) == 20_000
    bucket.limit = 10.0
    assert bucket.throttle_ms(0.0) == 2_000


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 30)), max_size=40), st.floats(0.1, 100))
def test_nobody_gets_more_than_a_burst_and_what_came_since_and_one_request(
    wishes: list[tuple[int, int]], limit: float
) -> None:
    """Where all who find it below zero are refused."""
    bucket, now, taken = TokenBucket(Windows(), limit), 0, 0
    largest = max((tokens for _, tokens in wishes), default=0)
    for pause, tokens in wishes:
        now += pause
        if not bucket.throttle_ms(now):
            bucket.take(tokens, now)
            taken += tokens
    assert taken <= limit * 11 + limit * now / 1000 + largest + 1e-3
