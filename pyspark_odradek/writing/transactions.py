"""Copying partitions exactly once: what is written of a partition, and how far that reaches, are one transaction.

Each partition that is read has a transactional id of its own, and its offset in a consumer group is committed in the
transaction that has its records (KIP-98). Whoever goes on with a partition first begins as the producer of that id,
which ends the transactions of all before it and keeps them from any more, and then asks the group where to go on. So
each record of the source is in one committed transaction, whatever was killed and whatever is run again.

What is written when is pure (`copy`, `finish`); the producer under it is `PartitionTransactions`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark_odradek.client.librdkafka import made
from pyspark_odradek.errors import ClusterError, SourceError
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition
from pyspark_odradek.writing.columns import Outgoing
from pyspark_odradek.writing.producer import Sink

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import KafkaException

SOURCE_TOPIC: Final = "source_topic"
SOURCE_PARTITION: Final = "source_partition"
SOURCE_OFFSET: Final = "source_offset"
"""Columns that say of each row which record it comes from."""

COMMIT_EVERY_S: Final = 5.0
"""A transaction is not kept open for longer than this while rows come: the cluster ends old ones (60 s)."""
_PATIENCE_S: Final = 60.0
_CLIENT_SETTINGS: Final = (
    "bootstrap.servers", "security.", "sasl.", "ssl.", "client.", "socket.", "metadata.", "broker.", "reconnect.",
    "retry.backoff.", "enable.ssl.", "enable.sasl.", "https.", "connections.", "topic.metadata.",
)  # fmt: skip
"""What settings of a producer begin with that every client has."""


class TransactionsInOrder(Protocol):
    """Transactions of one partition of the source, one after the other."""

    def open(self) -> int | None:
        """Take over the partition; return the offset to go on at, None where nothing was committed yet."""
        ...

    def send(self, records: Iterable[Outgoing]) -> int:
        """Write records in the transaction that is open, or in a new one; return how many."""
        ...

    def commit(self, until: int) -> None:
        """Commit what was sent, and with it that the next offset is `until`."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose transactions these are."""

    transactional_id: str
    group: str

    def of(self, partition: TopicPartition) -> str:
        """Return the transactional id for a partition; a topic has no slash in its name, so no two have the same."""
        return f"{self.transactional_id}/{partition.topic}/{partition.partition}"


def copy(
    batches: Iterable[pa.RecordBatch],
    wanted: OffsetRange,
    transactions: TransactionsInOrder,
    outgoing: Callable[[pa.RecordBatch], Iterator[Outgoing]],
    clock: Callable[[], float] = time.monotonic,
) -> list[pa.RecordBatch]:
    """Write what comes of a range of the source and was not written before, but for the rows of its last offset.

    Those are returned, for `finish`: rows come in the order of their offsets, but that no more come does not mean that
    this were all. Spark ends the stream of a task also where reading failed, and tells nobody but the driver.

    Raises:
        SourceError: rows are of another partition or out of order, the group was put back, or writing fails.
    """
    held: list[pa.RecordBatch] = []
    done = last = None
    committed_at, sent = clock(), False
    for batch in batches:
        if not batch.num_rows:
            continue
        _check(batch, wanted, last)
        high = batch.column(SOURCE_OFFSET)[-1].as_py()
        before = 0 if high == last else batch.num_rows - _count_of(batch, high)
        ready = [*held, batch.slice(0, before)] if high != last else []
        held = [*([] if high != last else held), batch.slice(before)]
        last = high
        for rows in ready:
            if rows.num_rows:
                done = go_on_at(wanted, transactions) if done is None else done
                sent |= _send_from(rows, done, transactions, outgoing) > 0
        if sent and clock() - committed_at >= COMMIT_EVERY_S:
            transactions.commit(last)
            committed_at, sent = clock(), False
    if sent and last is not None:
        transactions.commit(last)
    return held


def finish(
    wanted: OffsetRange,
    held: Iterable[pa.RecordBatch],
    transactions: TransactionsInOrder,
    outgoing: Callable[[pa.RecordBatch], Iterator[Outgoing]],
) -> None:
    """Write the rows that `copy` returned, and commit that the whole range is written.

    To be called once it is certain that they were the last. Raises SourceError.
    """
    done = go_on_at(wanted, transactions)
    for rows in held:
        _send_from(rows, done, transactions, outgoing)
    if done < wanted.until:
        transactions.commit(wanted.until)


def go_on_at(wanted: OffsetRange, transactions: TransactionsInOrder) -> int:
    """Take over the partition; return from which offset on its rows are to be written. Raises SourceError."""
    committed = transactions.open()
    if committed is not None and committed < wanted.first:
        raise SourceError(
            f"the consumer group is at offset {committed} of partition {wanted.partition}, but offsets before"
            f" {wanted.first} were relayed before: it was put back. To relay from {committed} again, begin with another"
            " checkpoint"
        )
    return wanted.first if committed is None else committed


