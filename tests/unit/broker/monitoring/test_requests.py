"""Requests are measured once each, whenever they are answered, and whatever comes."""

from struct import pack
from unittest.mock import Mock

import pytest

from odradek.broker.monitoring.requests import RequestMeter
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.metrics.samples import Distribution, Samples
from odradek.protocol.registry import ApiKey


def frame(api: int, version: int) -> memoryview:
    """Return the beginning of a request."""
    return memoryview(pack(">hhih", api, version, 1, -1))


def context(client_id: bytes = b"") -> RequestContext:
    """Return who asks."""
    asks = RequestContext("p", "h", "PLAINTEXT", "h", 1)
    asks.set_client_id(client_id)
    return asks


def counts(meter: RequestMeter) -> dict[tuple[str, ...], object]:
    """Return how many requests the meter tells of."""
    samples = Samples()
    for _ in meter.collect(samples, 1.0):
        pass
    return {**samples.of("kafka_network_requestmetrics_requests_total")}


def test_answers_are_handed_on_and_counted_by_api_and_version() -> None:
    """At once, later, and none at all."""
    meter, later = RequestMeter(), Deferred[Response]()
    answers: list[Response | Deferred[Response]] = [b"now", None, later]
    measured = meter.measured(Mock(side_effect=answers))
    assert measured(context(), frame(ApiKey.PRODUCE, 9)) == b"now"
    assert measured(context(), frame(ApiKey.PRODUCE, 9)) is None
    waiting = measured(context(), frame(ApiKey.FETCH, 12))
    assert isinstance(waiting, Deferred)
    told = Mock()
    waiting.on_done(told)
    assert counts(meter)["Fetch", "12"] == 0
    later.resolve(b"later")
    told.assert_called_once_with(b"later")
    assert counts(meter) == {("Produce", "9"): 2, ("Fetch", "12"): 1, ("FetchConsumer", "12"): 1}


def test_request_whose_client_leaves_is_cancelled_as_without() -> None:
    """And is not counted as answered."""
    meter, cancelled = RequestMeter(), Mock()
    outcome = meter.measured(lambda *_: Deferred(cancelled))(context(), frame(ApiKey.FETCH, 12))
    assert isinstance(outcome, Deferred)
    outcome.cancel()
    cancelled.assert_called_once_with()
    assert set(counts(meter).values()) == {0}


def test_fetches_of_followers_are_told_apart() -> None:
    """By the client id that brokers have, as Kafka tells FetchConsumer and FetchFollower."""
    meter = RequestMeter()
    measured = meter.measured(lambda *_: b"")
    measured(context(b"broker-2-fetcher-0"), frame(ApiKey.FETCH, 17))
    measured(context(b"app"), frame(ApiKey.FETCH, 17))
    assert counts(meter) == {("Fetch", "17"): 2, ("FetchFollower", "17"): 1, ("FetchConsumer", "17"): 1}


def test_strange_versions_take_one_place() -> None:
    """ApiVersions is answered in any version that a client makes up."""
    meter = RequestMeter()
    measured = meter.measured(lambda *_: b"")
    for version in range(100, 20_000):
        measured(context(), frame(ApiKey.API_VERSIONS, version))
    assert counts(meter) == {("ApiVersions", "unsupported"): 19_900}


def test_closing_is_counted_and_goes_on() -> None:
    """Whatever was in the frame."""
    meter = RequestMeter()
    measured = meter.measured(Mock(side_effect=CloseConnectionError("no")))
    with pytest.raises(CloseConnectionError):
        measured(context(), memoryview(b"x"))
    assert meter.closed == 1


def test_phases_add_up() -> None:
    """What an API took in all is what it worked and what it waited."""
    meter, later = RequestMeter(), Deferred[Response]()
    measured = meter.measured(Mock(side_effect=[b"", later]))
    measured(context(), frame(ApiKey.FETCH, 12))
    measured(context(), frame(ApiKey.FETCH, 12))
    later.resolve(b"")
    samples = Samples()
    for _ in meter.collect(samples, 1.0):
        pass
    total, local, remote = (
        samples.of(f"kafka_network_requestmetrics_{part}timems")[("Fetch",)] for part in ("total", "local", "remote")
    )
    assert isinstance(total, Distribution)
    assert isinstance(local, Distribution)
    assert isinstance(remote, Distribution)
    if total.observed:  # of those whose answer was not asked for there are none
        assert total.total == pytest.approx(local.total + remote.total)
    assert total.observed == local.observed == remote.observed
