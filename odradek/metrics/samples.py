"""Values of metrics at one moment, as they are collected: nothing but lists, which a thread writes out later.

A page of ten thousand partitions has a hundred and fifty thousand values. Nothing is made for each of them that the
garbage collector would look at, or that would be given back in one go: labels are shared, and lists shrink on a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from odradek.metrics.table import METRICS

AT_ONCE = 1_000
"""Values that are given back in one step."""


class Distribution(NamedTuple):
    """The value of a summary or a histogram."""

    observed: int
    total: float
    """Sum of all values."""
    parts: Sequence[tuple[str, float]]
    """Quantile or upper bound, as text, and the value of it."""


Value = float | Distribution
Labels = tuple[str, ...]
"""In the order of the table; may be fewer."""


class Samples:
    """What was collected for one answer."""

    __slots__ = ("_labels", "_values")

    def __init__(self) -> None:
        self._labels: dict[str, list[Labels]] = {name: [] for name in METRICS}
        self._values: dict[str, list[Value]] = {name: [] for name in METRICS}

    def __iter__(self) -> Iterator[tuple[str, Sequence[Labels], Sequence[Value]]]:
        """Name, labels and values of each metric that has any, in the order of the table."""
        return ((name, labels, self._values[name]) for name, labels in self._labels.items() if labels)

    def add(self, name: str, value: Value, *labels: str) -> None:
        """Add a value."""
        self.add_at(labels, name, value)

    def add_at(self, labels: Labels, name: str, value: Value) -> None:
        """Add a value with labels that others have, too."""
        self._labels[name].append(labels)
        self._values[name].append(value)

    def add_all(self, name: str, values: Mapping[str, float]) -> None:
        """Add one value for each value of the only label."""
        for label, value in values.items():
            self.add(name, value, label)

    def of(self, name: str) -> dict[Labels, Value]:
        """Return the values of a metric by their labels."""
        return dict(zip(self._labels[name], self._values[name], strict=True))

    def clear(self) -> None:
        """Give everything back, some at a time: as much in one go would hold up all threads."""
        for name, labels in self._labels.items():
            values = self._values[name]
            while labels:
                del labels[-AT_ONCE:], values[-AT_ONCE:]
