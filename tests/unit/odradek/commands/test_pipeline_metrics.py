"""Metrics of a running job."""

import re
import urllib.request

import pytest

from odradek.commands.pipeline_display import JobDisplay
from odradek.commands.pipeline_metrics import JobMetrics, served_metrics
from odradek.metrics.table_pipeline import PIPELINE
from odradek.pipeline.progress import BatchProgress
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput


def _metrics() -> JobMetrics:
    return JobMetrics("mine", "archive", JobDisplay(CommandOutput(json=True)), clock=lambda: 1_700_000_000.0)


def _batch(number: int, lag: int | None) -> BatchProgress:
    return BatchProgress(batch=number, rows=100, seconds=0.5, rows_per_second=200.0, lag=lag)


def test_a_job_is_counted() -> None:
    """Records, micro-batches and their time add up; the rest is as of the last one. All that is documented is told."""
    metrics = _metrics()
    metrics.finished(_batch(3, None))
    metrics.finished(_batch(4, 70))
    metrics.working(5)
    found = {name: dict(zip(labels, values, strict=True)) for name, labels, values in metrics.samples()}
    prefix, labels = "odradek_pipeline_", ("mine", "archive")
    assert found == {
        f"{prefix}records_total": {labels: 200},
        f"{prefix}batches_total": {labels: 2},
        f"{prefix}batch_seconds_total": {labels: 1.0},
        f"{prefix}batch": {labels: 4},
        f"{prefix}lag_records": {labels: 70},
        f"{prefix}last_batch_timestamp_seconds": {labels: 1_700_000_000.0},
        f"{prefix}working": {labels: 1},
    }
    assert found.keys() == {each.name for each in PIPELINE}


def test_prometheus_asks_a_job() -> None:
    """The page is there while the job runs, at a port that is told."""
    told: list[str] = []
    metrics = _metrics()
    with served_metrics("127.0.0.1:0", metrics, told.append):
        metrics.finished(_batch(0, 5))
        [url] = re.findall(r"http://\S+", told[0])
        with urllib.request.urlopen(url, timeout=30) as page:
            text = page.read().decode()
    assert 'odradek_pipeline_records_total{application="mine",job="archive"} 100' in text
    with pytest.raises(OSError), urllib.request.urlopen(url, timeout=30):
        pass


def test_addresses_that_cannot_be_are_told() -> None:
    """What is no address, and what somebody else has, is said before Spark starts."""
    with (
        pytest.raises(WrongUsageError, match="--metrics-listener nowhere"),
        served_metrics("nowhere", _metrics(), print),
    ):
        pass
    with (
        pytest.raises(CommandError, match=r"--metrics-listener 192\.0\.2\.1:1"),
        served_metrics("192.0.2.1:1", _metrics(), print),
    ):
        pass
