"""A page of metrics as Prometheus reads it."""

import re
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import NamedTuple

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

from odradek.metrics.table import METRICS

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class Scraped(NamedTuple):
    """The values of a page, by name and labels."""

    values: Mapping[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, name: str, **labels: str) -> float:
        """Return one value."""
        return self.values[name, frozenset(labels.items())]

    def of(self, name: str, **labels: str) -> list[float]:
        """Return the values whose labels include these."""
        return [value for (one, has), value in self.values.items() if one == name and has >= frozenset(labels.items())]

    @property
    def names(self) -> set[str]:
        """The names of the metrics, as they are documented, or as they are if they are not."""
        return {documented(name) for name, _ in self.values}


def documented(name: str) -> str:
    """Return the metric that a value of that name belongs to."""
    return name if name in METRICS else re.sub("_(bucket|count|sum)$", "", name)


def parse(page: str, is_openmetrics: bool = False) -> Scraped:
    """Return the values of a page; one that stands twice is an error."""
    families = parse_openmetrics(page) if is_openmetrics else parse_text(page)  # type: ignore[no-untyped-call]
    samples: list[Sample] = [sample for family in families for sample in family.samples]
    values = {(one.name, frozenset(one.labels.items())): one.value for one in samples}
    assert len(values) == len(samples)
    return Scraped(values)


def get(address: str, path: str, accept: str = "") -> tuple[int, str]:
    """Return status and body of a page at host:port."""
    connection = HTTPConnection(address, timeout=20)
    try:
        connection.request("GET", path, headers={"Accept": accept} if accept else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def scrape(address: str) -> Scraped:
    """Return what a node tells, in either format."""
    status, page = get(address, "/metrics", OPENMETRICS)
    assert status == 200, page
    return parse(page, is_openmetrics=True)
