"""The relay whose records readers of committed ones see exactly once, within one cluster.

Each partition that is read has transactions of its own, which have its records and its offset in a consumer group; see
`pyspark_odradek.writing.transactions`. Tasks write what a micro-batch has of a partition but the last rows, and the
driver those, once Spark has said that they were the last: so a transaction never covers what was not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from odradek.pipeline.batches import Batch, TopicIds
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.relay import Rules, relayed
from pyspark_odradek.errors import OptionError, SourceError, sentence_first
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition
from pyspark_odradek.option_values import kafka_settings
from pyspark_odradek.writing.columns import from_arrow
from pyspark_odradek.writing.options import WriteOptions, transactional_settings, write_options
from pyspark_odradek.writing.producer import Sink
from pyspark_odradek.writing.transactions import (
    SOURCE_OFFSET,
    SOURCE_PARTITION,
    SOURCE_TOPIC,
    Identity,
    PartitionTransactions,
    committed_offsets,
    copy,
    finish,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SOURCE: Final = {SOURCE_TOPIC: "topic", SOURCE_PARTITION: "partition", SOURCE_OFFSET: "offset"}
Result = TypeVar("Result")
AT_ONCE: Final = 8
"""So many partitions the driver finishes at a time."""


class TransactionalRelay:
    """The job: produces each micro-batch, and commits with the records of each partition how far they reach.

    Methods raise PipelineError.
    """

    output_mode: Final = "append"

    def __init__(self, rules: Rules, options: Mapping[str, str], transactional_id: str, group: str) -> None:
        """Take the rules, and the options of the data source for writing."""
        self._rules = rules
        self._options = options
        self._identity = Identity(transactional_id, group)
        self._writing: Writing | None = None

    def reached(self) -> Offsets:
        """Return the offsets of the group; a transaction that has not ended yet may be about to move them on."""
        try:
            return committed_offsets(transactional_settings(kafka_settings(self._options)), self._identity.group)
        except OptionError as wrong:
            raise WrongOptionError(str(wrong)) from wrong
        except SourceError as failed:
            raise PipelineError(str(failed)) from failed

    @property
    def topic_ids(self) -> TopicIds:
        """None: a group of Kafka has offsets alone, and loses them with its topic."""
        return {}

    def transform(self, records: DataFrame) -> DataFrame:
        """Return the records to produce, each with its origin; have Spark and the cluster say now what is wrong."""
        for name, column in SOURCE.items():
            records = records.withColumn(name, records[column])
        made = relayed(records, self._rules, tuple(SOURCE))
        try:
            write = write_options(self._options, made.schema, overwrite=False, transactional=True)
            Sink(write.producer).check(write.topic)
        except OptionError as wrong:
            raise WrongOptionError(str(wrong)) from wrong
        except SourceError as failed:
            raise PipelineError(str(failed)) from failed
        self._writing = Writing(write, self._identity)
        return made

    def keep(self, records: DataFrame, batch: Batch) -> None:
        """Produce a micro-batch; once this returns all of it is committed."""
        assert self._writing is not None
        writing, ranges = self._writing, {wanted.partition: wanted for wanted in batch.ranges}
        held = _by_partition(records.mapInArrow(partial(_copied, writing, ranges), records.schema).toArrow())
        try:
            with ThreadPoolExecutor(AT_ONCE) as several:
                done = [several.submit(writing.finish, each, held.get(each.partition, [])) for each in batch.ranges]
                for one in done:
                    one.result()
        except SourceError as failed:
            raise PipelineError(str(failed)) from failed


@dataclass(frozen=True, slots=True)
class Writing:
    """How a task writes; this is what Spark hands to it."""

    options: WriteOptions
    identity: Identity

    def copy(self, batches: Iterator[pa.RecordBatch], wanted: OffsetRange) -> list[pa.RecordBatch]:
        """Write the rows of a range but the last ones, and return those. Raises SourceError."""
        return self._with(wanted, lambda transactions: copy(batches, wanted, transactions, self._outgoing))

    def finish(self, wanted: OffsetRange, held: list[pa.RecordBatch]) -> None:
        """Write the last rows, and commit the end of the range. Raises SourceError."""
        self._with(wanted, lambda transactions: finish(wanted, held, transactions, self._outgoing))

    def _outgoing(self, rows: pa.RecordBatch) -> Any:
        return from_arrow(rows, self.options)

    def _with(self, wanted: OffsetRange, work: Callable[[PartitionTransactions], Result]) -> Result:
        transactions = PartitionTransactions(self.options.producer, self.identity, wanted.partition)
        try:
            return work(transactions)
        except BaseException:
            transactions.discard()
            raise


def _copied(
    writing: Writing, ranges: Mapping[TopicPartition, OffsetRange], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do what a task does: one range of the source comes to it."""
    with sentence_first():
        for first in batches:
            if first.num_rows:
                partition = TopicPartition(
                    first.column(SOURCE_TOPIC)[0].as_py(), first.column(SOURCE_PARTITION)[0].as_py()
                )
                yield from writing.copy(_again(first, batches), ranges[partition])


def _again(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _by_partition(table: pa.Table) -> dict[TopicPartition, list[pa.RecordBatch]]:
    """Return the rows that tasks have left, by where they are from."""
    found: dict[TopicPartition, list[pa.RecordBatch]] = {}
    for rows in table.to_batches():
        for at in range(rows.num_rows):
            row = rows.slice(at, 1)
            found.setdefault(_origin(row), []).append(row)
    return found


def _origin(rows: pa.RecordBatch) -> TopicPartition:
    """Return where the first row is from."""
    return TopicPartition(rows.column(SOURCE_TOPIC)[0].as_py(), rows.column(SOURCE_PARTITION)[0].as_py())
