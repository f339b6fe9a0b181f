"""What those who share a limit have taken."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.quotas.rates import Windows
from odradek.broker.quotas.sensors import GRANT_S, Remembered, Sensor
from tests.unit.broker.quotas.test_rates import NaiveRate

KAFKAS = Windows()


def take(sensor: Sensor, size: float, now_ms: float) -> int:
    """Take something as requests do; return the throttle time."""
    sensor.left -= size
    return sensor.settle(now_ms) if sensor.left < 0 else 0


@given(
    st.lists(st.tuples(st.integers(0, 300) | st.integers(0, 20_000), st.integers(1, 40_000)), max_size=80),
    st.floats(1_000, 1e6),
)
def test_throttle_times_are_those_of_kafka_but_for_what_was_granted(
    wishes: list[tuple[int, int]], limit: float
) -> None:
    """A twentieth of a second's worth may be noted later than it came, and no more is ever overlooked."""
    sensor, naive, now = Sensor(KAFKAS, limit), NaiveRate(KAFKAS), 0
    slack = limit * GRANT_S
    for pause, size in wishes:
        now += pause
        naive.record(size, now)
        told = take(sensor, size, now)
        rate, measured = naive.measure(now)
        above = rate * measured / 1000 - limit * measured / 1000
        if told:
            assert above > -slack - limit * 2.2, "told to wait although there was room"
        else:
            assert above <= slack + limit * 2.2, "not told to wait"


def test_the_example_that_was_seen_on_kafka() -> None:
    """Requests larger than what is granted are judged one by one."""
    sensor = Sensor(KAFKAS, 50_000)
    assert [take(sensor, 100_000, 0.0) for _ in range(5)] == [0] * 5
    assert [take(sensor, 100_000, now) for now in (303.0, 2002.0, 6007.0)] == [1697, 3998, 5993]


def test_little_costs_a_subtraction_and_the_one_that_is_too_much_is_found_out() -> None:
    """A thousand of 500 bytes are what 50 kB a second allow at once."""
    sensor = Sensor(KAFKAS, 50_000)
    told = [take(sensor, 500, 0.0) for _ in range(1_001)]
    assert told == [0] * 1_000 + [10]


def test_what_is_asked_for_before_it_is_taken_is_not_taken() -> None:
    """A fetch that is throttled gets nothing, and nothing counts."""
    sensor = Sensor(KAFKAS, 50_000)
    assert sensor.settle_before(600_000, 0.0) == 2_000
    assert sensor.settle_before(500_000, 0.0) == 0
    sensor.left -= 500_000
    assert sensor.settle_before(1_000, 0.0) == 20


def test_another_limit_counts_for_what_was_taken_before() -> None:
    """As Kafka changes the limit of a sensor that there is."""
    sensor = Sensor(KAFKAS, 50_000)
    take(sensor, 500_000, 0.0)
    sensor.change(5_000, 0.0)
    assert take(sensor, 0.5, 0.0) == 90_000
    sensor.change(5_000_000, 0.0)
    assert take(sensor, 100_000, 0.0) == 0


def test_only_so_many_are_remembered() -> None:
    """Whoever was not asked for for longest is forgotten."""
    remembered: Remembered[object] = Remembered(10)
    first = remembered.get(("u", "0"), object)
    for number in range(1, 100):
        remembered.get(("u", str(number)), object)
        assert len(remembered) <= 10
        assert remembered.get(("u", "0"), object) is first, "who is asked for stays"
    assert remembered.get(("u", "99"), object) is remembered.get(("u", "99"), object)
