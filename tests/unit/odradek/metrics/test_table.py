"""The tables of metrics: what Prometheus asks of names, and the page that is made of them."""

import re
from pathlib import Path

import pytest

from odradek.metrics import reference
from odradek.metrics.exposition import page_of
from odradek.metrics.metric import Kind, Metric
from odradek.metrics.not_there import NOT_THERE
from odradek.metrics.samples import Distribution, Samples
from odradek.metrics.table import METRICS
from odradek.metrics.table_cluster import CLUSTER
from odradek.metrics.table_jmx import JMX
from odradek.metrics.table_own import OWN, PROCESS
from odradek.metrics.table_pipeline import PIPELINE
from tests.support.scraped import OPENMETRICS, parse

REPOSITORY = Path(__file__).resolve().parents[4]


def test_page_is_up_to_date() -> None:
    """Otherwise: python -m odradek.metrics.reference > docs/metrics.md."""
    assert (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8") == reference.render()


def test_every_name_stands_once() -> None:
    """In one table, and never among those that are not there."""
    rows = (*JMX, *CLUSTER, *OWN, *PIPELINE, *PROCESS)
    assert len(rows) == len(METRICS)
    beginnings = tuple(name.removesuffix("*") for name in NOT_THERE if name.endswith("*"))
    assert not set(METRICS) & set(NOT_THERE)
    assert not [name for name in METRICS if beginnings and name.startswith(beginnings)]


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_names_are_as_prometheus_wants_them(metric: Metric) -> None:
    """Counters, and nothing else, end in `_total`; help is a sentence."""
    assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
    assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
    assert metric.help.endswith((".", "now."))
    assert "|" not in metric.help + metric.source


def full_samples() -> Samples:
    """Return samples with a value of every metric."""
    samples = Samples()
    for metric in METRICS.values():
        if metric in PROCESS:
            continue
        value: float | Distribution = 7
        if metric.kind is Kind.SUMMARY:
            value = Distribution(3, 1.5, [("0.50", 0.25)])
        elif metric.kind is Kind.HISTOGRAM:
            value = Distribution(3, 1.5, [("0.5", 2), ("+Inf", 3)])
        samples.add(metric.name, value, *(f'a {label}\n"' for label in metric.labels))
    return samples


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_both_formats_can_be_read_and_say_the_same(accept: str) -> None:
    """Labels with any character in them, and without a value; every type of metric."""
    samples = full_samples()
    samples.add("kafka_server_brokertopicmetrics_bytesin_total", 9)
    page = page_of(samples, accept)
    assert page.content_type.startswith("application/openmetrics-text" if accept else "text/plain; version=0.0.4")
    scraped = parse(page.body.decode(), is_openmetrics=bool(accept))
    assert scraped.names == set(METRICS)
    assert scraped.value("kafka_topic_partition_leader", topic='a topic\n"', partition='a partition\n"') == 7
    assert scraped.value("kafka_server_brokertopicmetrics_bytesin_total") == 9
