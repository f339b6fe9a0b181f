"""What a metric is: one row of the tables (`table`), which the pages, the documentation and the tests are made from."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The types of Prometheus that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric; several with the same name are told apart by their labels."""

    name: str
    """As Prometheus stores it, `_total` of counters included."""
    kind: Kind
    labels: tuple[str, ...]
    """In the order in which values are given; a label without a value is left away."""
    help: str
    source: str
    """Where the value comes from."""
