"""The streaming reader for Spark 4.2 and newer: micro-batches of limited size, and the trigger `availableNow`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from pyspark_odradek.errors import sentence_first
from pyspark_odradek.offsets import Checkpoint, Offsets, from_checkpoint, to_checkpoint
from pyspark_odradek.reading import planning
from pyspark_odradek.reading.options import ReadOptions
from pyspark_odradek.reading.stream import StreamReader


class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):
    """Reads a stream in micro-batches that keep to maxOffsetsPerTrigger and minOffsetsPerTrigger."""

    def __init__(self, options: ReadOptions, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(options)
        self._clock = clock
        self._triggered_at: float | None = None
        self._reported: Offsets = {}
        self._target: Offsets | None = None
        """Where the trigger availableNow ends."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that the options set."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Note where the partitions end now: nothing after it is read. Raises SourceError."""
        with sentence_first():
            self._target = self._ends(None)  # initialOffset or latestOffset will say what is missing

    def latestOffset(  # type: ignore[override]  # the form of Spark 4.2
        self, start: Mapping[str, Any], limit: ReadLimit
    ) -> Checkpoint:
        """Return where the micro-batch ends that begins at `start`. Raises SourceError."""
        from pyspark_odradek.reading.resolving import earliest, subscribed

        with sentence_first():
            before = from_checkpoint(start)
            self._known |= before.keys()
            if self._target is None:
                end = self._ends(self._may_be_missing())
            else:
                subscribed(self._view(), self._options, self._may_be_missing())
                end = self._target
            self._reported = end
            if isinstance(limit, ReadAllAvailable):
                return to_checkpoint(end)
            new = end.keys() - before.keys()
            begin = before | (earliest(self._view(), new) if new else {})
            if self._waits(planning.pending(begin, end)):
                return to_checkpoint(before)
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return to_checkpoint(end if most is None else planning.limited(begin, end, most))

    def reportLatestOffset(self) -> Checkpoint | None:
        """Return where the partitions ended when they were last asked, for the progress of the query."""
        return to_checkpoint(self._reported) or None

    def _waits(self, pending: int) -> bool:
        """Return whether a micro-batch is put off because it would have too few records (minOffsetsPerTrigger)."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now = self._clock()
        too_long = self._triggered_at is None or (now - self._triggered_at) * 1000 >= self._options.max_trigger_delay_ms
        if pending < least and not too_long:
            return True
        self._triggered_at = now
        return False
