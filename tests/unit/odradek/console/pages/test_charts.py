"""The charts of the last hour."""

import pytest

from odradek.console.history import SeriesKey, SeriesKind
from odradek.console.pages.charts import rate_text, seconds_text
from odradek.console.settings import ConsoleSettings
from tests.support.console import ConsoleVisitor, no_cluster

HOSTILE = '"><script>alert(1)</script>'


def _visitor(metrics_url: str | None = None) -> ConsoleVisitor:
    visitor = ConsoleVisitor(make=no_cluster, settings=ConsoleSettings("", metrics_url=metrics_url))
    history = visitor.app.state.console.history
    for number in range(5):
        history.record(
            1000.0 + number * 10,
            {
                SeriesKey(SeriesKind.RECORDS_PER_S): 12.5,
                SeriesKey(SeriesKind.RECORDS_PER_S, "orders"): 12.5,
                SeriesKey(SeriesKind.LAG): 70.0 + number,
                SeriesKey(SeriesKind.LAG, HOSTILE): 70.0 + number,
                SeriesKey(SeriesKind.LAG, "billing"): 7.0 + number,
                SeriesKey(SeriesKind.LAG, "billing", "orders-1"): 7.0,
                SeriesKey(SeriesKind.LAG, "billing", "orders-0"): 0.0 + number,
                SeriesKey(SeriesKind.REQUESTS_PER_S, "Produce"): 3.0,
                SeriesKey(SeriesKind.LATENCY_P99, "Produce"): 0.0042,
            },
        )
    return visitor


def test_charts_are_there_in_pictures_and_words() -> None:
    """Rates and lags are drawn, and stand beside the drawing with their last, least and largest value."""
    page = _visitor().get("/charts")
    assert "Records written per second: all 12.5 now, 12.5 to 12.5; orders 12.5 now, 12.5 to 12.5" in page
    assert '<td class="number">74</td><td class="number">70</td><td class="number">74</td>' in page
    assert "Time of requests" not in page
    assert "<script>alert" not in page


def test_times_of_requests_where_metrics_are_read() -> None:
    """With --metrics there are charts of how long requests take."""
    page = _visitor("http://127.0.0.1:1/metrics").get("/charts")
    assert "Time of requests, 99 of 100 below: Produce 4.2 ms now" in page


def test_one_topic_and_one_group() -> None:
    """The address may ask for one topic or group alone; one that is not known has an empty chart."""
    visitor = _visitor()
    page = visitor.get("/charts?topic=orders&span=10%20minutes")
    assert "orders 12.5 now" in page
    assert "groups are behind" not in page
    assert "nothing measured yet" in visitor.get("/charts?group=unknown")


def test_a_group_by_partition() -> None:
    """How far a group is behind is drawn for each partition, the furthest first."""
    page = _visitor().get("/charts?group=billing")
    assert "Records that it is behind, by partition: orders-1 7 now, 7 to 7; orders-0 4 now, 0 to 4" in page
    assert "orders-1" not in _visitor().get("/charts")


def test_before_anything_is_measured() -> None:
    """A console that has just begun says so, and why where the cluster is away."""
    visitor = ConsoleVisitor(make=no_cluster)
    visitor.app.state.console.history.problem = "nothing listens there"
    page = visitor.get("/charts")
    assert "Nothing listens there." in page
    assert "after the second round" in page


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.25, "0.25"), (2, "2"), (12.54, "12.5"), (1234, "1,234")])
def test_rates_in_short(value: float, text: str) -> None:
    """Two digits behind the point where that matters, none where it does not."""
    assert rate_text(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0004, "0.4 ms"), (0.012, "12 ms"), (1.52, "1.5 s")])
def test_short_times(value: float, text: str) -> None:
    """Milliseconds below a second."""
    assert seconds_text(value) == text