def _check(batch: pa.RecordBatch, wanted: OffsetRange, last: int | None) -> None:
    """Raise SourceError where rows are not of the range, or out of order."""
    import pyarrow.compute as pc

    offsets = batch.column(SOURCE_OFFSET)
    topics = pc.unique(batch.column(SOURCE_TOPIC)).to_pylist()
    partitions = pc.unique(batch.column(SOURCE_PARTITION)).to_pylist()
    ordered = pc.all(pc.less_equal(offsets[:-1], offsets[1:])).as_py() is not False
    low, high = offsets[0].as_py(), offsets[-1].as_py()
    inside = max(wanted.first, last or 0) <= low and high < wanted.until
    if [(topics, partitions)] != [([wanted.partition.topic], [wanted.partition.partition])] or not (ordered and inside):
        raise SourceError(f"rows do not come as they lie in partition {wanted.partition}: they cannot be written once")


def _send_from(
    rows: pa.RecordBatch,
    first: int,
    transactions: TransactionsInOrder,
    outgoing: Callable[[pa.RecordBatch], Iterator[Outgoing]],
) -> int:
    """Write the rows from an offset on; return how many."""
    import pyarrow.compute as pc

    if rows.column(SOURCE_OFFSET)[0].as_py() < first:
        rows = rows.filter(pc.greater_equal(rows.column(SOURCE_OFFSET), first))
    return transactions.send(outgoing(rows)) if rows.num_rows else 0


def _count_of(rows: pa.RecordBatch, offset: int) -> int:
    """Return how many rows are of this offset."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.equal(rows.column(SOURCE_OFFSET), offset)).as_py() or 0)


class PartitionTransactions:
    """Transactions of confluent-kafka for one partition of the source. Methods raise SourceError."""

    def __init__(self, settings: Mapping[str, Any], identity: Identity, partition: TopicPartition) -> None:
        self._identity = identity
        self._partition = partition
        self._client = {name: value for name, value in settings.items() if name.startswith(_CLIENT_SETTINGS)}
        self._sink = Sink({**settings, "transactional.id": identity.of(partition)})
        self._metadata: Any = None
        self._is_open = False

    def open(self) -> int | None:
        """End what others began with this id, keep them from more, and return the group's offset."""
        from confluent_kafka import TopicPartition as Named

        self._do("begin", lambda: self._sink.producer.init_transactions(_PATIENCE_S))
        reading = {"group.id": self._identity.group, "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = made("Consumer", {**self._client, **reading})
        try:
            wanted = [Named(self._partition.topic, self._partition.partition)]
            found = self._do("begin", lambda: consumer.committed(wanted, _PATIENCE_S))[0]
            if found.error is not None:
                raise ClusterError(f"the offset of group {self._identity.group} cannot be read: {found.error.str()}")
            self._metadata = consumer.consumer_group_metadata()
        finally:
            consumer.close()
        return None if found.offset < 0 else int(found.offset)

    def send(self, records: Iterable[Outgoing]) -> int:
        """Write records in the transaction that is open, or in a new one."""
        self._begin()
        return self._sink.send(records)

    def commit(self, until: int) -> None:
        """Return once the transaction is committed, with the offset in it."""
        from confluent_kafka import TopicPartition as Named

        self._begin()
        self._sink.finish()
        offset = [Named(self._partition.topic, self._partition.partition, until)]
        producer = self._sink.producer
        self._do("write", lambda: producer.send_offsets_to_transaction(offset, self._metadata, _PATIENCE_S))
        self._do("commit", lambda: producer.commit_transaction(_PATIENCE_S))
        self._is_open = False

    def discard(self) -> None:
        """Give up the transaction that is open; the next one with this id aborts what is left of it."""
        from confluent_kafka import KafkaException

        self._sink.discard()
        if self._is_open:
            try:
                self._sink.producer.abort_transaction(1.0)
            except KafkaException:
                return  # the cluster does it at its time-out, or the next run before

    def _begin(self) -> None:
        if not self._is_open:
            self._do("begin", self._sink.producer.begin_transaction)
            self._is_open = True

    def _do(self, what: str, action: Callable[[], Any]) -> Any:
        """Do something with the producer or consumer, again where that may help, for as long as anyone waits."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return action()
            except KafkaException as failed:
                if not failed.args[0].retriable() or time.monotonic() >= deadline:
                    raise self._explained(what, failed) from failed

    def _explained(self, what: str, failed: KafkaException) -> SourceError:
        from confluent_kafka import KafkaError as Code

        error, name = failed.args[0], self._identity.of(self._partition)
        if error.code() in (Code._FENCED, Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED):
            return ClusterError(f"another run has gone on with the transactions of {name}: let only one run at a time")
        return ClusterError(f"the transaction of {name} could not {what}: {error.str()}")


def committed_offsets(settings: Mapping[str, Any], group: str) -> Offsets:
    """Return the offsets that a group has committed. Raises ClusterError."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    client = {name: value for name, value in settings.items() if name.startswith(_CLIENT_SETTINGS)}
    admin = made("AdminClient", client)
    try:
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=_PATIENCE_S)
        found = asked[group].result(_PATIENCE_S).topic_partitions
    except KafkaException as failed:
        raise ClusterError(f"the offsets of group {group} cannot be read: {failed.args[0].str()}") from failed
    return {TopicPartition(one.topic, one.partition): one.offset for one in found if one.offset >= 0}
