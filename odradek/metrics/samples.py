"""Values of metrics at one moment, as they are collected: nothing but lists, which a thread writes out later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.metrics.table import METRICS


class Distribution(NamedTuple):
    """The value of a summary or a histogram."""

    observed: int
    total: float
    """Sum of all values."""
    parts: Sequence[tuple[str, float]]
    """Quantile or upper bound, as text, and the value of it."""


Value = float | Distribution


class Samples:
    """What was collected for one answer."""

    __slots__ = ("by_name",)

    def __init__(self) -> None:
        self.by_name: dict[str, list[tuple[tuple[str, ...], Value]]] = {name: [] for name in METRICS}
        """Labels, in the order of the table, and value."""

    def add(self, name: str, value: Value, *labels: str) -> None:
        """Add a value; labels are those of the table, in order, and may be fewer."""
        self.by_name[name].append((labels, value))

    def add_all(self, name: str, values: Mapping[str, float]) -> None:
        """Add one value for each value of the only label."""
        self.by_name[name] += [((label,), value) for label, value in values.items()]
