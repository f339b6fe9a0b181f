"""How often each word has come in the values of a topic, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.batches import Batch
from odradek.pipeline.sink import TopicSink
from pyspark_odradek.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORD: Final = r"[^\p{L}\p{N}]+"
"""What lies between two words: anything but letters and digits, of any script."""

Show = Callable[[int, Sequence[tuple[str, int]]], None]
"""Shows the most frequent words: the number of the micro-batch, and words with their counts."""


def words(records: DataFrame) -> DataFrame:
    """Return one row `word` for each word in the values, in lower case."""
    text = F.lower(F.make_valid_utf8(F.col("value").cast("string")))
    return records.select(F.explode(F.split(text, WORD)).alias("word")).filter(F.col("word") != "")


def counted(records: DataFrame) -> DataFrame:
    """Return `word` and `count`, over all records so far where they are a stream."""
    return words(records).groupBy("word").count()


def as_messages(counts: DataFrame) -> DataFrame:
    """Return counts as records: the word is the key, so that a compacted topic keeps its last count."""
    return counts.select(
        F.col("word").cast("binary").alias("key"), F.col("count").cast("string").cast("binary").alias("value")
    )


def most_frequent(counts: DataFrame, limit: int) -> list[tuple[str, int]]:
    """Return the words with the highest counts, the highest first."""
    rows = counts.orderBy(F.desc("count"), "word").limit(limit).collect()
    return [(row["word"], row["count"]) for row in rows]


class WordCount:
    """The job: counts go to a topic as they change, or the highest are shown after each micro-batch."""

    def __init__(self, show: Show, limit: int = 20, sink: TopicSink | None = None) -> None:
        self.output_mode = "complete" if sink is None else "update"
        self._show = show
        self._limit = limit
        self._sink = sink

    def reached(self) -> Offsets:
        """Return nothing: counts begin where the query begins."""
        return {}

    def transform(self, records: DataFrame) -> DataFrame:
        """Return the counts, which Spark keeps in the checkpoint."""
        return counted(records)

    def keep(self, counts: DataFrame, batch: Batch) -> None:
        """Show or produce what the micro-batch changed."""
        if self._sink is not None:
            self._sink.produce(as_messages(counts))
        else:
            self._show(batch.number, most_frequent(counts, self._limit))
