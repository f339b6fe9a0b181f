"""From collected values to the text that Prometheus reads, in the form that it asks for, by prometheus_client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prometheus_client import ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family

from odradek.metrics.metric import Kind, Metric
from odradek.metrics.samples import Distribution, Labels, Samples, Value
from odradek.metrics.table import METRICS
from odradek.metrics.table_own import PROCESS

TOTAL = "_total"


class Page(NamedTuple):
    """An answer for Prometheus."""

    content_type: str
    body: bytes


def page_of(samples: Samples, accept: str, with_process: bool = True) -> Page:
    """Return the page in the format that the header `Accept` prefers: OpenMetrics, or Prometheus' older text."""
    encoder, content_type = choose_encoder(accept)
    return Page(content_type, encoder(_Collected(samples, with_process)))


class _Collected:
    """The families, made as they are written."""

    def __init__(self, samples: Samples, with_process: bool) -> None:
        self._samples = samples
        self._process = with_process

    def collect(self) -> Iterator[Family]:
        for name, labels, values in self._samples:
            yield _family(METRICS[name], labels, values)
        if self._process:
            documented = {one.name: one.help for one in PROCESS}
            for family in ProcessCollector(registry=None).collect():
                name = family.name + (TOTAL if family.type == "counter" else "")
                if name in documented:
                    family.documentation = documented[name]
                    yield family


def _family(metric: Metric, every: Sequence[Labels], values: Sequence[Value]) -> Family:
    name = metric.name.removesuffix(TOTAL) if metric.kind is Kind.COUNTER else metric.name
    family = Family(name, metric.help, metric.kind.value)
    for labels, value in zip(every, values, strict=True):
        named = {label: text for label, text in zip(metric.labels, labels, strict=False) if text}
        if isinstance(value, Distribution):
            _add_distribution(family, metric, named, value)
        else:
            family.add_sample(metric.name, named, value)
    return family


def _add_distribution(family: Family, metric: Metric, labels: dict[str, str], value: Distribution) -> None:
    if metric.kind is Kind.HISTOGRAM:
        for bound, below in value.parts:
            family.add_sample(f"{metric.name}_bucket", {**labels, "le": bound}, below)
    else:
        for quantile, found in value.parts:
            family.add_sample(metric.name, {**labels, "quantile": quantile}, found)
    family.add_sample(f"{metric.name}_count", labels, value.observed)
    family.add_sample(f"{metric.name}_sum", labels, value.total)
