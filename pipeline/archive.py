"""Topics to files by topic and date, every record exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from odradek.pipeline.batches import Batch, TopicIds
from odradek.pipeline.data_files import DataFile, DataWriter
from odradek.pipeline.json_values import inferred, parsed
from odradek.pipeline.kept_schema import KeptSchema
from odradek.pipeline.layout import ALWAYS, JSON, TEXT, Layout, schema_of
from odradek.pipeline.value_schema import ValueSchema
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_SECONDS_A_DAY: Final = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Of the years 1 and 9999, in days from 1970; others are in no calendar of those who read archives."""


def archived(records: DataFrame, layout: Layout, of_values: ValueSchema | None = None) -> DataFrame:
    """Return records as they are kept: the wanted columns, and the date of the timestamp in UTC.

    Without a timestamp, and with one that no calendar has, the date is null. In keys and values that are kept as text
    what is no UTF-8 has replacement characters, for good. `of_values` is the schema of values that are kept as JSON.
    """
    day = F.floor(F.unix_seconds("timestamp") / _SECONDS_A_DAY)
    date = F.when(day.between(_FIRST_DAY, _LAST_DAY), F.date_from_unix_date(day.cast("int")))
    wanted = dict.fromkeys((*layout.columns, *ALWAYS))
    columns = [column for name in wanted for column in _kept_as(name, layout, of_values)]
    return records.select(*columns, "topic", date.alias("date"))


def unseen(ranges: Sequence[OffsetRange], until: Offsets) -> list[OffsetRange]:
    """Return what of these ranges lies at or beyond the offsets that were reached before."""
    rest = (OffsetRange(name, max(first, until.get(name, 0)), end) for name, first, end in ranges)
    return [each for each in rest if each.until > each.first]


def only_unseen(records: DataFrame, ranges: Sequence[OffsetRange], until: Mapping[TopicPartition, int]) -> DataFrame:
    """Return the records that lie beyond the offsets that were reached before; as they are where all do."""
    seen = [
        (F.col("topic") == name.topic) & (F.col("partition") == name.partition) & (F.col("offset") < until[name])
        for name, first, _ in ranges
        if first < until.get(name, 0)
    ]
    return records.filter(~reduce(_either, seen)) if seen else records


class Commits(Protocol):
    """What an archive holds, and how a batch gets in: `ledger.Ledger`, `delta.DeltaLog`. Raises PipelineError."""

    @property
    def until(self) -> Offsets:
        """The next offset of each partition of which something is in the archive."""
        ...

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that the archive is of, as far as they were told."""
        ...

    def open(self) -> None:
        """Learn what is in the archive, and finish what an earlier run had committed when it was cut short."""
        ...

    def settle(self, schema: pa.Schema) -> None:
        """Have a table of these columns, where there are tables; only called where none were known before."""
        ...

    def place(self) -> tuple[str, str]:
        """Return the directory that the files of the next batch go to, and how their names are to begin."""
        ...

    def commit(self, batch: Batch, files: Sequence[DataFile]) -> None:
        """Take in files that were written there as the batch, all of them or none."""
        ...


class Archive:
    """The job: `keep` puts a micro-batch into the archive, or leaves out what is there already."""

    output_mode: Final = "append"

    def __init__(self, commits: Commits, writer: DataWriter, layout: Layout, of_values: KeptSchema | None) -> None:
        self._commits = commits
        self._writer = writer
        self._layout = layout
        self._of_values = of_values

    def reached(self) -> Offsets:
        """Return the next offset of each partition that is in the archive; finishes what was cut short."""
        self._commits.open()
        return self._commits.until

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that the archive is of, as far as they were told; known once `reached` was called."""
        return self._commits.topic_ids

    def transform(self, records: DataFrame) -> DataFrame:
        """Return what is done to the stream before it falls into micro-batches: nothing."""
        return records

    def keep(self, records: DataFrame, batch: Batch) -> None:
        """Write a micro-batch and commit it. Raises PipelineError."""
        until = self._commits.until
        if not unseen(batch.ranges, until):
            return
        fresh = only_unseen(records, batch.ranges, until)
        kept = archived(fresh, self._layout, self._schema_of_values(fresh))
        self._commits.commit(batch, self._writer.write(kept, *self._commits.place()))

    def _schema_of_values(self, records: DataFrame) -> ValueSchema | None:
        """Return the schema of JSON values, which the first records of all settle where nobody has given it."""
        if self._of_values is None:
            return None
        if self._of_values.schema is None:
            self._of_values.begin(inferred(records))
            self._commits.settle(schema_of(self._layout, self._of_values.schema))
        return self._of_values.schema


def _either(one: Column, other: Column) -> Column:
    return one | other


def _kept_as(name: str, layout: Layout, of_values: ValueSchema | None) -> Sequence[Column]:
    kind = {"key": layout.keys, "value": layout.values}.get(name)
    if kind == JSON:
        assert of_values is not None, "it is known before anything is kept"
        return parsed(of_values)
    return [F.make_valid_utf8(F.col(name).cast("string")).alias(name) if kind == TEXT else F.col(name)]
