"""Records of topics, filtered or changed, into other topics, maybe of another cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.batches import Batch, TopicIds
from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.sink import TopicSink
from pyspark_odradek.offsets import Offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PRODUCED: Final = {
    "key": "binary",
    "value": "binary",
    "timestamp": "timestamp",
    "headers": "array<struct<key:string,value:binary>>",
}
"""What a record is produced with unless other expressions are selected."""
OPTIONAL: Final = {"topic": "string", "partition": "int"}
SOURCE_HEADER: Final = "odradek.source"


class Rename(NamedTuple):
    """A pattern (Java's) for whole names of topics, and what they become: `$1` is its first group."""

    pattern: str
    becomes: str


@dataclass(frozen=True, slots=True)
class Rules:
    """What becomes of records, in this order.

    Expressions see the columns of the source: `key` and `value` are bytes, which CAST(value AS STRING) makes text of.
    """

    matching: str | None = None
    """A regular expression (Java's) that must be found in the value as text."""
    where: str | None = None
    """A condition in SQL."""
    select: Sequence[str] = ()
    """Expressions in SQL for key, value, timestamp, headers, topic or partition; what none is for stays as it was,
    but topic and partition are left to the sink."""
    mark_source: bool = False
    """Whether each record gets a header with topic, partition and offset of the record that it comes from."""
    renames: Sequence[Rename] = ()
    """What topics are called where they go; the first whose pattern is the whole name counts."""
    keep_topics: bool = False
    """Whether topics that no rename is for keep their names; needed where nothing else says the topic."""
    refuse_same_topic: bool = False
    """Whether it is an error that a record would go to where it came from, as within one cluster."""
    keep_partitions: bool = False
    """Whether each record goes to the partition of the number that it came from, whatever its key."""


def relayed(records: DataFrame, rules: Rules, also: Sequence[str] = ()) -> DataFrame:
    """Return the records to produce; `also` names columns that stay beside.

    Raises:
        WrongOptionError: an expression makes another column. What Spark does not understand it says itself.
    """
    types = PRODUCED | OPTIONAL
    if rules.matching is not None:
        records = records.filter(F.col("value").cast("string").rlike(rules.matching))
    if rules.where is not None:
        records = records.filter(rules.where)
    if rules.mark_source:
        origin = F.concat_ws("/", "topic", F.col("partition").cast("string"), F.col("offset").cast("string"))
        mark = F.array(F.struct(F.lit(SOURCE_HEADER).alias("key"), origin.cast("binary").alias("value")))
        records = records.withColumn("headers", F.concat(F.coalesce("headers", F.slice(mark, 1, 0)), mark))
    made = records.selectExpr(*rules.select).columns if rules.select else []
    for name in made:
        if name not in types:
            raise WrongOptionError(f"--select makes a column {name!r}; say with AS which it is of {', '.join(types)}")
    kept = (["partition"] if rules.keep_partitions else []) + (["topic"] if rules.keep_topics or rules.renames else [])
    stay = [name for name in (*PRODUCED, *kept) if name not in made]
    if "topic" in stay:
        records = records.withColumn("topic", _renamed(rules))
    chosen = records.selectExpr(*rules.select, *stay, *also)
    to_produce = (name for name in chosen.columns if name not in also)
    return chosen.select(*(_as(types[name], name, dict(chosen.dtypes)[name]) for name in to_produce), *also)


def _renamed(rules: Rules) -> Column:
    """Return what the topic of a record becomes."""
    topic = F.col("topic")
    found = topic
    for pattern, becomes in reversed(rules.renames):
        whole = f"^(?:{pattern})$"
        found = F.when(topic.rlike(whole), F.regexp_replace(topic, whole, becomes)).otherwise(found)
    if not rules.refuse_same_topic:
        return found
    why = F.concat(
        F.lit("no --rename gives topic "), topic, F.lit(" another name, and within one cluster it would be read again")
    )
    return F.when(found == topic, F.raise_error(why)).otherwise(found)


def _as(wanted: str, name: str, given: str) -> Column:
    """Return a column in the type that is produced; numbers and others become text before they become bytes."""
    column = F.col(name)
    if wanted == "binary" and given != "binary":
        column = column.cast("string")
    return column.cast(wanted).alias(name)


class Relay:
    """The job: produces each micro-batch to a topic, at least once."""

    output_mode: Final = "append"

    def __init__(self, rules: Rules, sink: TopicSink) -> None:
        self._rules = rules
        self._sink = sink

    def reached(self) -> Offsets:
        """Return nothing: the topic does not tell what of it was relayed."""
        return {}

    @property
    def topic_ids(self) -> TopicIds:
        """None: offsets are kept elsewhere."""
        return {}

    def transform(self, records: DataFrame) -> DataFrame:
        """Return the records to produce, and have Spark say now what it does not understand."""
        return relayed(records, self._rules)

    def keep(self, records: DataFrame, batch: Batch) -> None:
        """Produce a micro-batch."""
        del batch
        self._sink.produce(records)
