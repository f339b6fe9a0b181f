"""How fast connections may come from an address."""

from odradek.broker.quotas.addresses import ConnectionRates
from odradek.broker.quotas.rates import Windows
from tests.support.clock import ManualClock


def test_ten_come_at_once_and_ten_more_when_the_windows_are_over() -> None:
    """With a limit of one; those that are too much are kept for a window at most, and do not count."""
    clock = ManualClock()
    rates = ConnectionRates(Windows(), lambda: clock.monotonic() * 1000)
    assert rates.throttle_ms("10.0.0.1") == 0
    rates.follow({"10.0.0.1": 1.0}, None)
    assert rates.is_active
    told = [rates.throttle_ms("10.0.0.1") for _ in range(13)]
    assert told == [0] * 10 + [1_000] * 3
    assert rates.throttle_ms("10.0.0.2") == 0
    clock.advance(11)
    assert [rates.throttle_ms("10.0.0.1") for _ in range(11)] == [0] * 10 + [1_000]


def test_addresses_without_a_limit_have_the_default_each() -> None:
    """Where there is one."""
    clock = ManualClock()
    rates = ConnectionRates(Windows(), lambda: clock.monotonic() * 1000)
    rates.follow({"10.0.0.1": 1000.0}, 1.0)
    for address, let_in in (("10.0.0.1", 20), ("10.0.0.2", 10), ("10.0.0.3", 10)):
        assert sum(rates.throttle_ms(address) == 0 for _ in range(20)) == let_in
    rates.follow({}, None)
    assert not rates.is_active
    assert rates.throttle_ms("10.0.0.2") == 0
