"""What the filters of a query say about where records lie: topics, partitions, offsets and times.

Pure. Filters are Spark's own objects (`pyspark.sql.datasource`, since Spark 4.1), read by the names of their classes.
Whatever is not understood says nothing; Spark applies all filters again to the rows that come out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

MAX_OFFSET: Final = (1 << 63) - 1
_MAX_PARTITION: Final = (1 << 31) - 1
_NOT_BEFORE_ALL: Final = -(1 << 63)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Whole numbers from `first` to `last`, both included, and of those only the `values` if there are any named."""

    first: int
    last: int
    values: frozenset[int] | None = None

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last and (self.values is None or number in self.values)

    def narrowed(self, operator: str, value: Any) -> NumberRange:
        """Return the numbers of the span for which a filter holds; all of them where it is not one for numbers."""
        if operator == "In":
            wanted = frozenset(each for each in value if isinstance(each, int))
            wanted = wanted if self.values is None else wanted & self.values
            first, last = min(wanted, default=1), max(wanted, default=0)
            return NumberRange(max(self.first, first), min(self.last, last), wanted)
        if not isinstance(value, int):
            return self
        match operator:
            case "EqualTo" | "EqualNullSafe":
                return NumberRange(max(self.first, value), min(self.last, value), self.values)
            case "GreaterThan":
                return replace(self, first=max(self.first, value + 1))
            case "GreaterThanOrEqual":
                return replace(self, first=max(self.first, value))
            case "LessThan":
                return replace(self, last=min(self.last, value - 1))
            case "LessThanOrEqual":
                return replace(self, last=min(self.last, value))
        return self


@dataclass(frozen=True, slots=True)
class Conditions:
    """What every wanted record fulfils."""

    topics: frozenset[str] | None = None
    partitions: NumberRange = NumberRange(0, _MAX_PARTITION)
    offsets: NumberRange = NumberRange(0, MAX_OFFSET - 1)
    not_before_ms: int = _NOT_BEFORE_ALL
    """Timestamps of earlier records do not ascend in general, so an index has no use for an upper bound."""


EVERYTHING: Final = Conditions()


def conditions_of(filters: Iterable[Any]) -> Conditions:
    """Return what these filters say, all of which hold."""
    found = EVERYTHING
    for each in filters:
        operator, column, value = type(each).__name__, getattr(each, "attribute", ()), getattr(each, "value", None)
        match column:
            case ("topic",):
                found = replace(found, topics=_topics(found.topics, operator, value))
            case ("partition",):
                found = replace(found, partitions=found.partitions.narrowed(operator, value))
            case ("offset",):
                found = replace(found, offsets=found.offsets.narrowed(operator, value))
            case ("timestamp",):
                found = replace(found, not_before_ms=max(found.not_before_ms, _not_before(operator, value)))
    return found


def _topics(known: frozenset[str] | None, operator: str, value: Any) -> frozenset[str] | None:
    if operator in ("EqualTo", "EqualNullSafe"):
        wanted = frozenset([value])
    elif operator == "In":
        wanted = frozenset(value)
    else:
        return known
    return wanted if known is None else known & wanted


def _not_before(operator: str, value: Any) -> int:
    if operator == "In":
        return min((_not_before("EqualTo", each) for each in value), default=_NOT_BEFORE_ALL)
    wanted = operator in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual")
    if not wanted or not isinstance(value, datetime) or value.tzinfo is None:
        return _NOT_BEFORE_ALL
    return int(value.timestamp() * 1000) - 1  # a millisecond earlier: what is rounded must not lose a record
