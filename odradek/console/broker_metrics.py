"""How long requests take, read from a page for Prometheus: odradek's own, or that of Apache Kafka's JMX exporter."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from odradek.console.sampling import RequestTimes
from odradek.terminal.errors import CommandError

LARGEST_PAGE: Final = 32 << 20
TIMEOUT_S: Final = 5.0
MOST_REQUESTS: Final = 200
"""Kinds of requests; Kafka has about a hundred."""
_HISTOGRAM: Final = "odradek_request_duration_seconds"
_SUMMARY: Final = "kafka_network_requestmetrics_totaltimems"
_MS: Final = 1000.0


def fetch_request_times(url: str) -> dict[str, RequestTimes]:
    """Return what a broker tells of its requests, by their name; CommandError where it does not."""
    split = urlsplit(url)
    connect = http.client.HTTPSConnection if split.scheme == "https" else http.client.HTTPConnection
    assert split.hostname is not None
    connection = connect(split.hostname, split.port, timeout=TIMEOUT_S)
    path = split.path or "/metrics"
    try:
        connection.request("GET", f"{path}?{split.query}" if split.query else path, headers={"accept": "text/plain"})
        answer = connection.getresponse()
        page = answer.read(LARGEST_PAGE + 1)
        status = answer.status
    except (OSError, http.client.HTTPException) as failed:
        raise CommandError(f"{url}: {str(failed) or type(failed).__name__}") from failed
    finally:
        connection.close()
    if status != 200:
        raise CommandError(f"{url} answers with status {status}, not with metrics")
    if len(page) > LARGEST_PAGE:
        raise CommandError(f"{url}: more than {LARGEST_PAGE >> 20} MiB of metrics, which are not read")
    return read_request_times(page.decode("utf-8", "replace"), url)


def read_request_times(page: str, url: str) -> dict[str, RequestTimes]:
    """Return what a page tells of requests; CommandError where it cannot be read."""
    from prometheus_client.parser import text_string_to_metric_families  # only where metrics are read at all

    wanted = "\n".join(_wanted_lines(page))
    found: dict[str, RequestTimes] = {}
    summed: dict[str, RequestTimes] = {}
    try:
        for family in text_string_to_metric_families(wanted):
            for sample in family.samples:
                into = found if sample.name.startswith(_HISTOGRAM) else summed
                name = sample.labels.get("request", "")
                if not name or (name not in into and len(into) >= MOST_REQUESTS):
                    continue
                times = into.setdefault(name, RequestTimes())
                if sample.name.endswith("_bucket"):
                    times.buckets[float(sample.labels["le"])] = sample.value
                elif sample.name.endswith("_count"):
                    times.count = sample.value
                elif "quantile" in sample.labels:
                    times.quantiles[float(sample.labels["quantile"])] = sample.value / _MS
    except (ValueError, KeyError, IndexError) as wrong:
        raise CommandError(f"{url}: its metrics cannot be read: {wrong}") from wrong
    return found or summed


def _wanted_lines(page: str) -> Iterator[str]:
    """Yield the few lines that are about requests: a page may have a hundred thousand others."""
    for each in page.splitlines():
        name = each.removeprefix("# TYPE ").removeprefix("# HELP ")
        if name.startswith((_HISTOGRAM, _SUMMARY)):
            yield each
    yield ""
