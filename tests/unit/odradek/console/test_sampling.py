"""What two rounds of measuring say."""

import math
import threading
from collections.abc import Iterator

import pytest

from odradek.console.history import History, SeriesKey, SeriesKind
from odradek.console.sampling import RequestTimes, Sampler, Sighting, compare, quantile, sighting_of
from odradek.metrics.samples import Samples
from odradek.terminal.errors import CommandError
from tests.support.waiting import eventually

Kind = SeriesKind


def _samples(end: int, committed: int) -> Samples:
    samples = Samples()
    for partition in ("0", "1"):
        samples.add("kafka_topic_partition_current_offset", end, "orders", partition)
        samples.add("kafka_consumergroup_current_offset", committed, "billing", "orders", partition)
        samples.add("kafka_consumergroup_lag", end - committed, "billing", "orders", partition)
    samples.add("kafka_consumergroup_lag_sum", 2 * (end - committed), "billing", "orders")
    return samples


def test_rates_are_per_second_over_all_partitions() -> None:
    """What the ends of a topic's partitions grew by, and what a group committed, by the seconds between."""
    values = compare(sighting_of(_samples(100, 80), 10.0), sighting_of(_samples(150, 140), 20.0))
    assert values == {
        SeriesKey(Kind.LAG): 20,
        SeriesKey(Kind.RECORDS_PER_S): 10,
        SeriesKey(Kind.LAG, "billing"): 20,
        SeriesKey(Kind.RECORDS_PER_S, "orders"): 10,
        SeriesKey(Kind.COMMITTED_PER_S, "billing"): 12,
        SeriesKey(Kind.LAG, "billing", "orders-0"): 10,
        SeriesKey(Kind.LAG, "billing", "orders-1"): 10,
    }


def test_the_first_round_has_no_rates() -> None:
    """Lags are known at once, rates need a round before."""
    values = compare(None, sighting_of(_samples(100, 80), 10.0))
    of_partitions = {SeriesKey(Kind.LAG, "billing", "orders-0"), SeriesKey(Kind.LAG, "billing", "orders-1")}
    assert set(values) == {SeriesKey(Kind.LAG), SeriesKey(Kind.LAG, "billing")} | of_partitions


def test_a_topic_that_was_made_anew_has_no_rate_below_zero() -> None:
    """An end that went back counts for nothing, as does a partition that was not there before."""
    before = Sighting(0.0, ends={("a", "0"): 1000, ("b", "0"): 5})
    values = compare(before, Sighting(10.0, ends={("a", "0"): 10, ("b", "0"): 15, ("b", "1"): 99}))
    assert values[SeriesKey(Kind.RECORDS_PER_S, "a")] == 0
    assert values[SeriesKey(Kind.RECORDS_PER_S, "b")] == 1


def test_the_largest_come_first() -> None:
    """Where there is not memory for all, the busiest are kept."""
    before = Sighting(0.0, ends={(name, "0"): 0 for name in "abc"})
    values = compare(before, Sighting(1.0, ends={("a", "0"): 1, ("b", "0"): 9, ("c", "0"): 5}))
    assert [key.name for key in values] == ["", "b", "c", "a"]


def test_latency_is_that_of_the_requests_in_between() -> None:
    """Quantiles are of what came to the buckets between two rounds; a broker that began anew gives none."""
    before = Sighting(0.0, requests={"Produce": RequestTimes(100, {0.01: 100, 0.1: 100, math.inf: 100})})
    now = Sighting(10.0, requests={"Produce": RequestTimes(200, {0.01: 150, 0.1: 200, math.inf: 200})})
    values = compare(before, now)
    assert values[SeriesKey(Kind.REQUESTS_PER_S, "Produce")] == 10
    assert values[SeriesKey(Kind.LATENCY_MEDIAN, "Produce")] == pytest.approx(0.01)
    assert values[SeriesKey(Kind.LATENCY_P99, "Produce")] == pytest.approx(0.0982)
    assert not [key for key in compare(now, before) if key.kind is Kind.REQUESTS_PER_S]


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({}, 0.5, None),
        ({1.0: 0, math.inf: 0}, 0.5, None),
        ({1.0: 10, math.inf: 10}, 0.5, 0.5),
        ({1.0: 0, 3.0: 10, math.inf: 10}, 0.5, 2.0),
        ({1.0: 5, math.inf: 10}, 0.99, 1.0),
    ],
)
def test_quantiles_of_a_histogram(buckets: dict[float, float], share: float, expected: float | None) -> None:
    """As Prometheus does it: even within a bucket, and the last bucket counts as its lower bound."""
    assert quantile(buckets, share) == expected


def test_a_round_that_fails_is_a_gap_with_its_reason() -> None:
    """A cluster that is away leaves a hole, is told of, and gives no rate over the time in which it was away."""
    history = History()
    answers: list[Samples | CommandError] = [
        _samples(0, 0),
        CommandError("it is away"),
        _samples(90, 0),
        _samples(95, 0),
    ]
    clock = iter([0.0, 20.0, 30.0])

    def collect() -> Samples:
        answer = answers.pop(0)
        if isinstance(answer, CommandError):
            raise answer
        return answer

    sampler = Sampler(history, collect, clock=lambda: next(clock), wall_clock=lambda: 0.0)
    problems = []
    for _ in range(4):
        sampler.round()
        problems.append(history.problem)
    assert problems == ["", "it is away", "", ""]
    rates = history.values(SeriesKey(Kind.RECORDS_PER_S))
    assert [None if math.isnan(each) else each for each in rates] == [None, None, None, 1.0]


def test_a_round_that_is_not_understood_leaves_a_gap() -> None:
    """After an answer that nobody understands there are no values of the round before any more."""
    history = History()
    asked_again, go_on = threading.Event(), threading.Event()

    def answers() -> Iterator[Samples]:
        yield _samples(1, 1)
        raise ValueError("no answer that is understood")

    found = answers()

    def collect() -> Samples:
        for each in found:
            return each
        asked_again.set()
        assert go_on.wait(60)
        return _samples(1, 1)

    sampler = Sampler(history, collect, interval_s=0.001)
    sampler.start()
    assert asked_again.wait(60)
    assert len(history.times()) == 2
    assert history.latest_of(Kind.LAG) == {}
    assert "no answer that is understood" in history.problem
    go_on.set()
    assert sampler.stop(60)


def test_the_thread_goes_on_after_an_error_and_ends_when_told() -> None:
    """Whatever a round raises, the next one is measured; after `stop` the thread is gone."""
    history = History()
    rounds = iter([ValueError("no answer that is understood")])

    def collect() -> Samples:
        failed = next(rounds, None)
        if failed is not None:
            raise failed
        return _samples(1, 1)

    sampler = Sampler(history, collect, interval_s=0.001)
    sampler.start()
    eventually(lambda: history.latest(SeriesKey(Kind.LAG)) == 0, "a round is measured")
    sampler.stop(30.0)
    assert "console-sampler" not in {each.name for each in threading.enumerate()}
