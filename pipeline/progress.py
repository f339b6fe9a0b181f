"""What a person wants to know of a micro-batch, out of Spark's own progress."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark_odradek.offsets import OffsetRange, from_checkpoint


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One finished micro-batch."""

    batch: int
    rows: int
    """Records read."""
    seconds: float
    rows_per_second: float
    lag: int | None
    """Records that were there and not in the batch, when it began; None where Spark does not say."""


def from_spark(progress: Mapping[str, Any]) -> BatchProgress:
    """Return what Spark's progress of a query says of its last micro-batch."""
    milliseconds = progress.get("durationMs", {}).get("triggerExecution", progress.get("batchDuration", 0))
    seconds = milliseconds / 1000
    source = (progress.get("sources") or [{}])[0]
    rows = sum(max(0, each.get("numInputRows") or 0) for each in progress.get("sources") or [])
    return BatchProgress(
        batch=progress["batchId"],
        rows=rows,
        seconds=seconds,
        rows_per_second=rows / seconds if seconds else 0.0,
        lag=_lag(source.get("endOffset"), source.get("latestOffset")),
    )


def description(number: int, ranges: Sequence[OffsetRange], last: BatchProgress | None) -> str:
    """Return what Spark's UI says of the work for a micro-batch: what it reads, and how the one before it came out."""
    offsets = sum(each.until - each.first for each in ranges)
    partitions = len(ranges)
    text = f"batch {number}: {offsets:,} offsets of {partitions} partition{'' if partitions == 1 else 's'}"
    if last is None:
        return text
    lag = "" if last.lag is None else f", {last.lag:,} behind"
    return f"{text} (batch {last.batch}: {last.rows:,} records, {last.rows_per_second:,.0f} records/s{lag})"


def as_dict(progress: BatchProgress) -> dict[str, Any]:
    """Return the fields as they are printed for programs."""
    return {
        **asdict(progress),
        "seconds": round(progress.seconds, 3),
        "rows_per_second": round(progress.rows_per_second),
    }


def _lag(reached: object, there: object) -> int | None:
    end, latest = _offsets(reached), _offsets(there)
    if end is None or latest is None:
        return None
    return sum(max(0, offset - end.get(partition, 0)) for partition, offset in latest.items())


def _offsets(given: object) -> dict[Any, int] | None:
    """Return offsets that Spark shows as an object or as text of one."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
        return from_checkpoint(value) if isinstance(value, Mapping) and value else None
    except Exception:  # noqa: BLE001  a line of progress is not worth ending a query for
        return None
