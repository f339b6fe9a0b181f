"""Which records a person wants to see: by key, by headers, by what is in them. Pure."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odradek.records.consumed import Consumed


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """What a record must have; None and nothing: whatever."""

    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    """Names with their values; None for a value: any."""
    pattern: re.Pattern[bytes] | None = None
    """Is to be found in the key or in the value."""

    @property
    def is_everything(self) -> bool:
        """Whether all records match."""
        return self.key is None and not self.headers and self.pattern is None

    def matches(self, record: Consumed) -> bool:
        """Return whether a record is one that is wanted."""
        if self.key is not None and record.key != self.key:
            return False
        for name, value in self.headers:
            if not any(each == name and value in (None, content) for each, content in record.headers):
                return False
        pattern = self.pattern
        return pattern is None or any(pattern.search(data) for data in (record.key, record.value) if data is not None)


def header_match(text: str) -> tuple[str, bytes | None]:
    """Return name and value of a header that is asked for as `NAME` or `NAME=VALUE`; ValueError without a name."""
    name, equals, value = text.partition("=")
    if not name:
        raise ValueError(f"{text!r} names no header; give NAME or NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape") if equals else None


def newest(records: Iterable[Consumed], count: int) -> list[Consumed]:
    """Return the newest records of any partitions by their time, the oldest of them first; keeps no more than these."""
    return heapq.nlargest(count, records, key=_age)[::-1]


def _age(record: Consumed) -> tuple[int, str, int, int]:
    time = -1 if record.timestamp_ms is None else record.timestamp_ms
    return time, record.topic, record.partition, record.offset
