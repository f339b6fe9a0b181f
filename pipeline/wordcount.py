"""How often each word has come in the values of a topic, over all records or by windows of time, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.batches import Batch, TopicIds
from odradek.pipeline.sink import TopicSink
from pyspark_odradek.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

WORD: Final = r"[^\p{L}\p{N}]+"
"""What lies between two words: anything but letters and digits, of any script."""


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of time that records are counted by, after their timestamps; all in milliseconds."""

    length_ms: int
    slide_ms: int
    """How far apart windows begin; as far as they are long where they do not overlap."""
    watermark_ms: int
    """How much later than the newest record one may come and still count; windows before that are done with."""


@dataclass(frozen=True, slots=True)
class CountedWord:
    """A word, how often it has come, and in which window; `start` is None where there are no windows."""

    word: str
    count: int
    start: datetime | None = None
    end: datetime | None = None


Show = Callable[[int, Sequence[CountedWord]], None]
"""Shows the most frequent words: the number of the micro-batch, and words with their counts."""


class CountStore(Protocol):
    """Where counts are kept for others to look up."""

    def put(self, counts: Iterator[CountedWord]) -> None:
        """Set counts; raises PipelineError."""
        ...


def words(records: DataFrame) -> DataFrame:
    """Return one row `word`, `timestamp` for each word in the values, in lower case."""
    text = F.lower(F.make_valid_utf8(F.col("value").cast("string")))
    return records.select(F.explode(F.split(text, WORD)).alias("word"), "timestamp").filter(F.col("word") != "")


def counted(records: DataFrame, windows: TimeWindows | None = None) -> DataFrame:
    """Return `word` and `count`, over all records so far where they are a stream; with windows also `window`."""
    found = words(records)
    if windows is None:
        return found.groupBy("word").count()
    found = found.withWatermark("timestamp", f"{windows.watermark_ms} milliseconds")
    window = F.window("timestamp", f"{windows.length_ms} milliseconds", f"{windows.slide_ms} milliseconds")
    return found.groupBy(window.alias("window"), "word").count()


def as_messages(counts: DataFrame) -> DataFrame:
    """Return counts as records: the word is the key, so that a compacted topic keeps its last count.

    With windows the key is the beginning of the window in UTC, a blank and the word.
    """
    key: Column = F.col("word")
    if "window" in counts.columns:
        start = F.to_utc_timestamp("window.start", F.current_timezone())
        key = F.concat_ws(" ", F.date_format(start, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), key)
    return counts.select(key.cast("binary").alias("key"), F.col("count").cast("string").cast("binary").alias("value"))


def most_frequent(counts: DataFrame, limit: int) -> list[CountedWord]:
    """Return the words with the highest counts, the highest first; of windows the newest first."""
    order = [F.desc("window.start")] if "window" in counts.columns else []
    rows = counts.orderBy(*order, F.desc("count"), "word").limit(limit).collect()
    return [_counted_word(row) for row in rows]


def _counted_word(row: Row) -> CountedWord:
    if "window" not in row:
        return CountedWord(row["word"], row["count"])
    # PySpark gives timestamps as local times of this process.
    start, end = (each.astimezone(UTC) for each in (row["window"]["start"], row["window"]["end"]))
    return CountedWord(row["word"], row["count"], start, end)


class WordCount:
    """The job: counts go to a topic or a store as they change, or the highest are shown after each micro-batch."""

    def __init__(
        self,
        show: Show,
        limit: int = 20,
        sink: TopicSink | None = None,
        store: CountStore | None = None,
        windows: TimeWindows | None = None,
    ) -> None:
        shows_all = sink is None and store is None and windows is None
        self.output_mode = "complete" if shows_all else "update"
        self._show = show
        self._limit = limit
        self._sink = sink
        self._store = store
        self._windows = windows

    def reached(self) -> Offsets:
        """Return nothing: counts begin where the query begins."""
        return {}

    @property
    def topic_ids(self) -> TopicIds:
        """None: offsets are kept elsewhere."""
        return {}

    def transform(self, records: DataFrame) -> DataFrame:
        """Return the counts, which Spark keeps in the checkpoint."""
        return counted(records, self._windows)

    def keep(self, counts: DataFrame, batch: Batch) -> None:
        """Show, produce or store what the micro-batch changed."""
        if self._sink is not None:
            self._sink.produce(as_messages(counts))
        elif self._store is not None:
            self._store.put(_counted_word(row) for row in counts.toLocalIterator())
        elif (found := most_frequent(counts, self._limit)) or self._windows is None:
            # Spark runs micro-batches without records, too, to move the watermark on.
            self._show(batch.number, found)
