"""How long requests take, from a page for Prometheus."""

import pytest

from odradek.console.broker_metrics import fetch_request_times, read_request_times
from odradek.console.settings import check_metrics_url
from odradek.terminal.errors import CommandError, WrongUsageError

OURS = """\
# HELP odradek_request_duration_seconds From a whole request to its answer.
# TYPE odradek_request_duration_seconds histogram
odradek_request_duration_seconds_bucket{request="Produce",le="0.001"} 3
odradek_request_duration_seconds_bucket{request="Produce",le="+Inf"} 5
odradek_request_duration_seconds_sum{request="Produce"} 0.5
odradek_request_duration_seconds_count{request="Produce"} 5
"""
KAFKAS = """\
# TYPE kafka_network_requestmetrics_totaltimems summary
kafka_network_requestmetrics_totaltimems{request="Fetch",quantile="0.5"} 2.0
kafka_network_requestmetrics_totaltimems{request="Fetch",quantile="0.99"} 500.0
kafka_network_requestmetrics_totaltimems_count{request="Fetch"} 7.0
something_else{request="Fetch"} garbage that is passed over
"""


def test_a_histogram_is_read() -> None:
    """odradek's own has buckets by request."""
    times = read_request_times(OURS + KAFKAS, "url")
    assert set(times) == {"Produce"}
    assert times["Produce"].count == 5
    assert times["Produce"].buckets == {0.001: 3, float("inf"): 5}


def test_a_summary_is_read_where_there_is_no_histogram() -> None:
    """Apache Kafka's exporter has quantiles in milliseconds."""
    times = read_request_times(KAFKAS, "url")
    assert times["Fetch"].quantiles == {0.5: 0.002, 0.99: 0.5}
    assert times["Fetch"].count == 7


def test_a_page_that_is_none_is_told() -> None:
    """A page that cannot be read gets a sentence with its address; one of something else has no requests."""
    with pytest.raises(CommandError, match="http://x"):
        read_request_times('odradek_request_duration_seconds_bucket{request="a",le="b"} c\n', "http://x")
    assert read_request_times("<html></html>", "http://x") == {}


@pytest.mark.parametrize(
    "url", ["", "localhost:9404", "file:///etc/passwd", "http://", "http://host:99999/", "http://[/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Only pages over HTTP can be metrics."""
    with pytest.raises(WrongUsageError, match="--metrics"):
        check_metrics_url(url)


def test_a_port_where_nobody_listens_is_told() -> None:
    """A broker that is away gets a sentence with the address."""
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:1/metrics"):
        fetch_request_times(check_metrics_url("http://127.0.0.1:1/metrics"))
