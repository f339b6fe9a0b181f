"""A curve as data: one figure of the broker, at growing amounts of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in the order of their amounts; both axes are positive."""

    title: str
    amount: str
    """What grows, as a word beside its number."""
    unit: str
    """Of the figure."""
    points: tuple[tuple[float, float], ...]


def compact(value: float) -> str:
    """A number in few characters: 10k, 1.5M, 0.25."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
